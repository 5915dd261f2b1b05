/**
 * Attempts scripted as data, for tests of hedged code under `TestClock`.
 *
 * - A script says of each attempt after how long it answers and with what, how long its finalizer takes, and from when on it cannot be
 *   interrupted; it counts what happened to them.
 * - An attempt answers one nanosecond before its time, so that of an answer and a timer that are due together the answer goes first, whatever
 *   the order in which `TestClock` wakes them.
 * - Policies that name no throttle share one per process, and what a schedule learns outside a layer is the process's, too: provide
 *   {@link layer} to each test, or one test's hedges are refused to the next.
 *
 * @example
 * import { Effect, Fiber, TestClock, TestContext } from "effect"
 * import { Hedge, HedgeSchedule } from "effect-hedge"
 * import * as HedgeTest from "effect-hedge/testing"
 *
 * // the primary is slow, so a hedge is sent after 80 ms; it wins and the primary is interrupted
 * export const test = Effect.gen(function* () {
 *   const script = yield* HedgeTest.script([
 *     { after: "500 millis", succeed: "slow" },
 *     { after: "20 millis", succeed: "fast" }
 *   ])
 *   const call = yield* Effect.fork(Hedge.hedge(script.effect, { schedule: HedgeSchedule.fixed("80 millis") }))
 *   yield* TestClock.adjust("100 millis")
 *   const answer = yield* Fiber.join(call)
 *   const { startedAt, interruptions } = yield* script.observed
 *   return { answer, startedAt, interruptions } // { answer: "fast", startedAt: [0, 80], interruptions: 1 }
 * }).pipe(Effect.provide(HedgeTest.layer), Effect.provide(TestContext.TestContext))
 *
 * @module
 */
import type { Duration, Effect, Layer } from "effect"
import type { HedgeAttempt } from "./HedgeAttempt.js"
import type { HedgeEvent, Listeners } from "./HedgeEvent.js"
import type { HedgePolicyError } from "./HedgePolicy.js"
import type { Default } from "./HedgeThrottle.js"
import * as internal from "./internal/hedgeTest.js"
import type { Default as Estimators } from "./LatencyEstimator.js"

type In = Duration.DurationInput

interface Course {
  /** From the start to the answer. Default 0: the attempt answers synchronously. */
  readonly after?: In
  /** How long the finalizer takes once the attempt is interrupted. Default 0. */
  readonly unwind?: In
  /**
   * From this time after its start on the attempt cannot be interrupted, and answers even if it has lost. Default: it always can be. No
   * later than `after`.
   */
  readonly uninterruptibleFrom?: In
}

/** How an attempt ends: in exactly one of five ways. */
type Ending<A, E> =
  | {
      readonly succeed: A
      readonly fail?: never
      readonly die?: never
      readonly interrupt?: never
      readonly never?: never
    }
  | {
      readonly fail: E
      readonly succeed?: never
      readonly die?: never
      readonly interrupt?: never
      readonly never?: never
    }
  | {
      readonly die: unknown
      readonly succeed?: never
      readonly fail?: never
      readonly interrupt?: never
      readonly never?: never
    }
  | {
      readonly interrupt: true
      readonly succeed?: never
      readonly fail?: never
      readonly die?: never
      readonly never?: never
    }
  | {
      readonly never: true
      readonly succeed?: never
      readonly fail?: never
      readonly die?: never
      readonly interrupt?: never
    }

/**
 * One attempt as data: when it ends, and how.
 *
 * | field | the attempt |
 * |---|---|
 * | `succeed` | succeeds with this value |
 * | `fail` | fails with this error |
 * | `die` | dies with this defect |
 * | `interrupt: true` | interrupts itself |
 * | `never: true` | does not answer; takes no `after` |
 */
export type ScriptedAttempt<A, E> = Course & Ending<A, E>

/** What has happened to the attempts of a script so far. */
export interface Observation<A> {
  /** Attempts that have started. */
  readonly starts: number
  /** When they started, in milliseconds since the script was made, to a hundredth. */
  readonly startedAt: ReadonlyArray<number>
  /** Attempts that have started and not ended; those that unwind are among them. */
  readonly inFlight: number
  /** The most that were in flight at once. */
  readonly maxInFlight: number
  /** Attempts that were interrupted from outside. */
  readonly interruptions: number
  /** Finalizers that have run to their end: one for each attempt, however it ended. */
  readonly finalizers: number
  /** Successes that were produced, late ones included. */
  readonly successes: number
  /** The values given to `onDiscard`, in order. */
  readonly discarded: ReadonlyArray<A>
}

/** Attempts to hedge, and what became of them. */
export interface Script<A, E> {
  /** Runs the next attempt of the script at each execution. Dies if there is none. */
  readonly effect: Effect.Effect<A, E>
  /** Runs the attempt that stands at the index of the attempt given: for `Hedge.hedgeWith`. Dies if there is none. */
  readonly attempt: (attempt: HedgeAttempt) => Effect.Effect<A, E>
  /** Notes that a value is discarded: for a policy's `onDiscard`. */
  readonly onDiscard: (value: A) => Effect.Effect<void>
  /** What has happened so far. */
  readonly observed: Effect.Effect<Observation<A>>
}

/**
 * Makes a script of attempts, in the order in which they are executed.
 *
 * With `repeat` the script starts over after its last attempt; without it an execution that finds no attempt left dies, so that a hedge
 * nobody expected does not go unseen. Fails with `HedgePolicyError` for a script that makes no sense: an empty one, a negative or unreadable
 * duration, an attempt with no ending or two.
 *
 * @example
 * import { Effect } from "effect"
 * import * as HedgeTest from "effect-hedge/testing"
 *
 * export const script = HedgeTest.script([
 *   { after: "50 millis", fail: "unavailable" },
 *   { never: true, unwind: "10 seconds" },
 *   { after: "1 second", uninterruptibleFrom: "200 millis", succeed: 42 }
 * ])
 * export const effect = Effect.flatMap(script, ({ effect }) => effect) // Effect<number, string | HedgePolicyError>
 */
export const script: <A = never, E = never>(
  attempts: ReadonlyArray<ScriptedAttempt<A, E>>,
  options?: { readonly repeat?: boolean }
) => Effect.Effect<Script<A, E>, HedgePolicyError> = internal.script

/**
 * Gives a test what is one for the process otherwise: a throttle, made by `HedgeThrottle.makeDefault`, in the place of `HedgeThrottle.Default`, and
 * what schedules have learned that are in no layer, none yet, in the place of `LatencyEstimator.Default`. Two tests that are given it share
 * nothing but what they share themselves: a throttle or an estimator that is named, a layer that is built for both.
 */
export const layer: Layer.Layer<Default | Estimators> = internal.layer

/** Like {@link layer}, with a throttle that refuses nothing: for tests that are about something else. */
export const layerUnlimited: Layer.Layer<Default | Estimators> = internal.layerUnlimited

/** A listener that keeps every event it is told of. */
export interface Recorder {
  /** Adds the listener for the effects that the layer is provided to. */
  readonly layer: Layer.Layer<Listeners>
  /** The events so far, in the order in which they were told. */
  readonly events: Effect.Effect<ReadonlyArray<HedgeEvent>>
  /** Those with a tag. */
  readonly tagged: <const Tag extends HedgeEvent["_tag"]>(
    tag: Tag
  ) => Effect.Effect<ReadonlyArray<Extract<HedgeEvent, { readonly _tag: Tag }>>>
}

/**
 * Makes a recorder of events.
 *
 * @example
 * import { Effect } from "effect"
 * import { Hedge, HedgeSchedule } from "effect-hedge"
 * import * as HedgeTest from "effect-hedge/testing"
 *
 * export const reasons = Effect.gen(function* () {
 *   const recorder = yield* HedgeTest.recordEvents
 *   const call = Hedge.hedge(Effect.fail("down"), { schedule: HedgeSchedule.onFailure, gates: [() => "maintenance"] })
 *   yield* Effect.ignore(call).pipe(Effect.provide(recorder.layer))
 *   return (yield* recorder.tagged("HedgeSuppressed")).map(({ reason }) => reason) // ["maintenance"]
 * })
 */
export const recordEvents: Effect.Effect<Recorder> = internal.recordEvents
