/**
 * Stagger schedules: how long to wait after the launch of one attempt before the next is launched.
 *
 * Any `Schedule` will do: its input is a {@link HedgeState}, its delays are the staggers, its end is the end of
 * hedging. The ones of this module are answered without running an effect, which makes a call that needs no hedge cheaper.
 *
 * - A delay of zero launches the next attempt at once; `Infinity` waits for an attempt to fail.
 * - A schedule is asked once after each launch, and after each staggered hedge that was refused, which so uses up a step. A failed
 *   attempt launches the next one at once and uses the pending step; a schedule that is done ends hedging after failures, too.
 *
 * @example
 * import { Effect, Schedule } from "effect"
 * import { Hedge, HedgeSchedule } from "effect-hedge"
 *
 * export const everyEighty = Hedge.hedge({ schedule: HedgeSchedule.fixed("80 millis"), maxAttempts: 3 })
 * export const growing = Hedge.hedge({ schedule: Schedule.exponential("20 millis"), maxAttempts: 4 })
 * export const quote = Effect.succeed(42).pipe(everyEighty)
 *
 * @module
 */
import type { Duration, Schedule } from "effect"
import * as adaptive from "./internal/adaptiveSchedule.js"
import * as internal from "./internal/schedule.js"
import type { Distribution, LatencyEstimator } from "./LatencyEstimator.js"

/** What a schedule or a gate may know when it is asked about the next hedge. */
export interface HedgeState {
  /** The index that the next attempt would have: 1 for the first hedge. */
  readonly attempt: number
  /** Time since the call started. */
  readonly elapsed: Duration.Duration
  /** Attempts of this call that have not ended. */
  readonly inFlight: number
}

/** A schedule that is answered synchronously. It can be combined like any other, and is then an ordinary one. */
export interface HedgeSchedule extends Schedule.Schedule<Duration.Duration, HedgeState> {}

/**
 * The same stagger after every launch.
 *
 * Throws `HedgePolicyError` for a negative or unreadable delay.
 */
export const fixed: (delay: Duration.DurationInput) => HedgeSchedule = internal.fixed

/** All attempts at once: a stagger of zero. */
export const parallel: HedgeSchedule = internal.parallel

/**
 * The next attempt only after one has failed: an infinite stagger. It can be combined with any schedule, which cannot be said of
 * `Schedule.spaced(Duration.infinity)`: to intersect that one does not end.
 */
export const onFailure: HedgeSchedule = internal.onFailure

/** How a schedule learns. */
export interface LearningOptions {
  /**
   * No staggered hedge before so many samples; until then each call reports one as suppressed (`WarmUp`) when it starts. At most 10,000. Default:
   * enough to have seen the delay exceeded ten times, and at least 200.
   */
  readonly warmUp?: number
  /** The delay until then, and while more than half of the primaries are cut off. Default none: no hedge but after a failure. */
  readonly meanwhile?: Duration.DurationInput
  /**
   * The share of calls in which no hedge is sent when it is due (`Holdout`), so that the tail that hedging hides stays in sight. Default:
   * `min(0.01, (1 - objective) / 10)` for {@link budgeted}, 0 for {@link quantile}.
   */
  readonly holdout?: number
  /** Where to learn. Default: an estimator of the policy's layer, or, without a layer, the schedule's own in `LatencyEstimator.Default`. */
  readonly estimator?: LatencyEstimator
}

/** The options of {@link quantile}. */
export interface QuantileOptions extends LearningOptions {
  /** No delay is shorter. Default 0. */
  readonly min?: Duration.DurationInput
  /** No delay is longer. Default none. */
  readonly max?: Duration.DurationInput
}

/** The options of {@link budgeted}. */
export interface BudgetedOptions extends LearningOptions {
  /** Hedges per call that may be sent: above 0, at most 1. */
  readonly extraLoad: number
  /** The quantile that is to be least, between 0 and 1. Default 0.99. */
  readonly objective?: number
  /** The time that it should keep. It changes no delay: it says when a budget is enough, in `HedgePolicy.inspect`. Default none. */
  readonly within?: Duration.DurationInput
}

/**
 * A stagger that is the quantile `q` of the primary's latency, as it is now: after every launch, a share 1 − q of calls sends a hedge.
 *
 * A schedule that learns, as this one and {@link budgeted} do, records the primary of each call (see `LatencyEstimator`), looks at the
 * distribution anew when a second has passed and a twentieth of it is new (at least 20 samples), or sooner when a tenth is, and
 * suspends itself (`Suspended`) when hedging would harm: when the median has grown past twice what is usual, when an upstream pushes back, and
 * when hedges win less than a third as often as independent copies would.
 * `HedgePolicy.inspect` says what it knows and does.
 *
 * Make it once, not in each call: what it learns belongs to the value, or to the layer of the policy. Combined with another schedule it goes on
 * to learn; of two that learn each goes by what it knows, and a hedge is sent if neither refuses it. Defaults: `min` 0, `max` none. Throws `HedgePolicyError` unless
 * `q` lies between 0 and 1, and for other options that make no sense.
 *
 * @example
 * import { Effect } from "effect"
 * import { Hedge, HedgeSchedule } from "effect-hedge"
 *
 * const afterP95 = HedgeSchedule.quantile(0.95, { min: "5 millis", max: "1 second", meanwhile: "200 millis" })
 * export const quote = Effect.succeed(42).pipe(Hedge.hedge({ schedule: afterP95 }))
 */
export const quantile: (q: number, options?: QuantileOptions) => HedgeSchedule = adaptive.quantile

/**
 * The stagger with which the objective quantile is least while the hedges stay within a budget. Where the budget does not pay for a hedge of
 * every call that is still open, only some calls are given one, at random; where hedging gains less than 0.4 %, none is.
 *
 * It learns as {@link quantile} does. One hedge is planned for, and two from an objective of 0.999 on, if `maxAttempts` allows. Defaults:
 * `objective` 0.99. Throws `HedgePolicyError` for options that make no sense. `HedgePolicy.layerAdaptive` is a policy of it, with a throttle.
 *
 * @see https://doi.org/10.1145/3087556.3087566 "Optimal Reissue Policies for Reducing Tail Latency" (SingleR)
 */
export const budgeted: (options: BudgetedOptions) => HedgeSchedule = adaptive.budgeted

/** What a budget buys. */
export interface Solution {
  /** When hedges are sent, counted from the start of the call. None, if hedging gains nothing. */
  readonly delays: ReadonlyArray<Duration.Duration>
  /** How likely each is to be sent when it is due; the second only in a call that was given the first. */
  readonly probabilities: ReadonlyArray<number>
  /** Hedges per call that it takes. */
  readonly extraLoad: number
  /** The time by which a share `p` of calls is answered. */
  readonly quantile: (p: number) => Duration.Duration
  /** Whether the budget is enough: the objective keeps `within`, or, without one, every call is hedged that is still open when a hedge is due. */
  readonly isReached: boolean
  /** The least budget that would be; none, if not even a hedge for every call is. */
  readonly neededExtraLoad: number | undefined
}

/** The options of {@link solve}: those of {@link BudgetedOptions} that change what is best. */
export interface SolveOptions extends Pick<BudgetedOptions, "extraLoad" | "objective" | "within"> {
  /** 2 or 3. Default 2, and 3 from an objective of 0.999 on, if that is not for pairs. */
  readonly maxAttempts?: number
}

/** What was measured by sending two copies at the same moment, again and again. */
export interface LatencyPairs {
  /** Milliseconds, of the first copy of each pair. */
  readonly firsts: ArrayLike<number>
  /** Those of the second, in the same order. */
  readonly seconds: ArrayLike<number>
}

/**
 * What {@link budgeted} would do, as far as is known: of a distribution if copies are independent, and of pairs as dependent as they were.
 * Pairs tell nothing of a third attempt.
 *
 * Any object with the survival function of a `Distribution`, and its number of samples, will do for one. Defaults: `objective` 0.99, `maxAttempts`
 * 2, and 3 from an objective of 0.999 on, if that is not for pairs. Throws `HedgePolicyError` for options and pairs that make no sense.
 *
 * @example
 * import { HedgeSchedule, LatencyEstimator } from "effect-hedge"
 *
 * export const whatItBuys = (latencies: ReadonlyArray<number>) =>
 *   HedgeSchedule.solve(LatencyEstimator.fromSamples(latencies), { extraLoad: 0.05 }).quantile(0.99)
 *
 * export const whatPairsSay = (firsts: ReadonlyArray<number>, seconds: ReadonlyArray<number>) =>
 *   HedgeSchedule.solve({ firsts, seconds }, { extraLoad: 0.05 }).quantile(0.99)
 */
export const solve: (
  latencies: Pick<Distribution, "samples" | "survival"> | LatencyPairs,
  options: SolveOptions
) => Solution = adaptive.solve
