/** Phases of a look at an upstream: each has its name, and a part of the time that there is. */
import type { EventEmitter } from "node:events"
import { Data, Effect } from "effect"
import { now } from "../clock.js"
import type { Phase } from "./findings.js"

/** A phase that came to no good end. */
export class PhaseError extends Data.TaggedError("PhaseError")<{
  readonly phase: Phase
  readonly problem: string
}> {}

/** How long there is left until a moment of the clock. */
export const left = (deadline: number): number => Math.max(0, deadline - now())

/** Runs a phase until the deadline, and says how long it took. */
export const timed = <A, R>(
  phase: Phase,
  deadline: number,
  effect: Effect.Effect<A, Error, R>
): Effect.Effect<readonly [ms: number, value: A], PhaseError, R> =>
  Effect.suspend(() => {
    const startedAt = now()
    return effect.pipe(
      Effect.mapError((error) => new PhaseError({ phase, problem: codeOf(error) })),
      Effect.timeoutFail({
        duration: left(deadline),
        onTimeout: () => new PhaseError({ phase, problem: "no answer before the time-out" })
      }),
      Effect.map((value) => [now() - startedAt, value] as const)
    )
  })

/** The system's name of an error says more to those who know it than its message does. */
const codeOf = (error: Error): string => (error as NodeJS.ErrnoException).code ?? error.message

/** Waits for an event, or for an error or an end before it. */
export const event = (emitter: EventEmitter, name: string): Effect.Effect<void, Error> =>
  Effect.async((resume) => {
    const onEvent = () => resume(Effect.void)
    const onError = (error: Error) => resume(Effect.fail(error))
    const onClose = () => resume(Effect.fail(new Error("the connection was closed")))
    emitter.once(name, onEvent).once("error", onError).once("close", onClose)
    return Effect.sync(() => {
      emitter.off(name, onEvent).off("error", onError).off("close", onClose)
    })
  })
