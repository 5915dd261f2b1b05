/** Spans of traces: Zipkin's JSON, and OTLP's as a collector writes it. */
import { type Ask, type Format, type Head, NoLatency, type Reading, type Row, type Sink } from "../format.js"
import { instantOf } from "../instant.js"
import * as Json from "../json.js"
import { failureOf, statusOf } from "../outcome.js"
import { milliseconds } from "../unit.js"
import * as Columns from "./columns.js"
import { each, firstOf, splitOf } from "./json.js"

/** A hedge is sent by a client, so its spans say most; a span without a kind may be of anything. */
const kinds = ["CLIENT", "SERVER", "CONSUMER", "PRODUCER", "", "INTERNAL"]

interface Span {
  readonly name: string
  readonly service: string
  readonly kind: string
  readonly ms: number | undefined
  readonly at: number | undefined
  readonly error: unknown
  readonly field: (name: string) => unknown
}

const statusNames = ["http.response.status_code", "http.status_code"]

const rowOf = (span: Span, column: string): Row => {
  const field = (name: string): unknown => {
    switch (name) {
      case column:
        return span.ms
      case "name":
      case "service":
      case "kind":
        return span[name]
      default:
        return span.field(name)
    }
  }
  return {
    field,
    status: statusOf(statusNames.map(field).find((value) => value !== undefined)),
    failure: failureOf(span.error),
    at: span.at,
    route: () => `${span.service} ${span.name}`.trim(),
    series: span.kind
  }
}

const reading = (
  title: string,
  head: Head,
  ask: Ask,
  sink: Sink,
  spansOf: (value: unknown) => ReadonlyArray<Span>
): Reading => {
  const column = { ...Columns.named(ask, "duration", "ms"), unit: "ms" as const }
  Columns.refuseUnless(ask.column === undefined || ask.column === column.name, ask, [column.name])
  return {
    title,
    split: splitOf(head),
    column,
    prefers: () => kinds,
    take: each(sink, (value, piece, number) => {
      const spans = spansOf(value)
      if (spans.length === 0) sink.skip("no spans", piece, number)
      for (const span of spans) sink.row(rowOf(span, column.name), span.name, number)
    })
  }
}

/** A trace is an array of spans, and there may be an array of traces. */
const zipkinSpans = (value: unknown): ReadonlyArray<Span> => {
  if (Array.isArray(value))
    return value.flat(1).flatMap((each) => (Array.isArray(each) ? [] : zipkinSpans(each)))
  if (Json.at(value, "traceId") === undefined) return []
  const at = (name: string) => Json.at(value, name)
  const tags = at("tags") ?? tagsOfV1(value)
  return [
    {
      name: String(at("name") ?? ""),
      service: String(at("localEndpoint.serviceName") ?? ""),
      kind: String(at("kind") ?? kindOfV1(value)),
      ms: milliseconds(at("duration"), "us"),
      at: instantOf(at("timestamp")),
      error: Json.at(tags, "error"),
      field: (name) => at(name) ?? Json.at(tags, name)
    }
  ]
}

/** In its first version tags are a list, and the kind is what stands in the annotations: client sent, server received. */
const tagsOfV1 = (span: unknown): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    arrayAt(span, "binaryAnnotations").map((each) => [String(Json.at(each, "key")), Json.at(each, "value")])
  )

const kindOfV1 = (span: unknown): string => {
  const seen = arrayAt(span, "annotations").map((each) => Json.at(each, "value"))
  return seen.includes("cs") ? "CLIENT" : seen.includes("sr") ? "SERVER" : ""
}

export const zipkin: Format = {
  name: "zipkin",
  recognise: ({ text }) =>
    /^\s*[[{]/.test(text) &&
    /"traceId"/.test(text) &&
    /"duration"\s*:/.test(text) &&
    !/"resourceSpans"/.test(text),
  open: (head, ask, sink) => {
    if (zipkinSpans(firstOf(head)).length === 0) throw new NoLatency("holds no spans of Zipkin")
    return reading("Zipkin spans", head, ask, sink, zipkinSpans)
  }
}

/** In this order OTLP numbers them, from 0. */
const otlpKinds = ["", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"]

const kindOf = (kind: unknown): string =>
  typeof kind === "number"
    ? (otlpKinds[kind] ?? "")
    : String(kind ?? "").replace(/^SPAN_KIND_(UNSPECIFIED)?/, "")

const arrayAt = (value: unknown, path: string): ReadonlyArray<unknown> => {
  const found = Json.at(value, path)
  return Array.isArray(found) ? found : []
}

/** Attributes are a list of keys with typed values. */
const attribute = (owner: unknown, name: string): unknown => {
  const found = arrayAt(owner, "attributes").find((each) => Json.at(each, "key") === name)
  const value = Json.at(found, "value")
  return Json.isObject(value) ? Object.values(value)[0] : undefined
}

/** Nanoseconds since 1970 do not fit a double; their difference does. */
const nanosBetween = (start: unknown, end: unknown): number | undefined => {
  const isWhole = (value: unknown) => /^\d+$/.test(String(value ?? ""))
  return isWhole(start) && isWhole(end) ? Number(BigInt(String(end)) - BigInt(String(start))) : undefined
}

const resourcesOf = (value: unknown): ReadonlyArray<unknown> =>
  [value, Json.at(value, "trace")].flatMap((each) => [
    ...arrayAt(each, "resourceSpans"),
    ...arrayAt(each, "batches")
  ])

const otlpSpans = (value: unknown): ReadonlyArray<Span> =>
  resourcesOf(value).flatMap((holder) => {
    const resource = Json.at(holder, "resource")
    const scopes = [...arrayAt(holder, "scopeSpans"), ...arrayAt(holder, "instrumentationLibrarySpans")]
    return scopes.flatMap((scope) => arrayAt(scope, "spans").map((span) => otlpSpan(span, resource)))
  })

const otlpSpan = (span: unknown, resource: unknown): Span => {
  const at = (name: string) => Json.at(span, name)
  const status = at("status.code")
  return {
    name: String(at("name") ?? ""),
    service: String(attribute(resource, "service.name") ?? ""),
    kind: kindOf(at("kind")),
    ms: milliseconds(nanosBetween(at("startTimeUnixNano"), at("endTimeUnixNano")), "ns"),
    at: instantOf(at("startTimeUnixNano")),
    error: status === 2 || status === "STATUS_CODE_ERROR",
    field: (name) => attribute(span, name) ?? attribute(resource, name) ?? at(name)
  }
}

export const otlp: Format = {
  name: "otlp",
  recognise: ({ text }) => /^\s*\{\s*("trace"\s*:\s*\{\s*)?"(resourceSpans|batches)"\s*:/.test(text),
  open: (head, ask, sink) => {
    if (resourcesOf(firstOf(head)).length === 0) throw new NoLatency("holds no spans of OTLP (resourceSpans)")
    return reading("OTLP spans", head, ask, sink, otlpSpans)
  }
}
