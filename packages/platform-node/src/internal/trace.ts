import { Headers, HttpClient, HttpClientRequest, HttpTraceContext } from "@effect/platform"
import { Chunk, Clock, Context, type Exit, type Fiber, FiberRef, HashMap, Option, Tracer } from "effect"
import { phasesOf } from "./reporter.js"
import type { LaneResponse } from "./response.js"
import type { Transfer } from "./transfer.js"
import type { Target } from "./url.js"

type Request = HttpClientRequest.HttpClientRequest
type AnyFiber = Fiber.RuntimeFiber<unknown, unknown>

/** Whether a request is sent inside a span. */
export const isTraced = (request: Request, fiber: AnyFiber): boolean =>
  fiber.getFiberRef(FiberRef.currentTracerEnabled) &&
  !fiber.getFiberRef(HttpClient.currentTracerDisabledWhen)(request)

/** The nearest span that may have children: one made while tracing was off may not. */
const visible = (span: Tracer.AnySpan | undefined): Option.Option<Tracer.AnySpan> => {
  if (span === undefined) return Option.none()
  if (!Context.get(span.context, Tracer.DisablePropagation)) return Option.some(span)
  return span._tag === "Span" ? visible(Option.getOrUndefined(span.parent)) : Option.none()
}

/**
 * The span of a request as clients of `HttpClient.make` have it (OpenTelemetry's names), which also says which lane it took and where its time went. It is made as
 * `Effect.makeSpan` would, but needs no fiber of its own.
 */
export class RequestSpan {
  readonly span: Tracer.Span
  private readonly clock: Clock.Clock | undefined
  private readonly redacted: ReadonlyArray<string | RegExp>

  constructor(
    request: Request,
    target: Target,
    private readonly fiber: AnyFiber,
    parent: Tracer.AnySpan | undefined
  ) {
    const timed = fiber.getFiberRef(FiberRef.currentTracerTimingEnabled)
    this.clock = timed ? Context.unsafeGet(fiber.currentDefaultServices, Clock.Clock) : undefined
    this.redacted = fiber.getFiberRef(Headers.currentRedactedNames)
    const name = Context.get(fiber.currentContext, HttpClient.SpanNameGenerator)(request)
    const links = Chunk.toReadonlyArray(fiber.getFiberRef(FiberRef.currentTracerSpanLinks))
    this.span = fiber.currentTracer.span(
      name,
      visible(parent),
      Context.empty(),
      links,
      this.now(),
      "client",
      {}
    )
    HashMap.forEach(fiber.getFiberRef(FiberRef.currentTracerSpanAnnotations), (value, key) =>
      this.span.attribute(key, value)
    )
    describeRequest(this.span, request, target)
    describeHeaders(this.span, "request", Headers.redact(request.headers, this.redacted))
  }

  private now(): bigint {
    return this.clock === undefined ? 0n : this.clock.unsafeCurrentTimeNanos()
  }

  /** The request, which tells its server of the span unless it is not to. */
  propagatedBy(request: Request): Request {
    return this.fiber.getFiberRef(HttpClient.currentTracerPropagation)
      ? HttpClientRequest.setHeaders(request, HttpTraceContext.toHeaders(this.span))
      : request
  }

  /** Throws what its tracer throws. An answer is given up then: nobody will get it. */
  end(exit: Exit.Exit<LaneResponse, unknown>): void {
    try {
      if (exit._tag === "Success") this.describeAnswer(exit.value)
      this.span.end(this.now(), exit)
    } catch (defect) {
      if (exit._tag === "Success") exit.value.transfer.cancel(notTraced)
      throw defect
    }
  }

  private describeAnswer({ headers, status, transfer }: LaneResponse): void {
    this.span.attribute("http.response.status_code", status)
    describeHeaders(this.span, "response", Headers.redact(headers, this.redacted))
    describeLane(this.span, transfer)
  }
}

const notTraced = new Error("the tracer has thrown")

const describeRequest = (span: Tracer.Span, request: Request, { origin, path }: Target): void => {
  // not `path` against `origin`: one that begins with two slashes would be taken for a host
  const url = new URL(origin + path)
  span.attribute("http.request.method", request.method)
  span.attribute("server.address", url.origin)
  if (url.port !== "") span.attribute("server.port", Number(url.port))
  span.attribute("url.full", url.toString())
  span.attribute("url.path", url.pathname)
  span.attribute("url.scheme", url.protocol.slice(0, -1))
  if (url.search !== "") span.attribute("url.query", url.search.slice(1))
}

const describeHeaders = (
  span: Tracer.Span,
  of: "request" | "response",
  headers: Readonly<Record<string, unknown>>
): void => {
  for (const name in headers) span.attribute(`http.${of}.header.${name}`, String(headers[name]))
}

const describeLane = (span: Tracer.Span, transfer: Transfer): void => {
  const { activeStreams, fresh, member } = transfer
  const { acquired: _, body: __, ...phases } = phasesOf(transfer)
  if (member !== undefined) {
    span.attribute("lane.id", member.info.id)
    span.attribute("lane.protocol", member.info.protocol)
    span.attribute("lane.address", member.info.address)
  }
  span.attribute("lane.fresh", fresh)
  span.attribute("lane.active_streams", activeStreams)
  for (const [name, millis] of Object.entries(phases)) {
    if (millis !== undefined) span.attribute(`lane.phase.${name}`, millis)
  }
}
