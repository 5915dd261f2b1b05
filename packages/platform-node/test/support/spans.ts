import { HttpClientError } from "@effect/platform"
import { Cause, Effect, type Fiber, Option, Tracer } from "effect"
import { HedgeAttempt } from "effect-hedge"

/** A tracer that keeps its spans in the order in which they started, and the fibers of attempts that it sees at work. */
export const recording = Effect.map(Effect.tracer, (native) => {
  const spans: Array<Tracer.Span> = []
  const fibers = new Set<Fiber.RuntimeFiber<unknown, unknown>>()
  const tracer = Tracer.make({
    span: (...args) => {
      const span = native.span(...args)
      spans.push(span)
      return span
    },
    context: (f, fiber) => {
      if (HedgeAttempt.fromContext(fiber.currentContext) !== undefined) fibers.add(fiber)
      return native.context(f, fiber)
    }
  })
  return { spans, fibers, tracer }
})

const path = (span: Tracer.AnySpan): string => {
  if (span._tag === "ExternalSpan") return span.spanId
  const parent = Option.getOrUndefined(span.parent)
  return parent === undefined ? span.name : `${path(parent)} > ${span.name}`
}

const endOf = ({ attributes, status }: Tracer.Span): string => {
  if (status._tag === "Started") return "open"
  if (status.exit._tag === "Success") return String(attributes.get("http.response.status_code"))
  if (Cause.isInterruptedOnly(status.exit.cause)) return "interrupted"
  const error = Option.getOrUndefined(Cause.failureOption(status.exit.cause))
  return HttpClientError.isHttpClientError(error) ? error.reason : "died"
}

/** The spans of requests by the names of those around them, and how they ended. */
export const requestsOf = (spans: ReadonlyArray<Tracer.Span>): ReadonlyArray<string> =>
  spans.filter(({ kind }) => kind === "client").map((span) => `${path(span)}: ${endOf(span)}`)
