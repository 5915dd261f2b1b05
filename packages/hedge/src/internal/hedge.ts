import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Fiberless, type HedgeAttempt } from "../HedgeAttempt.js"
import type { DefaultPolicy, Service } from "../HedgePolicy.js"
import { Call } from "./call.js"
import { aFunction, check, effect } from "./check.js"
import { abandon, take } from "./handover.js"
import { checkPolicy, defaultKey, type EnginePolicy, fromInput } from "./policy.js"
import { guardedWait, Host } from "./runtime.js"
import { type AnyStream, hedgedStream, isStream } from "./stream.js"
import { Hedging } from "./surroundings.js"
import { asValue, PlainTask, scopedTask, type Task, type Work } from "./task.js"

type AnyEffect = Effect.Effect<unknown, unknown, never>
type Input = Parameters<typeof fromInput>[0]
/** The policy of a call, given or found in its caller's context. */
type PolicyOf = (context: Context.Context<never>) => EnginePolicy

const run = (policyOf: PolicyOf, task: Task): AnyEffect =>
  Effect.withFiberRuntime((caller, status) => {
    const host = new Host(caller, status.runtimeFlags)
    const call = new Call(host, policyOf(host.context), task)
    const wait = Effect.async<void>((resume) => {
      call.start(resume)
    })
    const onSuccess = () => take(call)
    if (!host.interruptible) return Effect.flatMap(wait, onSuccess)
    return guardedWait(wait, onSuccess, (cause) => abandon(call, cause))
  })

const attemptsOf =
  (f: (attempt: HedgeAttempt) => AnyEffect): Task["attempt"] =>
  (attempt) => {
    try {
      return workOf(f(attempt))
    } catch (defect) {
      return Effect.succeed(Exit.die(defect))
    }
  }

const same = (effect: AnyEffect): Task["attempt"] => {
  const work = workOf(effect)
  return () => work
}

const workOf = (effect: AnyEffect): Work => (effect instanceof Fiberless ? effect : asValue(effect))

const checkEffect = <A>(subject: A): A => check("effect", subject, effect)

const checkStream = <A>(subject: A): A => check("stream", subject, [isStream, "a Stream"])

const toEffect = /*#__PURE__*/ aFunction("from an attempt to an Effect")
const toStream = /*#__PURE__*/ aFunction("from an attempt to a Stream")

const hedgeEffect = (policyOf: PolicyOf, effect: AnyEffect): AnyEffect =>
  run(policyOf, new PlainTask(same(checkEffect(effect))))

const hedgeStreams = (policyOf: PolicyOf, f: (attempt: HedgeAttempt) => AnyStream): AnyStream =>
  hedgedStream((task) => run(policyOf, task), f)

const hedgeOneStream = (policyOf: PolicyOf, stream: AnyStream): AnyStream => {
  checkStream(stream)
  return hedgeStreams(policyOf, () => stream)
}

/** Data first, or a function that has checked its policy before it is given what to hedge. */
const combinator = (hedged: (policyOf: PolicyOf, subject: never) => unknown) => {
  const dataFirst = (subject: never, input: Input): unknown => {
    const policy = fromInput(input)
    return hedged(() => policy, subject)
  }
  return (...args: ReadonlyArray<never>): unknown => {
    if (args.length >= 2) return dataFirst(args[0]!, args[1]!)
    const policy = fromInput(args[0]!)
    return (subject: never) => dataFirst(subject, policy as never)
  }
}

export const hedge = /*#__PURE__*/ combinator(hedgeEffect) as never

export const hedgeWith = /*#__PURE__*/ combinator((policyOf, f: (attempt: HedgeAttempt) => AnyEffect) =>
  run(policyOf, new PlainTask(attemptsOf(check("f", f, toEffect))))
) as never

export const hedgeScoped = /*#__PURE__*/ combinator((policyOf, effect: AnyEffect) =>
  run(policyOf, scopedTask(same(checkEffect(effect))))
) as never

export const hedgeStream = /*#__PURE__*/ combinator(hedgeOneStream) as never

export const hedgeStreamWith = /*#__PURE__*/ combinator((policyOf, f: (attempt: HedgeAttempt) => AnyStream) =>
  hedgeStreams(policyOf, check("f", f, toStream))
) as never

/** An effect of a class of its own, such as a `Deferred`, has the mark of a stream, too. */
const isNoEffect = (subject: AnyEffect | AnyStream): subject is AnyStream =>
  isStream(subject) && !Effect.isEffect(subject)

const withTag = (tag: Context.Tag<never, Service>) => {
  const policyOf: PolicyOf = (context) => checkPolicy(Context.unsafeGet(context, tag))
  return (subject: AnyEffect | AnyStream): AnyEffect | AnyStream =>
    isNoEffect(subject) ? hedgeOneStream(policyOf, subject) : hedgeEffect(policyOf, subject)
}

/** The same tag as `HedgePolicy.DefaultPolicy`, which brings its layers along, and with them all that learns. */
const defaultTag = /*#__PURE__*/ Context.GenericTag<DefaultPolicy, Service>(defaultKey)

// a second argument that is no tag is the index that a callback of `map` or `forEach` is given
export const withPolicy = ((subjectOrTag: unknown, tag?: unknown) =>
  Context.isTag(subjectOrTag)
    ? withTag(subjectOrTag as never)
    : withTag((Context.isTag(tag) ? tag : defaultTag) as never)(subjectOrTag as AnyEffect)) as never

export const withoutHedging = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.provideService(checkEffect(self), Hedging, false)
