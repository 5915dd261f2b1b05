/** A collector that takes what is exported over OTLP, as JSON. */
import type { IncomingMessage } from "node:http"
import { text } from "node:stream/consumers"
import { Effect, Schedule, type Scope, TestServices } from "effect"
import { serve } from "../../../src/loopback.js"

interface KeyValue {
  readonly key: string
  readonly value: {
    readonly stringValue?: string
    readonly intValue?: number | string
    readonly doubleValue?: number
    readonly boolValue?: boolean
  }
}

interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: ReadonlyArray<KeyValue>
  readonly events: ReadonlyArray<{ readonly name: string; readonly attributes: ReadonlyArray<KeyValue> }>
  readonly status: { readonly code?: number }
}

interface Traces {
  readonly resourceSpans: ReadonlyArray<{
    readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<OtlpSpan> }>
  }>
}

interface OtlpMetric {
  readonly name: string
  readonly unit: string
  readonly sum?: { readonly isMonotonic: boolean }
  readonly gauge?: unknown
  readonly histogram?: unknown
}

interface Metrics {
  readonly resourceMetrics: ReadonlyArray<{
    readonly scopeMetrics: ReadonlyArray<{ readonly metrics: ReadonlyArray<OtlpMetric> }>
  }>
}

export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

export interface Span {
  readonly trace: string
  readonly id: string
  readonly parent: string | undefined
  readonly name: string
  /** In whole milliseconds. */
  readonly start: number
  readonly end: number
  readonly attributes: Attributes
  readonly events: ReadonlyArray<{ readonly name: string; readonly attributes: Attributes }>
  readonly isError: boolean
}

export interface Metric {
  readonly name: string
  readonly unit: string
  readonly type: "counter" | "up-down counter" | "gauge" | "histogram"
}

export interface Collector {
  readonly url: string
  readonly metrics: () => ReadonlyArray<Metric>
  /** Waits until so many spans of a name have come in, and returns all spans that have. */
  readonly spans: (name: string, n: number) => Effect.Effect<ReadonlyArray<Span>, unknown>
}

const attributesOf = (attributes: ReadonlyArray<KeyValue>): Attributes =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? Number(value.intValue ?? value.doubleValue)
    ])
  )

const statusError = 2

/** A scripted attempt answers one nanosecond before its time. */
const millis = (nanos: string): number => Math.round(Number(BigInt(nanos) / 1_000n) / 1_000)

const spanOf = (span: OtlpSpan): Span => ({
  trace: span.traceId,
  id: span.spanId,
  parent: span.parentSpanId || undefined,
  name: span.name,
  start: millis(span.startTimeUnixNano),
  end: millis(span.endTimeUnixNano),
  attributes: attributesOf(span.attributes),
  events: span.events.map(({ attributes, name }) => ({ name, attributes: attributesOf(attributes) })),
  isError: span.status.code === statusError
})

const metricOf = ({ gauge, histogram, name, sum, unit }: OtlpMetric): Metric => {
  if (histogram !== undefined) return { name, unit, type: "histogram" }
  if (gauge !== undefined) return { name, unit, type: "gauge" }
  return { name, unit, type: sum?.isMonotonic === true ? "counter" : "up-down counter" }
}

export const collector: Effect.Effect<Collector, never, Scope.Scope> = Effect.gen(function* () {
  const spans: Array<Span> = []
  let metrics: ReadonlyArray<Metric> = []
  const take = async (request: IncomingMessage): Promise<void> => {
    const body = await text(request)
    if (request.url === "/v1/traces") {
      const { resourceSpans } = JSON.parse(body) as Traces
      for (const { scopeSpans } of resourceSpans) {
        for (const scope of scopeSpans) spans.push(...scope.spans.map(spanOf))
      }
    } else if (request.url === "/v1/metrics") {
      const { resourceMetrics } = JSON.parse(body) as Metrics
      metrics = resourceMetrics.flatMap(({ scopeMetrics }) =>
        scopeMetrics.flatMap((scope) => scope.metrics.map(metricOf))
      )
    }
  }
  const url = yield* serve((request, response) => {
    take(request).then(
      () => response.writeHead(200, { "content-type": "application/json" }).end("{}"),
      (error: unknown) => response.writeHead(400).end(String(error))
    )
  })
  return {
    url,
    metrics: () => metrics,
    spans: (name, n) =>
      Effect.suspend(() => {
        const found = spans.filter((span) => span.name === name).length
        return found >= n
          ? Effect.succeed(spans as ReadonlyArray<Span>)
          : Effect.fail(new Error(`${found} spans ${name} of ${n} have come in`))
      }).pipe(
        Effect.retry(Schedule.intersect(Schedule.spaced("50 millis"), Schedule.recurs(400))),
        TestServices.provideLive
      )
  }
})
