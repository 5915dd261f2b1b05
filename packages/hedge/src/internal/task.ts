import type { Cause } from "effect"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Attempt } from "./attempt.js"
import type { AnyFiberless } from "./fiberless.js"
import type { EnginePolicy } from "./policy.js"

export type AnyExit = Exit.Exit<unknown, unknown>

/** What `Effect.exit` makes anew each time. */
const exits = {
  onSuccess: (value: unknown) => Effect.succeed(Exit.succeed(value)),
  onFailure: (cause: Cause.Cause<unknown>) => Effect.succeed(Exit.failCause(cause))
}

/** An attempt that ends with its exit as a value: a failed one is no unhandled error of a fiber. */
export const asValue: (effect: Effect.Effect<unknown, unknown>) => Effect.Effect<AnyExit> =
  /*#__PURE__*/ Effect.matchCauseEffect(exits)

/** What an attempt runs. */
export type Work = Effect.Effect<AnyExit> | AnyFiberless

/** What a call runs: an effect per attempt, and who releases or adopts what its exit holds. */
export interface Task {
  readonly attempt: (attempt: Attempt) => Work
  /** What the attempt finds in its context besides. */
  readonly context?: (attempt: Attempt, context: Context.Context<never>) => Context.Context<never>
  /** The attempt has ended, and its exit will not be the result. */
  readonly release?: (attempt: Attempt, exit: AnyExit) => Effect.Effect<void>
  /** The attempt's exit is the result, and the caller takes it. */
  readonly adopt?: (attempt: Attempt) => Effect.Effect<void>
}

/** Attempts that hold nothing but their exits. */
export class PlainTask implements Task {
  constructor(readonly attempt: Task["attempt"]) {}
}

/** Every attempt in a scope of its own, which the winner's caller adopts. */
export const scopedTask = (attempt: Task["attempt"]): Task => {
  const scopes = new WeakMap<Attempt, Scope.CloseableScope>()
  return {
    attempt,
    context: (attempt, context) => {
      const scope = Effect.runSync(Scope.make())
      scopes.set(attempt, scope)
      return Context.add(context, Scope.Scope, scope)
    },
    release: (attempt, exit) => Scope.close(scopes.get(attempt)!, exit),
    adopt: (attempt) =>
      Effect.flatMap(Effect.scope, (outer) =>
        Scope.addFinalizerExit(outer, (exit) => Scope.close(scopes.get(attempt)!, exit))
      ) as Effect.Effect<void>
  }
}

/** What is to be done about an exit that cannot be the result, if anything is: its value is discarded, then its scope released (R8). */
export const disposalOf = (
  { onDiscard }: EnginePolicy,
  { release }: Task,
  attempt: Attempt,
  exit: AnyExit
): Effect.Effect<void> | undefined => {
  const releasing = release?.(attempt, exit)
  if (onDiscard === undefined || exit._tag === "Failure") return releasing
  const discarding = Effect.suspend(() => onDiscard(exit.value as never) as Effect.Effect<void>)
  return releasing === undefined ? discarding : Effect.ensuring(discarding, releasing)
}
