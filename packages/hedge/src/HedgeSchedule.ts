/**
 * Stagger schedules: how long to wait after the launch of one attempt before the next is launched.
 *
 * Any `Schedule` will do: its input is a {@link HedgeState}, its delays are the staggers, its end is the end of
 * hedging. The ones of this module are answered without running an effect, which makes a call that needs no hedge cheaper.
 *
 * - A delay of zero launches the next attempt at once; `Infinity` waits for an attempt to fail.
 * - A schedule is asked once after each launch. A failed attempt launches the next one at once and uses the pending
 *   step; a schedule that is done ends hedging after failures, too.
 *
 * @example
 * import { Effect, Schedule } from "effect"
 * import { Hedge, HedgeSchedule } from "effect-hedge"
 *
 * export const everyEighty = Hedge.hedge({ schedule: HedgeSchedule.fixed("80 millis"), maxAttempts: 3 })
 * export const growing = Hedge.hedge({ schedule: Schedule.exponential("20 millis"), maxAttempts: 4 })
 * export const quote = Effect.succeed(42).pipe(everyEighty)
 */
import type { Duration, Schedule } from "effect"
import * as internal from "./internal/schedule.js"

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

/** The next attempt only after one has failed: an infinite stagger. */
export const onFailure: HedgeSchedule = internal.onFailure
