import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { Call } from "./call.js"

type Answer = Effect.Effect<unknown, unknown>

/** The caller of a settled call takes its result; it cannot be interrupted here. */
export const take = (call: Call): Answer =>
  call.policy.awaitLosers ? Effect.flatMap(unwound(call), () => handOver(call)) : handOver(call)

/** The caller was interrupted before it took a result: it waits until everything has ended, as Effect does (R6). */
export const abandon = (call: Call, cause: Cause.Cause<unknown>): Effect.Effect<never, unknown> => {
  call.abandon()
  return Effect.zipRight(unwound(call), Effect.failCause(cause))
}

/** A caller whose interruption was asked for as the call settled takes nothing: its value would be lost. */
const handOver = (call: Call): Answer =>
  call.host.interruptible && call.host.isInterrupted ? abandon(call, Cause.empty) : inherit(call)

/** The result, with what its attempt leaves in the caller: its scope, which is kept whatever comes after, and its FiberRefs (R7, R8). */
const inherit = (call: Call): Answer => {
  const { result, task, winner } = call
  const adopted = result!._tag === "Success" ? task.adopt?.(winner!) : undefined
  return adopted === undefined
    ? withRefs(call)
    : Effect.zipRight(
        adopted,
        Effect.suspend(() => withRefs(call))
      )
}

const withRefs = ({ host, result, winner }: Call): Answer => {
  // a primary that timed out has a result, which is not its fiber's
  const isItsOwn = winner?.ended === true && winner.interrupted === undefined
  const fiber = isItsOwn ? winner.fiber : undefined
  const refs = fiber === undefined ? undefined : host.writtenRefs(fiber)
  return refs === undefined ? result! : Effect.zipRight(Effect.inheritFiberRefs(refs), result!)
}

const unwound = (call: Call): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    if (call.isUnwound) resume(Effect.void)
    else call.onUnwound = () => resume(Effect.void)
  })
