import {
  Headers,
  HttpClient,
  type HttpClientError,
  HttpClientRequest,
  HttpTraceContext
} from "@effect/platform"
import { Context, Effect, type Tracer } from "effect"
import type { Caller } from "./client.js"
import { phasesOf } from "./reporter.js"
import type { LaneResponse } from "./response.js"
import type { Transfer } from "./transfer.js"
import type { Target } from "./url.js"

type Request = HttpClientRequest.HttpClientRequest
type Answer = Effect.Effect<LaneResponse, HttpClientError.HttpClientError>

/** Sends a request inside a span as clients of `HttpClient.make` do (OpenTelemetry's names), which also says which lane it took and where its time went. */
export const traced = (
  request: Request,
  target: Target,
  fiber: Caller,
  send: (request: Request) => Answer
): Answer => {
  const name = Context.get(fiber.currentContext, HttpClient.SpanNameGenerator)(request)
  return Effect.useSpan(name, { kind: "client", captureStackTrace: false }, (span) => {
    const redacted = fiber.getFiberRef(Headers.currentRedactedNames)
    describeRequest(span, request, target)
    describeHeaders(span, "request", Headers.redact(request.headers, redacted))
    const sent = fiber.getFiberRef(HttpClient.currentTracerPropagation)
      ? HttpClientRequest.setHeaders(request, HttpTraceContext.toHeaders(span))
      : request
    return Effect.tap(Effect.withParentSpan(send(sent), span), (response) =>
      Effect.sync(() => {
        span.attribute("http.response.status_code", response.status)
        describeHeaders(span, "response", Headers.redact(response.headers, redacted))
        describeLane(span, response.transfer)
      })
    )
  })
}

const describeRequest = (span: Tracer.Span, request: Request, { origin, path }: Target): void => {
  const url = new URL(path, origin)
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
