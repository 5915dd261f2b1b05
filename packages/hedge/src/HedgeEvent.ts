/**
 * Everything that happens in a hedged call, as a tagged union, and the listeners that are told of it.
 *
 * Events are told synchronously and in order, on the engine's loop: a listener must be quick. One that throws is logged and
 * changes nothing. An event that no listener wants is not even made.
 *
 * {@link layer} adds a listener for the effects that it is provided to; several such layers add up, merged or nested, and a listener that
 * is there already is not told twice. A call tells the listeners that it found when it started until its last attempt has ended, also when
 * their layer has closed meanwhile.
 *
 * @example
 * import { Console, Effect } from "effect"
 * import { Hedge, HedgeEvent, HedgeSchedule } from "effect-hedge"
 *
 * const listener: HedgeEvent.Listener = {
 *   only: ["HedgeSuppressed"],
 *   onEvent: (event) => {
 *     if (event._tag === "HedgeSuppressed") console.log(`no hedge: ${event.reason}`)
 *   }
 * }
 *
 * export const program = Console.log("hello").pipe(
 *   Hedge.hedge({ schedule: HedgeSchedule.fixed("80 millis") }),
 *   Effect.provide(HedgeEvent.layer(listener))
 * )
 *
 * @module
 */
import type { Duration, Exit, Fiber, Layer, Tracer } from "effect"
import type { Listeners } from "./internal/listeners.js"
import * as internal from "./internal/listeners.js"

/** Why a hedge that was due was not sent. A policy's own gates add reasons of their own. */
export type SuppressionReason =
  | "Disabled"
  | "Nested"
  | "Ineligible"
  | "Pushback"
  | "Deadline"
  | "WarmUp"
  | "Holdout"
  | "Suspended"
  | "NoDistinctTarget"
  | "Throttled"
  | (string & {})

/** Why an attempt was launched. */
export type LaunchReason = "Primary" | "Stagger" | "Failure"

/** Why an attempt was interrupted. */
export type InterruptReason = "Lost" | "AttemptTimeout" | "DeadlineExceeded" | "CallerInterrupted" | "Defect"

/** Why a success was released. */
export type DiscardReason = "Late" | "Rejected" | "CallerInterrupted"

/** How a call ended. `NonFatal`: every attempt was, and the primary's exit is the result. */
export type CallOutcome = "Win" | "NonFatal" | "Fatal" | "DeadlineExceeded" | "Interrupted" | "Defect"

interface Base {
  /** The call's id, the same as `HedgeAttempt.callId`. */
  readonly callId: string
  /** The policy's name. */
  readonly policy: string
  /** The time since the call started, by the `Clock`. */
  readonly elapsed: Duration.Duration
}

/** A call has started. `caller` is its fiber: do not change it. */
export interface CallStarted extends Base {
  readonly _tag: "CallStarted"
  readonly caller: Fiber.RuntimeFiber<unknown, unknown>
}

/** An attempt is about to be launched. */
export interface AttemptStarted extends Base {
  readonly _tag: "AttemptStarted"
  readonly attempt: number
  readonly reason: LaunchReason
}

/** An attempt's fiber has ended. */
export interface AttemptEnded extends Base {
  readonly _tag: "AttemptEnded"
  readonly attempt: number
  /** What its exit meant to the call; `NonFatal` if it had timed out, else `Cancelled` if the call had ended before it. */
  readonly outcome: "Win" | "NonFatal" | "Fatal" | "Cancelled"
  readonly exit: Exit.Exit<unknown, unknown>
  /** From its launch to its end, or to its interruption. */
  readonly ran: Duration.Duration
  /** From its interruption to the end of its fiber; zero if it was not interrupted. */
  readonly unwind: Duration.Duration
  readonly interrupted: InterruptReason | undefined
}

/** A hedge was due and not sent. */
export interface HedgeSuppressed extends Base {
  readonly _tag: "HedgeSuppressed"
  /** The index it would have had. */
  readonly attempt: number
  readonly reason: SuppressionReason
  /** The throttle that refused, for `Throttled`. */
  readonly throttle: string | undefined
}

/** A success that cannot be the result is released. */
export interface Discarded extends Base {
  readonly _tag: "Discarded"
  readonly attempt: number
  readonly reason: DiscardReason
}

/** The call has ended; attempts that lost may still unwind. */
export interface CallEnded extends Base {
  readonly _tag: "CallEnded"
  readonly outcome: CallOutcome
  /** The attempt whose exit is the result, if one is. */
  readonly winner: number | undefined
  /** What the caller gets; an interruption, if it was interrupted before there was a result. */
  readonly exit: Exit.Exit<unknown, unknown>
  /** Attempts launched. */
  readonly attempts: number
  /** The exits of the attempts that were `NonFatal`, by their index. */
  readonly rejected: ReadonlyMap<number, Exit.Exit<unknown, unknown>>
  /** What the throttle would let through at once, if it counts such a thing. */
  readonly tokens: number | undefined
}

/** Everything that happens in a call. */
export type HedgeEvent = CallStarted | AttemptStarted | AttemptEnded | HedgeSuppressed | Discarded | CallEnded

/** Someone who is told. */
export interface Listener {
  /** The events that it is told of, by their tags: all, unless given. An event that nobody is told of is not made. */
  readonly only?: ReadonlyArray<HedgeEvent["_tag"]>
  readonly onEvent: (event: HedgeEvent) => void
  /** The span that an attempt runs in, asked right after its `AttemptStarted`. */
  readonly spanOf?: (event: AttemptStarted) => Tracer.AnySpan | undefined
}

/** The listeners in force: a `Context.Reference` that holds none by default. */
export { Listeners } from "./internal/listeners.js"

/**
 * Adds a listener for the effects that the layer is provided to. The layers of one build share their listeners, so one that is provided to a
 * part of it is told of the calls of all of it.
 */
export const layer: (listener: Listener) => Layer.Layer<Listeners> = internal.layer
