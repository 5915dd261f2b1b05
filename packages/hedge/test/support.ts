import { type Duration, Effect, Fiber, type Schedule } from "effect"
import { Hedge, type HedgePolicy, type HedgeSchedule, HedgeThrottle } from "effect-hedge"
import type * as HedgeTest from "effect-hedge/testing"
import { Shortcut } from "../src/internal/shortcut.js"

type In = Duration.DurationInput

/** Options that may give a deadline and an attempt timeout, so that calls may fail with `HedgeError`. */
export type AnyOptions<A, E> = HedgePolicy.Options<A, E, never, In | undefined, In | undefined>

/** Options of a policy whose calls may hedge as much as they like, unless a test says otherwise. */
export const options = <A, E>(
  script: HedgeTest.Script<A, E>,
  schedule: Schedule.Schedule<unknown, HedgeSchedule.HedgeState>,
  rest: Omit<AnyOptions<A, E>, "schedule"> = {}
): AnyOptions<A, E> => ({
  schedule,
  throttle: HedgeThrottle.unlimited,
  onDiscard: script.onDiscard,
  ...rest
})

/** A hedged call of a script. */
export const call = <A, E>(
  script: HedgeTest.Script<A, E>,
  schedule: Schedule.Schedule<unknown, HedgeSchedule.HedgeState>,
  rest: Omit<AnyOptions<A, E>, "schedule"> = {}
): Effect.Effect<A, E | Hedge.HedgeError> => Hedge.hedge(script.effect, options(script, schedule, rest))

/** Starts a hedged call of a script, on a fiber of its own, and lets it run as far as it can without time passing. */
export const start = <A, E>(
  script: HedgeTest.Script<A, E>,
  schedule: Schedule.Schedule<unknown, HedgeSchedule.HedgeState>,
  rest: Omit<AnyOptions<A, E>, "schedule"> = {}
): Effect.Effect<Fiber.RuntimeFiber<A, E | Hedge.HedgeError>> =>
  Effect.zipLeft(Effect.fork(call(script, schedule, rest)), settled)

/** Lets every fiber run as far as it can without time passing. */
export const settled: Effect.Effect<void> = Effect.async<void>((resume) => {
  const turns = (left: number): void => {
    if (left === 0) resume(Effect.void)
    else setImmediate(turns, left - 1)
  }
  turns(3)
})

/** Fibers that were started the short way and have not ended: `Fiber.roots` does not know of them. */
const started = new Set<Fiber.RuntimeFiber<unknown, unknown>>()

const { start: startShortly } = Shortcut.prototype

Shortcut.prototype.start = function (...args) {
  const fiber = startShortly.apply(this, args) as Fiber.RuntimeFiber<any, any>
  started.add(fiber)
  fiber.addObserver(() => started.delete(fiber))
  return fiber
}

/** The fibers that are nobody's children: those of attempts, timers, steps and discards are. */
export const roots: Effect.Effect<number> = Effect.map(Fiber.roots, (fibers) => fibers.length + started.size)

/** Whether a fiber has ended, and how, without waiting for it. */
export const poll = <A, E>(fiber: Fiber.RuntimeFiber<A, E>) => Effect.sync(() => fiber.unsafePoll())
