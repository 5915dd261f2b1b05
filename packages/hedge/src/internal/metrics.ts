import type { Layer, MetricKeyType } from "effect"
import * as Duration from "effect/Duration"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricKey from "effect/MetricKey"
import * as MetricLabel from "effect/MetricLabel"
import type {
  AttemptEnded,
  CallEnded,
  CallOutcome,
  HedgeEvent,
  HedgeSuppressed,
  Listener
} from "../HedgeEvent.js"
import { type Listeners, layer as listenerLayer } from "./listeners.js"

type Role = "primary" | "hedge"

// --- keys ----------------------------------------------------------------------------------------------------------

const counterKey = (name: string, description: string) =>
  MetricKey.counter(name, { description, incremental: true })

/** 1, 2, 3, 5, 7 in each decade from 1 ms to 70 s: a tail is read to within a third. */
const boundaries = MetricBoundaries.fromIterable(
  [1, 10, 100, 1_000, 10_000].flatMap((decade) => [1, 2, 3, 5, 7].map((step) => step * decade))
)

/** Labelled with its unit as Effect's own timers are, which exporters to OpenTelemetry read. */
const durationKey = (name: string, description: string) =>
  MetricKey.tagged(
    MetricKey.histogram(name, boundaries, `${description}, in milliseconds`),
    "time_unit",
    "milliseconds"
  )

const keys = {
  calls: counterKey("hedge.calls", "Calls that have ended"),
  hedged: counterKey("hedge.calls.hedged", "Calls that have ended and had sent at least one hedge"),
  attempts: counterKey("hedge.attempts", "Attempts that have ended"),
  wins: counterKey("hedge.wins", "Calls that an attempt has won"),
  suppressed: counterKey("hedge.suppressed", "Hedges that were due and not sent"),
  callDuration: durationKey("hedge.call.duration", "From a call's start to its result"),
  loserDuration: durationKey("hedge.loser.duration", "From a loser's launch to its interruption"),
  delay: durationKey("hedge.delay", "From a call's start to the launch of a staggered hedge"),
  tokens: MetricKey.gauge("hedge.throttle.tokens", {
    description: "Hedges that the throttle would have let through when the last call ended"
  }),
  inFlight: MetricKey.gauge("hedge.in_flight", { description: "Attempts whose fiber runs" })
}

/** Tagging a metric at each update costs a hundred times as much as an update of a key that is tagged once. */
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
type Gauge = Metric.Metric.Gauge<number>
type Histogram = Metric.Metric<MetricKeyType.MetricKeyType.Histogram, number, unknown>

const count = (counter: Counter): void => counter.unsafeUpdate(1, noTags)
const record = (histogram: Histogram, duration: Duration.Duration): void =>
  histogram.unsafeUpdate(Duration.toMillis(duration), noTags)

const memo = <K extends string, A>(make: (key: K) => A): ((key: K) => A) => {
  const made = new Map<K, A>()
  return (key) => {
    let a = made.get(key)
    if (a === undefined) {
      a = make(key)
      made.set(key, a)
    }
    return a
  }
}

// --- one policy ----------------------------------------------------------------------------------------------------

/** A metric lives as long as the process: a gate that makes up reasons must not fill it with them. */
const mostReasons = 50

class PolicyMetrics {
  readonly calls: (outcome: CallOutcome) => Counter
  readonly hedged: Counter
  readonly attempts: Record<Role, (outcome: AttemptEnded["outcome"]) => Counter>
  readonly wins: Record<Role, Counter>
  readonly callDuration: Histogram
  readonly loserDuration: Histogram
  readonly delay: Histogram
  readonly tokens: Gauge
  readonly inFlight: Gauge
  private readonly reasons = new Map<string, Counter>()
  private readonly otherReasons: Counter

  constructor(private readonly policy: string) {
    const attempts = (role: Role) =>
      memo((outcome: AttemptEnded["outcome"]) => tagged(keys.attempts, { policy, role, outcome }))
    this.calls = memo((outcome) => tagged(keys.calls, { policy, outcome }))
    this.hedged = tagged(keys.hedged, { policy })
    this.attempts = { primary: attempts("primary"), hedge: attempts("hedge") }
    this.wins = {
      primary: tagged(keys.wins, { policy, role: "primary" }),
      hedge: tagged(keys.wins, { policy, role: "hedge" })
    }
    this.callDuration = tagged(keys.callDuration, { policy })
    this.loserDuration = tagged(keys.loserDuration, { policy })
    this.delay = tagged(keys.delay, { policy })
    this.tokens = tagged(keys.tokens, { policy })
    this.inFlight = tagged(keys.inFlight, { policy })
    this.otherReasons = tagged(keys.suppressed, { policy, reason: "Other" })
    // a ratio of two counters needs both, also before the first hedge
    this.hedged.register()
    this.wins.primary.register()
    this.wins.hedge.register()
  }

  suppressed({ reason, throttle }: HedgeSuppressed): Counter {
    const { policy, reasons } = this
    const key = throttle === undefined ? reason : `${reason} ${throttle}`
    const known = reasons.get(key)
    if (known !== undefined) return known
    if (reasons.size >= mostReasons) return this.otherReasons
    const labels = throttle === undefined ? { policy, reason } : { policy, reason, throttle }
    const counter = tagged(keys.suppressed, labels)
    reasons.set(key, counter)
    return counter
  }
}

const metricsOf = memo((policy: string) => new PolicyMetrics(policy))

// --- events --------------------------------------------------------------------------------------------------------

const roleOf = (attempt: number): Role => (attempt === 0 ? "primary" : "hedge")

const onAttemptEnded = (metrics: PolicyMetrics, event: AttemptEnded): void => {
  metrics.inFlight.unsafeModify(-1, noTags)
  count(metrics.attempts[roleOf(event.attempt)](event.outcome))
  if (event.interrupted === "Lost") record(metrics.loserDuration, event.ran)
}

const onCallEnded = (metrics: PolicyMetrics, event: CallEnded): void => {
  count(metrics.calls(event.outcome))
  if (event.attempts > 1) count(metrics.hedged)
  if (event.outcome === "Win") count(metrics.wins[roleOf(event.winner!)])
  record(metrics.callDuration, event.elapsed)
  const { tokens } = event
  if (tokens !== undefined && Number.isFinite(tokens)) metrics.tokens.unsafeUpdate(tokens, noTags)
}

const onEvent = (event: HedgeEvent): void => {
  const metrics = metricsOf(event.policy)
  switch (event._tag) {
    case "AttemptStarted":
      metrics.inFlight.unsafeModify(1, noTags)
      if (event.reason === "Stagger") record(metrics.delay, event.elapsed)
      return
    case "AttemptEnded":
      return onAttemptEnded(metrics, event)
    case "HedgeSuppressed":
      return count(metrics.suppressed(event))
    case "CallEnded":
      return onCallEnded(metrics, event)
  }
}

export const listener: Listener = { onEvent }

export const layer: Layer.Layer<Listeners> = listenerLayer(listener)
