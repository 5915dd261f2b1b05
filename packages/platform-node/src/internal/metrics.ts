import { Metric, MetricBoundaries, MetricKey, type MetricKeyType, MetricLabel } from "effect"
import type { LaneEvent, Listener, Phases, RequestEnded } from "../LaneEvent.js"

const counter = (name: string, description: string) =>
  MetricKey.counter(name, { description, incremental: true })

/** 1, 2, 3, 5, 7 in each decade from 0.1 ms to 70 s. (3 × 0.1 would be 0.30000000000000004.) */
const millis = MetricBoundaries.fromIterable(
  [1, 10, 100, 1_000, 10_000, 100_000].flatMap((decade) =>
    [1, 2, 3, 5, 7].map((step) => (step * decade) / 10)
  )
)

const streams = MetricBoundaries.fromIterable([0, 1, 2, 5, 10, 20, 50, 100])

const keys = {
  phase: MetricKey.tagged(
    MetricKey.histogram("lane.request.phase", millis, "Where the time of requests went, in milliseconds"),
    "time_unit",
    "milliseconds"
  ),
  requests: counter("lane.requests", "Requests that have ended"),
  activeStreams: MetricKey.histogram(
    "lane.request.active_streams",
    streams,
    "Other requests on a lane when one was taken"
  ),
  opened: counter("lane.opened", "Connections that were opened"),
  closed: counter("lane.closed", "Connections that have closed"),
  connectFailed: counter("lane.connect.failed", "Connections that could not be opened"),
  drained: counter("lane.drained", "Lanes that took no more requests"),
  open: MetricKey.gauge("lane.open", { description: "Lanes whose connection is open" })
}

type AnyKey = MetricKey.MetricKey<MetricKeyType.MetricKeyType<any, any>>

const noTags: ReadonlyArray<MetricLabel.MetricLabel> = []

/** Metrics of one origin, each with its labels: to tag a metric at each update costs a hundred times as much as the update. */
class OriginMetrics {
  private readonly made = new Map<
    string,
    Metric.Metric<MetricKeyType.MetricKeyType<any, any>, number, unknown>
  >()

  constructor(private readonly origin: string) {}

  update(key: AnyKey, value: number, label?: string, of?: string): void {
    this.of(key, label, of).unsafeUpdate(value, noTags)
  }

  add(key: AnyKey, value: number, label: string, of: string): void {
    this.of(key, label, of).unsafeModify(value, noTags)
  }

  private of(key: AnyKey, label = "", of = "") {
    const id = `${key.name} ${of}`
    let metric = this.made.get(id)
    if (metric === undefined) {
      const labels = [MetricLabel.make("origin", this.origin)]
      const names = label.split(" ")
      of.split(" ").forEach((value, i) => {
        if (value !== "") labels.push(MetricLabel.make(names[i]!, value))
      })
      metric = Metric.fromMetricKey(MetricKey.taggedWithLabels(key, labels))
      this.made.set(id, metric)
    }
    return metric
  }
}

const mostOrigins = 50
const origins = new Map<string, OriginMetrics>()
const otherOrigins = new OriginMetrics("other")

const metricsOf = (origin: string): OriginMetrics => {
  let metrics = origins.get(origin)
  if (metrics === undefined) {
    if (origins.size >= mostOrigins) return otherOrigins
    metrics = new OriginMetrics(origin)
    origins.set(origin, metrics)
  }
  return metrics
}

const histograms = ["queued", "dns", "tcp", "tls", "sent", "firstByte", "body"] satisfies Array<keyof Phases>

const onRequestEnded = (metrics: OriginMetrics, event: RequestEnded): void => {
  for (const phase of histograms) {
    const value = event.phases[phase]
    if (value !== undefined) metrics.update(keys.phase, value, "phase", phase)
  }
  const lane = event.lane === undefined ? "none" : event.fresh ? "fresh" : "reused"
  metrics.update(keys.requests, 1, "outcome lane", `${event.outcome} ${lane}`)
  if (event.lane !== undefined) metrics.update(keys.activeStreams, event.activeStreams)
}

const onEvent = (event: LaneEvent): void => {
  const metrics = metricsOf(event.origin)
  switch (event._tag) {
    case "RequestEnded":
      return onRequestEnded(metrics, event)
    case "LaneOpened":
      metrics.update(keys.opened, 1)
      return metrics.add(keys.open, 1, "protocol", event.lane.protocol)
    case "LaneDraining":
      return metrics.update(keys.drained, 1, "reason", event.reason)
    case "LaneClosed":
      metrics.update(keys.closed, 1)
      return metrics.add(keys.open, -1, "protocol", event.lane.protocol)
    case "ConnectFailed":
      return metrics.update(keys.connectFailed, 1)
  }
}

export const listener: Listener = { onEvent }
