import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import type { HedgeAttempt } from "../HedgeAttempt.js"
import type { DefaultPolicy, Service } from "../HedgePolicy.js"
import { Call } from "./call.js"
import { aFunction, check, effect } from "./check.js"
import { abandon, take } from "./handover.js"
import { checkPolicy, defaultKey, type EnginePolicy, fromInput } from "./policy.js"
import { guardedWait, Host } from "./runtime.js"
import { Hedging } from "./surroundings.js"
import type { Task } from "./task.js"

type AnyEffect = Effect.Effect<unknown, unknown, never>
type Input = Parameters<typeof fromInput>[0]

const run = (policyOf: (context: Context.Context<never>) => EnginePolicy, task: Task): AnyEffect =>
  Effect.withFiberRuntime((caller, status) => {
    const host = new Host(caller, status.runtimeFlags)
    const call = new Call(host, policyOf(host.context), task)
    const wait = Effect.async<void>((resume) => {
      call.start(resume)
    })
    const onSuccess = () => take(call)
    if (!host.interruptible) return Effect.flatMap(wait, onSuccess)
    return guardedWait(wait, { onSuccess, onFailure: (cause) => abandon(call, cause) })
  })

/** Attempts end with their exit as a value: a failed one is no unhandled error of a fiber. */
const attemptsOf =
  (f: (attempt: HedgeAttempt) => AnyEffect): Task["attempt"] =>
  (attempt) =>
    Effect.exit(Effect.suspend(() => f(attempt)))

const same = (effect: AnyEffect): Task["attempt"] => {
  const once = Effect.exit(effect)
  return () => once
}

/** Every attempt in a scope of its own, which the winner's caller adopts. */
const scopedTask = (effect: AnyEffect): Task => {
  const scopes = new WeakMap<HedgeAttempt, Scope.CloseableScope>()
  return {
    attempt: same(effect),
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

const checkEffect = <A>(subject: A): A => check("effect", subject, effect)

const checkAttempts = <A>(subject: A): A => check("f", subject, aFunction("from an attempt to an Effect"))

/** Data first, or a function that has checked its policy before it is given what to hedge. */
const combinator = (toTask: (subject: never) => Task) => {
  const dataFirst = (subject: never, input: Input): AnyEffect => {
    const policy = fromInput(input)
    return run(() => policy, toTask(subject))
  }
  return (...args: ReadonlyArray<never>): unknown => {
    if (args.length >= 2) return dataFirst(args[0]!, args[1]!)
    const policy = fromInput(args[0]!)
    return (subject: never) => dataFirst(subject, policy as never)
  }
}

export const hedge = /*#__PURE__*/ combinator((effect: AnyEffect) => ({
  attempt: same(checkEffect(effect))
})) as never

export const hedgeWith = /*#__PURE__*/ combinator((f: (attempt: HedgeAttempt) => AnyEffect) => ({
  attempt: attemptsOf(checkAttempts(f))
})) as never

export const hedgeScoped = /*#__PURE__*/ combinator((effect: AnyEffect) =>
  scopedTask(checkEffect(effect))
) as never

const withTag =
  (tag: Context.Tag<never, Service>) =>
  (effect: AnyEffect): AnyEffect =>
    run((context) => checkPolicy(Context.unsafeGet(context, tag)), {
      attempt: same(checkEffect(effect))
    })

/** The same tag as `HedgePolicy.DefaultPolicy`, which brings its layers along, and with them all that learns. */
const defaultTag = /*#__PURE__*/ Context.GenericTag<DefaultPolicy, Service>(defaultKey)

// a second argument that is no tag is the index that a callback of `map` or `forEach` is given
export const withPolicy = ((effectOrTag: unknown, tag?: unknown) =>
  Context.isTag(effectOrTag)
    ? withTag(effectOrTag as never)
    : withTag((Context.isTag(tag) ? tag : defaultTag) as never)(effectOrTag as AnyEffect)) as never

export const withoutHedging = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.provideService(checkEffect(self), Hedging, false)
