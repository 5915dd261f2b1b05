import type { Scope } from "effect"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/** The calls of one policy layer that have settled while attempts or discards of theirs still unwind. */
export interface Losers {
  readonly unwinding: Set<object>
  /** Set when the layer closes: no hedge is sent any more. */
  closed: boolean
  onEmpty: (() => void) | undefined
}

export const addLoser = (losers: Losers | undefined, call: { readonly isUnwound: boolean }): void => {
  if (!call.isUnwound) losers?.unwinding.add(call)
}

export const removeLoser = (losers: Losers | undefined, call: object): void => {
  if (losers === undefined || !losers.unwinding.delete(call)) return
  if (losers.unwinding.size === 0) losers.onEmpty?.()
}

const close = (losers: Losers, policy: string, grace: Duration.Duration): Effect.Effect<void> =>
  Effect.suspend(() => {
    losers.closed = true
    if (losers.unwinding.size === 0) return Effect.void
    const empty = Effect.async<void>((resume) => {
      losers.onEmpty = () => resume(Effect.void)
      if (losers.unwinding.size === 0) losers.onEmpty()
    })
    return Effect.interruptible(Effect.timeoutOption(empty, grace)).pipe(
      Effect.flatMap((ended) =>
        ended._tag === "Some"
          ? Effect.void
          : Effect.logWarning(
              `${losers.unwinding.size} calls of policy ${policy} still have attempts that unwind after ${Duration.format(grace)}`
            )
      )
    )
  })

/** Losers that the surrounding scope waits for, at most `grace`. */
export const losersScoped = (
  policy: string,
  grace: Duration.Duration
): Effect.Effect<Losers, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync((): Losers => ({ unwinding: new Set(), closed: false, onEmpty: undefined })),
    (losers) => close(losers, policy, grace)
  )
