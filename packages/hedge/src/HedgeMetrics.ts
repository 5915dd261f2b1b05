/**
 * Metrics of hedged calls, for any exporter of Effect's metrics.
 *
 * Provide {@link layer} once, at the edge of the program. Durations are histograms in seconds, with boundaries from 1 ms to 70 s; counters only
 * grow. Every metric has its unit as a label `unit` besides (`s`, `{call}`, `{attempt}`, `{hedge}`): there Effect's exporters to OpenTelemetry
 * look for it.
 *
 * | metric | labels | what it counts |
 * |---|---|---|
 * | `hedge.calls` | `policy`, `outcome` | calls that have ended: `Win`, `NonFatal`, `Fatal`, `DeadlineExceeded`, `Interrupted`, `Defect` |
 * | `hedge.calls.hedged` | `policy` | those of them that had sent at least one hedge |
 * | `hedge.attempts` | `policy`, `role`, `outcome` | attempts whose fiber has ended; `role` is `primary` or `hedge`, `outcome` is `Win`, `NonFatal`, `Fatal` or `Cancelled` |
 * | `hedge.wins` | `policy`, `role` | calls that the primary, or a hedge, has won |
 * | `hedge.suppressed` | `policy`, `reason`, `throttle` | hedges that were due and not sent; `throttle` only if the reason is `Throttled` |
 * | `hedge.call.duration` | `policy` | from a call's start to its result |
 * | `hedge.loser.duration` | `policy` | from the launch of an attempt that lost to its interruption; unwinding is not included |
 * | `hedge.delay` | `policy` | from a call's start to the launch of a staggered hedge; those after a failure are not included |
 * | `hedge.throttle.tokens` | `policy` | gauge: hedges that the throttle would have let through when the last call ended, if it counts such a thing |
 * | `hedge.in_flight` | `policy` | up and down: attempts whose fiber runs, losers that still unwind included |
 *
 * Four questions, and what answers them (sums are over the labels that are not named):
 *
 * | question | answer |
 * |---|---|
 * | How often is a hedge sent? | `hedge.calls.hedged` / sum of `hedge.calls` |
 * | How often does it win? | `hedge.wins{role="hedge"}` / `hedge.calls.hedged` |
 * | How long did losers run? | sum / count of `hedge.loser.duration` |
 * | How many requests does the upstream see per call? | sum of `hedge.attempts` / sum of `hedge.calls` |
 *
 * - `policy` is the policy's `name`: the id of its tag, or `inline`. Give each policy that you want to tell apart a name, and make no names
 *   up at run time: a metric lives as long as the process. After 100 names the rest are counted together, as the policy `Other`.
 * - A policy's own gates may return any reason, also one per request: after 50 different ones per policy the rest are counted as `Other`.
 * - `hedge.suppressed` counts refusals and not calls: after one a schedule goes on to its next step, and may be refused again.
 * - All but `hedge.throttle.tokens` begin at zero with the policy's first call, for each outcome and each reason of the engine; {@link register}
 *   makes them before.
 * - `hedge.throttle.tokens` of policies that share a throttle is the same; of a policy with a throttle per origin (`HttpHedge`) it is that of
 *   the origin that was called last.
 * - Labels of `Effect.tagMetrics` are not added: keys are made once per policy, which makes an update cheap.
 *
 * @example
 * import { Effect, Metric } from "effect"
 * import { Hedge, HedgeMetrics, HedgePolicy, HedgeSchedule } from "effect-hedge"
 *
 * const quotes = Effect.succeed(42).pipe(Hedge.withPolicy)
 *
 * export const program = Effect.zipRight(quotes, Metric.snapshot).pipe(
 *   Effect.provide(HedgePolicy.layer({ schedule: HedgeSchedule.fixed("80 millis"), name: "quotes" })),
 *   Effect.provide(HedgeMetrics.layer)
 * )
 *
 * @module
 */
import type { Effect, Layer } from "effect"
import type { Listener, Listeners } from "./HedgeEvent.js"
import * as internal from "./internal/metrics.js"

/** Counts what happens, synchronously: a map look-up and one to five updates an event. */
export const listener: Listener = internal.listener

/**
 * Makes the metrics of a policy, at zero, before its first call: a rate in Prometheus misses the value with which a series begins, and so all
 * that happened between a process's start and the first time that it was scraped. Throws `HedgePolicyError` for a name that is none.
 *
 * @example
 * import { Effect, Layer } from "effect"
 * import { HedgeMetrics } from "effect-hedge"
 *
 * export const Metrics = Layer.merge(HedgeMetrics.layer, Layer.effectDiscard(HedgeMetrics.register("quotes")))
 */
export const register: (policy: string) => Effect.Effect<void> = internal.register

/** Counts the calls of the effects that it is provided to, each once, also when it is provided twice. */
export const layer: Layer.Layer<Listeners> = internal.layer
