/**
 * What an attempt's `Exit` means to the call it belongs to.
 *
 * - `Win`: this is the answer. The call ends with it.
 * - `NonFatal`: another attempt may do better. The exit is kept; if an attempt is left, it is sent now.
 * - `Fatal`: no attempt can do better. The call ends with this exit and the others are interrupted.
 *
 * `NonFatal` and `Fatal` may carry *pushback*, a server's wish about further attempts: a delay before which none is
 * sent, or `"DoNotRetry"`. A pushback that cannot be read (a negative or unparsable duration) means `"DoNotRetry"`,
 * as in gRPC A6.
 *
 * @example
 * import { Effect, Exit } from "effect"
 * import { Hedge, HedgeOutcome, HedgeSchedule } from "effect-hedge"
 *
 * // a fast empty answer is not good enough: let a slower copy win
 * export const search = (query: Effect.Effect<ReadonlyArray<string>>) =>
 *   query.pipe(
 *     Hedge.hedge({
 *       schedule: HedgeSchedule.fixed("50 millis"),
 *       classify: (exit) =>
 *         Exit.isSuccess(exit) && exit.value.length === 0 ? HedgeOutcome.nonFatal() : HedgeOutcome.fromExit(exit)
 *     })
 *   )
 *
 * @module
 */
import type { Duration, Exit } from "effect"
import * as internal from "./internal/outcome.js"

/** When further attempts may be sent: after a delay, or not at all. */
export type Pushback = Duration.DurationInput | "DoNotRetry"

/** The answer of the call. */
export interface Win {
  readonly _tag: "Win"
}

/** Another attempt may do better. */
export interface NonFatal {
  readonly _tag: "NonFatal"
  readonly pushback?: Pushback
}

/** No attempt can do better. */
export interface Fatal {
  readonly _tag: "Fatal"
  readonly pushback?: Pushback
}

/** What an attempt's exit means to its call. */
export type HedgeOutcome = Win | NonFatal | Fatal

/** The answer of the call. */
export const win: HedgeOutcome = internal.win

/** Another attempt may do better; `pushback` says from when on, or that none may follow. */
export const nonFatal: (pushback?: Pushback) => HedgeOutcome = internal.nonFatal

/** No attempt can do better. A `"DoNotRetry"` pushback still counts against a token bucket. */
export const fatal: (pushback?: Pushback) => HedgeOutcome = internal.fatal

/**
 * The default judgement: a success is `Win`, a cause that holds a typed failure is `NonFatal`, any other cause (a
 * defect, an attempt that interrupted itself) is `Fatal`. An empty cause, the exit of a stream that ended without an
 * element, is `Win`.
 */
export const fromExit: (exit: Exit.Exit<unknown, unknown>) => HedgeOutcome = internal.fromExit
