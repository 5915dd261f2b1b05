/**
 * How long the primary takes, learned while it is being hedged.
 *
 * Hedging hides what it cures: a slow primary is cut off when a hedge wins, and its time is never seen. A time at which a primary was *cut
 * off* says only that its answer would have taken longer. The estimator counts it as that (`finished: false`), and so learns the latencies of
 * an upstream that is not hedged while it is. A hedge's own time must not be recorded, nor that of a fast failure or of a call that its caller
 * interrupted: they are no latencies of a primary.
 *
 * - Times are kept in buckets less than 0.8 % wide, between 10 µs and 70 minutes.
 * - Two windows are kept and read as one. A window ends after 10,000 samples or 60 seconds, whichever is first, but not with fewer than 200
 *   samples.
 * - When the median has become more than twice, or less than half, of what is usual (the median of the last 10 windows' medians), and neither
 *   chance nor a stall of less than a second explains it, everything is set aside and learned anew. If the median is back within a window, what
 *   was set aside holds again, and what was learned meanwhile is forgotten.
 * - Samples may have a key, such as a route, and a key may stand under others: `["https://api.example.com", "GET /users/:id"]`. A sample counts
 *   for its key, for the keys that this stands under and for the whole. A key of fewer than 200 samples answers with the distribution of the
 *   one that it stands under. 256 keys are kept: one that was used but once goes first, then the one that was not used
 *   for longest.
 *
 * A policy whose schedule learns (`HedgeSchedule.quantile`, `HedgeSchedule.budgeted`) records by itself.
 *
 * @example
 * import { Effect } from "effect"
 * import { LatencyEstimator } from "effect-hedge"
 *
 * export const program = Effect.gen(function* () {
 *   const estimator = yield* LatencyEstimator.make
 *   yield* LatencyEstimator.record(estimator, { elapsed: "30 millis" })
 *   yield* LatencyEstimator.record(estimator, { elapsed: "80 millis", finished: false })
 *   return yield* LatencyEstimator.quantile(estimator, 0.5)
 * })
 *
 * @module
 */
import type { Duration, Option } from "effect"
import * as Effect from "effect/Effect"
import type { HedgeSchedule } from "./HedgeSchedule.js"
import * as internal from "./internal/estimator.js"

/** Identifies an estimator. */
export const TypeId: "~effect-hedge/LatencyEstimator" = internal.TypeId

/** Identifies an estimator. */
export type TypeId = typeof TypeId

/** Learns latencies. It holds state: build it once and share it. */
export interface LatencyEstimator {
  readonly [TypeId]: TypeId
}

/** What latencies are told apart by: a name, or several, of which each stands under those before it. */
export type Key = string | ReadonlyArray<string>

/** How long a primary took, or how long it had run when it was cut off. */
export interface Sample {
  readonly elapsed: Duration.DurationInput
  /** False if the primary was cut off. Default true. */
  readonly finished?: boolean
  /** Default: no key. */
  readonly key?: Key
}

/** A distribution of latencies that changes no more. */
export interface Distribution {
  /** Samples that it was made of. */
  readonly samples: number
  /** Those of them that had finished. */
  readonly finished: number
  /**
   * The time by which a share `p` has been answered, within 1 %; infinite without samples. Where the slowest samples were cut off, nothing
   * is known of what lies beyond, and the largest time that was seen stands for it.
   */
  readonly quantile: (p: number) => Duration.Duration
  /** The probability that an answer takes longer than this. */
  readonly survival: (elapsed: Duration.DurationInput) => number
}

/** Which estimator a schedule learns in that names none, and that no layer holds. */
export interface Estimators {
  readonly estimatorOf: (schedule: HedgeSchedule) => LatencyEstimator
}

/**
 * The estimators of schedules that name none: one for each schedule, in this process. The layer of a policy has one of its own and does not use
 * this. Replace it in tests, with `Effect.provideService(LatencyEstimator.Default, LatencyEstimator.makeDefault())`.
 */
export { Default } from "./internal/estimator.js"

/** What {@link Default} holds, fresh: an estimator for each schedule that asks. */
export const makeDefault: () => Estimators = internal.makeDefault

/** Makes an estimator. */
export const make: Effect.Effect<LatencyEstimator> = Effect.sync(internal.unsafeMake)

/** Makes an estimator, for a constant of a module. */
export const unsafeMake: () => LatencyEstimator = internal.unsafeMake

/** Tells an estimator from anything else. */
export const isLatencyEstimator: (u: unknown) => u is LatencyEstimator = internal.isLatencyEstimator

/** Records a sample, at the time of the `Clock`. Dies with `HedgePolicyError` for a time that is negative or unreadable. */
export const record: {
  (sample: Sample): (self: LatencyEstimator) => Effect.Effect<void>
  (self: LatencyEstimator, sample: Sample): Effect.Effect<void>
} = internal.record

/** {@link record} without an effect; `now` is the time in milliseconds. */
export const unsafeRecord: (self: LatencyEstimator, now: number, sample: Sample) => void =
  internal.unsafeRecord

/**
 * The time by which a share `p` of primaries has been answered; none without samples. It is read anew when a second has passed or a tenth of
 * the samples is new, so that to ask often costs little. Dies with `HedgePolicyError` unless `p` lies between 0 and 1.
 */
export const quantile: (
  self: LatencyEstimator,
  p: number,
  key?: Key
) => Effect.Effect<Option.Option<Duration.Duration>> = internal.quantile

/** {@link quantile} without an effect, in milliseconds; `now` is the time in milliseconds. */
export const unsafeQuantile: (
  self: LatencyEstimator,
  now: number,
  p: number,
  key?: Key
) => number | undefined = internal.unsafeQuantile

/** What is known now of a key, or of the whole. */
export const distribution: (self: LatencyEstimator, key?: Key) => Effect.Effect<Distribution> =
  internal.distribution

/** The distribution of given latencies, in milliseconds or as samples, of any number. Their keys do not count. */
export const fromSamples: (samples: Iterable<number | Sample>) => Distribution = internal.fromSamples
