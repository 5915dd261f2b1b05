import { Effect, Fiber, type Schedule } from "effect"
import { Hedge, type HedgePolicy, type HedgeSchedule, HedgeThrottle } from "effect-hedge"
import type * as HedgeTest from "effect-hedge/testing"

/** Options of a policy whose calls may hedge as much as they like, unless a test says otherwise. */
export const options = <A, E>(
  script: HedgeTest.Script<A, E>,
  schedule: Schedule.Schedule<unknown, HedgeSchedule.HedgeState>,
  rest: Omit<HedgePolicy.Options<A, E>, "schedule"> = {}
): HedgePolicy.Options<A, E> => ({
  schedule,
  throttle: HedgeThrottle.unlimited,
  onDiscard: script.onDiscard,
  ...rest
})

/** Starts a hedged call of a script, on a fiber of its own. */
export const start = <A, E>(
  script: HedgeTest.Script<A, E>,
  schedule: Schedule.Schedule<unknown, HedgeSchedule.HedgeState>,
  rest: Omit<HedgePolicy.Options<A, E>, "schedule"> = {}
): Effect.Effect<Fiber.RuntimeFiber<A, E>> =>
  Effect.tap(Effect.fork(Hedge.hedge(script.effect, options(script, schedule, rest))), () => settled)

/** Lets every fiber run as far as it can without time passing. */
export const settled: Effect.Effect<void> = Effect.async<void>((resume) => {
  const turns = (left: number): void => {
    if (left === 0) resume(Effect.void)
    else setImmediate(turns, left - 1)
  }
  turns(3)
})

/** The fibers that are nobody's children: those of attempts, timers, steps and discards are. */
export const roots: Effect.Effect<number> = Effect.map(Fiber.roots, (fibers) => fibers.length)

/** Whether a fiber has ended, and how, without waiting for it. */
export const poll = <A, E>(fiber: Fiber.RuntimeFiber<A, E>) => Effect.sync(() => fiber.unsafePoll())
