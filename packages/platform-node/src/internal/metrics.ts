import { Metric, MetricBoundaries, MetricKey, type MetricKeyType, MetricLabel } from "effect"
import type { LaneDraining, LaneEvent, LaneInfo, Listener, RequestEnded } from "../LaneEvent.js"

/** Labels a metric with its unit (UCUM), which is where Effect's exporters to OpenTelemetry look for it. */
const inUnit = <Type extends MetricKeyType.MetricKeyType<any, any>>(
  unit: string,
  key: MetricKey.MetricKey<Type>
) => MetricKey.tagged(key, "unit", unit)

const counter = (name: string, unit: string, description: string) =>
  inUnit(unit, MetricKey.counter(name, { description, incremental: true }))

/** 1, 2, 3, 5, 7 in each decade from 0.1 ms to 70 s. (3 × 0.0001 would be 0.00030000000000000003.) */
const seconds = MetricBoundaries.fromIterable(
  [1, 10, 100, 1_000, 10_000, 100_000].flatMap((decade) =>
    [1, 2, 3, 5, 7].map((step) => (step * decade) / 10_000)
  )
)

const streams = MetricBoundaries.fromIterable([0, 1, 2, 5, 10, 20, 50, 100])

const keys = {
  phase: inUnit("s", MetricKey.histogram("lane.request.phase", seconds, "Where the time of requests went")),
  requests: counter("lane.requests", "{request}", "Requests that have ended"),
  activeStreams: inUnit(
    "{request}",
    MetricKey.histogram("lane.request.active_streams", streams, "Other requests on a lane when one was taken")
  ),
  opened: counter("lane.opened", "{connection}", "Connections that were opened"),
  closed: counter("lane.closed", "{connection}", "Connections that have closed"),
  connectFailed: counter("lane.connect.failed", "{connection}", "Connections that could not be opened"),
  drained: counter("lane.drained", "{lane}", "Lanes that took no more requests"),
  // not a gauge: the sum over processes means something
  open: inUnit("{lane}", MetricKey.counter("lane.open", { description: "Lanes whose connection is open" }))
}

/** One metric for each set of labels, made once: to tag a metric at each update costs a hundred times as much as the update. */
const tagged = <Type extends MetricKeyType.MetricKeyType<any, any>>(
  key: MetricKey.MetricKey<Type>,
  labels: Readonly<Record<string, string>>
) =>
  Metric.fromMetricKey(
    MetricKey.taggedWithLabels(
      key,
      Object.entries(labels).map(([name, value]) => MetricLabel.make(name, value))
    )
  )

const noTags: ReadonlyArray<MetricLabel.MetricLabel> = []

type Counter = Metric.Metric.Counter<number>
type Histogram = Metric.Metric<MetricKeyType.MetricKeyType.Histogram, number, unknown>

const add = (counter: Counter, n: number): void => counter.unsafeUpdate(n, noTags)
const record = (histogram: Histogram, value: number): void => histogram.unsafeUpdate(value, noTags)

const byName = <K extends string, A>(names: ReadonlyArray<K>, make: (name: K) => A): Record<K, A> =>
  Object.fromEntries(names.map((name) => [name, make(name)])) as Record<K, A>

const phases = ["queued", "dns", "tcp", "tls", "sent", "firstByte", "body"] as const
const outcomes: ReadonlyArray<RequestEnded["outcome"]> = ["Completed", "Failed", "Cancelled"]
const laneUses = ["fresh", "reused", "none"] as const
const protocols: ReadonlyArray<LaneInfo["protocol"]> = ["http/1.1", "h2"]
const drainReasons: ReadonlyArray<LaneDraining["reason"]> = ["Idle", "GoAway", "RationSpent", "Closing"]

/** Counters are there from the origin's first event on, since a rate misses the value with which a series begins. */
class OriginMetrics {
  readonly phases: Record<(typeof phases)[number], Histogram>
  readonly requests: Record<RequestEnded["outcome"], Record<(typeof laneUses)[number], Counter>>
  readonly activeStreams: Histogram
  readonly opened: Counter
  readonly closed: Counter
  readonly connectFailed: Counter
  readonly drained: Record<LaneDraining["reason"], Counter>
  readonly open: Record<LaneInfo["protocol"], Counter>

  constructor(origin: string) {
    this.phases = byName(phases, (phase) => tagged(keys.phase, { origin, phase }))
    this.requests = byName(outcomes, (outcome) =>
      byName(laneUses, (lane) => tagged(keys.requests, { origin, outcome, lane }).register())
    )
    this.activeStreams = tagged(keys.activeStreams, { origin })
    this.opened = tagged(keys.opened, { origin }).register()
    this.closed = tagged(keys.closed, { origin }).register()
    this.connectFailed = tagged(keys.connectFailed, { origin }).register()
    this.drained = byName(drainReasons, (reason) => tagged(keys.drained, { origin, reason }).register())
    this.open = byName(protocols, (protocol) => tagged(keys.open, { origin, protocol }).register())
  }
}

const mostOrigins = 50
const origins = new Map<string, OriginMetrics>()

const metricsOf = (origin: string): OriginMetrics => {
  const known = origins.get(origin)
  if (known !== undefined) return known
  if (origins.size >= mostOrigins && origin !== "other") return metricsOf("other")
  const metrics = new OriginMetrics(origin)
  origins.set(origin, metrics)
  return metrics
}

const onRequestEnded = (metrics: OriginMetrics, event: RequestEnded): void => {
  for (const phase of phases) {
    const millis = event.phases[phase]
    if (millis !== undefined) record(metrics.phases[phase], millis / 1_000)
  }
  const lane = event.lane === undefined ? "none" : event.fresh ? "fresh" : "reused"
  add(metrics.requests[event.outcome][lane], 1)
  if (event.lane !== undefined) record(metrics.activeStreams, event.activeStreams)
}

const onEvent = (event: LaneEvent): void => {
  const metrics = metricsOf(event.origin)
  switch (event._tag) {
    case "RequestEnded":
      return onRequestEnded(metrics, event)
    case "LaneOpened":
      add(metrics.opened, 1)
      return add(metrics.open[event.lane.protocol], 1)
    case "LaneDraining":
      return add(metrics.drained[event.reason], 1)
    case "LaneClosed":
      add(metrics.closed, 1)
      return add(metrics.open[event.lane.protocol], -1)
    case "ConnectFailed":
      return add(metrics.connectFailed, 1)
  }
}

export const listener: Listener = { onEvent }
