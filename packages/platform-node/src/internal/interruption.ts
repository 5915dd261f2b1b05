import { type Cause, Effect, RuntimeFlags, RuntimeFlagsPatch } from "effect"

const uninterruptibly = Effect.withRuntimeFlagsPatch(RuntimeFlagsPatch.disable(RuntimeFlags.Interruption))
const interruptibly = Effect.withRuntimeFlagsPatch(RuntimeFlagsPatch.enable(RuntimeFlags.Interruption))

/**
 * Waits as interruptibly as the calling fiber is, then runs a handler that cannot be interrupted: one of the two always runs. A third of the cost of the
 * canceler of `Effect.async`.
 */
export const guarded = <A, E, B, E2>(
  wait: Effect.Effect<A, E>,
  flags: RuntimeFlags.RuntimeFlags,
  onSuccess: (a: A) => Effect.Effect<B, E2>,
  onFailure: (cause: Cause.Cause<E>) => Effect.Effect<B, E2>
): Effect.Effect<B, E2> => {
  const handlers = new Handlers(onSuccess, onFailure)
  return RuntimeFlags.interruption(flags)
    ? uninterruptibly(Effect.matchCauseEffect(interruptibly(wait), handlers))
    : Effect.matchCauseEffect(wait, handlers)
}

/** No literal: see `listOf`. */
class Handlers<A, E, B> {
  constructor(
    readonly onSuccess: (a: A) => B,
    readonly onFailure: (cause: Cause.Cause<E>) => B
  ) {}
}
