import type { Layer, MetricKeyType } from "effect"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
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
  Listener,
  SuppressionReason
} from "../HedgeEvent.js"
import { check, name } from "./check.js"
import { type Listeners, layer as listenerLayer } from "./listeners.js"

type Role = "primary" | "hedge"

// --- keys ----------------------------------------------------------------------------------------------------------

/** Labels a metric with its unit (UCUM), which is where Effect's exporters to OpenTelemetry look for it. */
const inUnit = <Type extends MetricKeyType.MetricKeyType<any, any>>(
  unit: string,
  key: MetricKey.MetricKey<Type>
) => MetricKey.tagged(key, "unit", unit)

const counterKey = (name: string, unit: string, description: string) =>
  inUnit(unit, MetricKey.counter(name, { description, incremental: true }))

/** 1, 2, 3, 5, 7 in each decade from 1 ms to 70 s: a tail is read to within a factor of 2. (3 × 0.1 would be 0.30000000000000004.) */
const boundaries = MetricBoundaries.fromIterable(
  [1, 10, 100, 1_000, 10_000].flatMap((decade) => [1, 2, 3, 5, 7].map((step) => (step * decade) / 1_000))
)

const durationKey = (name: string, description: string) =>
  inUnit("s", MetricKey.histogram(name, boundaries, description))

const keys = {
  calls: counterKey("hedge.calls", "{call}", "Calls that have ended"),
  hedged: counterKey("hedge.calls.hedged", "{call}", "Calls that have ended and had sent at least one hedge"),
  attempts: counterKey("hedge.attempts", "{attempt}", "Attempts that have ended"),
  wins: counterKey("hedge.wins", "{call}", "Calls that an attempt has won"),
  suppressed: counterKey("hedge.suppressed", "{hedge}", "Hedges that were due and not sent"),
  callDuration: durationKey("hedge.call.duration", "From a call's start to its result"),
  loserDuration: durationKey("hedge.loser.duration", "From a loser's launch to its interruption"),
  delay: durationKey("hedge.delay", "From a call's start to the launch of a staggered hedge"),
  tokens: inUnit(
    "{hedge}",
    MetricKey.gauge("hedge.throttle.tokens", {
      description: "Hedges that the throttle would have let through when the last call ended"
    })
  ),
  // not a gauge: the sum over processes means something
  inFlight: inUnit(
    "{attempt}",
    MetricKey.counter("hedge.in_flight", { description: "Attempts whose fiber runs" })
  )
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
  histogram.unsafeUpdate(Duration.toSeconds(duration), noTags)

/** The counter of each value of a label. */
const counters = <K extends string>(
  key: MetricKey.MetricKey.Counter<number>,
  labels: Readonly<Record<string, string>>,
  label: string,
  values: ReadonlyArray<K>
): Record<K, Counter> =>
  Object.fromEntries(
    values.map((value) => [value, tagged(key, { ...labels, [label]: value }).register()])
  ) as Record<K, Counter>

// --- one policy ----------------------------------------------------------------------------------------------------

const roles: ReadonlyArray<Role> = ["primary", "hedge"]
const callOutcomes: ReadonlyArray<CallOutcome> = [
  "Win",
  "NonFatal",
  "Fatal",
  "DeadlineExceeded",
  "Interrupted",
  "Defect"
]
const attemptOutcomes: ReadonlyArray<AttemptEnded["outcome"]> = ["Win", "NonFatal", "Fatal", "Cancelled"]
/** The engine's own, but for `Throttled`, which has the throttle's name beside it. */
const engineReasons: ReadonlyArray<SuppressionReason> = [
  "Disabled",
  "Nested",
  "Ineligible",
  "Pushback",
  "Deadline",
  "WarmUp",
  "Holdout",
  "Suspended",
  "NoDistinctTarget"
]

/** A metric lives as long as the process: a gate that makes up reasons must not fill it with them, nor names made up for policies. */
const mostReasons = 50
const mostPolicies = 100

/** All is there before the first event, since a rate misses the value with which a series begins. */
class PolicyMetrics {
  readonly calls: Record<CallOutcome, Counter>
  readonly hedged: Counter
  readonly attempts: Record<Role, Record<AttemptEnded["outcome"], Counter>>
  readonly wins: Record<Role, Counter>
  readonly callDuration: Histogram
  readonly loserDuration: Histogram
  readonly delay: Histogram
  readonly tokens: Gauge
  readonly inFlight: Counter
  private readonly reasons: Map<string, Counter>
  private readonly otherReasons: Counter

  constructor(private readonly policy: string) {
    const attempts = (role: Role) => counters(keys.attempts, { policy, role }, "outcome", attemptOutcomes)
    this.calls = counters(keys.calls, { policy }, "outcome", callOutcomes)
    this.hedged = tagged(keys.hedged, { policy }).register()
    this.attempts = { primary: attempts("primary"), hedge: attempts("hedge") }
    this.wins = counters(keys.wins, { policy }, "role", roles)
    this.callDuration = tagged(keys.callDuration, { policy }).register()
    this.loserDuration = tagged(keys.loserDuration, { policy }).register()
    this.delay = tagged(keys.delay, { policy }).register()
    this.tokens = tagged(keys.tokens, { policy })
    this.inFlight = tagged(keys.inFlight, { policy }).register()
    this.reasons = new Map(Object.entries(counters(keys.suppressed, { policy }, "reason", engineReasons)))
    this.otherReasons = tagged(keys.suppressed, { policy, reason: "Other" })
  }

  suppressed({ reason, throttle }: HedgeSuppressed): Counter {
    const { policy, reasons } = this
    const key = throttle === undefined ? reason : `${reason} ${throttle}`
    const known = reasons.get(key)
    if (known !== undefined) return known
    if (reasons.size >= engineReasons.length + mostReasons) return this.otherReasons
    const labels = throttle === undefined ? { policy, reason } : { policy, reason, throttle }
    const counter = tagged(keys.suppressed, labels)
    reasons.set(key, counter)
    return counter
  }
}

const policies = new Map<string, PolicyMetrics>()

const metricsOf = (policy: string): PolicyMetrics => {
  const known = policies.get(policy)
  if (known !== undefined) return known
  if (policies.size >= mostPolicies && policy !== "Other") return metricsOf("Other")
  const metrics = new PolicyMetrics(policy)
  policies.set(policy, metrics)
  return metrics
}

export const register = (policy: string): Effect.Effect<void> => {
  check("policy", policy, name)
  return Effect.sync(() => {
    metricsOf(policy)
  })
}

// --- events --------------------------------------------------------------------------------------------------------

const roleOf = (attempt: number): Role => (attempt === 0 ? "primary" : "hedge")

const onAttemptEnded = (metrics: PolicyMetrics, event: AttemptEnded): void => {
  metrics.inFlight.unsafeUpdate(-1, noTags)
  count(metrics.attempts[roleOf(event.attempt)][event.outcome])
  if (event.interrupted === "Lost") record(metrics.loserDuration, event.ran)
}

const onCallEnded = (metrics: PolicyMetrics, event: CallEnded): void => {
  count(metrics.calls[event.outcome])
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
      metrics.inFlight.unsafeUpdate(1, noTags)
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

export const listener: Listener = {
  only: ["AttemptStarted", "AttemptEnded", "HedgeSuppressed", "CallEnded"],
  onEvent
}

export const layer: Layer.Layer<Listeners> = listenerLayer(listener)
