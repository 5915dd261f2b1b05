import { type Config, ConfigError, Context, Duration, Effect, Layer, Schedule } from "effect"
import { dual } from "effect/Function"
import { pipeArguments } from "effect/Pipeable"
import type {
  AdaptiveOptions,
  DeadlineError,
  HedgePolicy,
  Options,
  Service,
  TagClass
} from "../HedgePolicy.js"
import type { Key } from "../LatencyEstimator.js"
import type { Learning } from "./adaptive.js"
import { adaptive, type Upstreams } from "./adaptivePolicy.js"
import { Unbound } from "./adaptiveSchedule.js"
import {
  aName,
  checkDuration,
  checkFields,
  checkInteger,
  checkPositiveDuration,
  isFunction,
  isName,
  refuse,
  type Shape
} from "./check.js"
import { HedgePolicyError } from "./errors.js"
import { type Path, pathOf } from "./estimator.js"
import { type Losers, losersScoped } from "./losers.js"
import { learningOf, provideSchedule } from "./schedule.js"
import { isHedgeThrottle } from "./throttle.js"

export const TypeId = "~effect-hedge/HedgePolicy" as const

type In = Duration.DurationInput
type AnyOptions = Options<never, never, unknown, In | undefined, In | undefined>
type AnyPolicy = HedgePolicy<never, never, unknown, unknown>

/** The options that `modify` may replace: all that change no type parameter. */
export type Changes<A, E> = Partial<
  Pick<
    Options<A, E>,
    | "maxAttempts"
    | "throttle"
    | "classify"
    | "onDiscard"
    | "minTimeLeft"
    | "maxPushback"
    | "awaitLosers"
    | "loserGrace"
    | "gates"
    | "target"
    | "name"
  >
>

/** A policy as the engine reads it: durations in milliseconds, and who owns its losers. */
export interface EnginePolicy extends AnyPolicy {
  readonly deadlineMillis: number
  readonly attemptTimeoutMillis: number
  readonly minTimeLeftMillis: number
  readonly maxPushbackMillis: number
  /** The losers that a layer owns; without a layer they are daemons. */
  readonly losers: Losers | undefined
  /** What the schedule learns by, if it does. */
  readonly learning: Learning | undefined
  /** What its calls are told apart by. */
  readonly key: Path | undefined
  /** The throttles of a policy that has one for each upstream, the first part of a key. */
  readonly upstreams: Upstreams | undefined
}

export const isHedgePolicy = (u: unknown): u is AnyPolicy =>
  typeof u === "object" && u !== null && TypeId in u

const proto = {
  [TypeId]: {
    _A: (_: never) => {},
    _E: (_: never) => {},
    _EX: (): unknown => undefined,
    _R: (): unknown => undefined
  },
  pipe() {
    // biome-ignore lint/complexity/noArguments: pipeArguments takes them as they are
    return pipeArguments(this, arguments)
  }
}

const toMillis = (duration: Duration.Duration | undefined): number =>
  duration === undefined ? Infinity : Duration.toMillis(duration)

type Data = Omit<
  EnginePolicy,
  | typeof TypeId
  | "pipe"
  | "deadlineMillis"
  | "attemptTimeoutMillis"
  | "minTimeLeftMillis"
  | "maxPushbackMillis"
>

const fromData = (data: Data): EnginePolicy =>
  Object.assign(Object.create(proto), data, {
    deadlineMillis: toMillis(data.deadline),
    attemptTimeoutMillis: toMillis(data.attemptTimeout),
    minTimeLeftMillis: toMillis(data.minTimeLeft),
    maxPushbackMillis: toMillis(data.maxPushback)
  })

/** What each option may be, apart from the durations and numbers that are checked where they are read. */
const shapes: { readonly [K in keyof Required<AnyOptions>]: Shape } = {
  schedule: [Schedule.isSchedule, 'a Schedule, such as HedgeSchedule.fixed("80 millis")'],
  throttle: [isHedgeThrottle, "a HedgeThrottle"],
  classify: [isFunction, "a function from an Exit to a HedgeOutcome"],
  onDiscard: [isFunction, "a function from a value to an Effect"],
  gates: [(u) => Array.isArray(u) && u.every(isFunction), "an array of functions"],
  awaitLosers: [(u) => typeof u === "boolean", "true or false"],
  target: [(u) => u === "any" || u === "idle", '"any" or "idle"'],
  name: [isName, aName],
  maxAttempts: undefined,
  deadline: undefined,
  attemptTimeout: undefined,
  minTimeLeft: undefined,
  maxPushback: undefined,
  loserGrace: undefined
}

const optional = <A, B>(value: A | undefined, f: (value: A) => B): B | undefined =>
  value === undefined ? undefined : f(value)

const check = (options: AnyOptions, eligible: boolean): EnginePolicy => {
  checkFields("options", options, shapes)
  if (options.schedule === undefined) refuse("schedule", undefined, shapes.schedule![1])
  const deadline = optional(options.deadline, (input) => checkPositiveDuration("deadline", input))
  const minTimeLeft = checkDuration("minTimeLeft", options.minTimeLeft ?? 0)
  if (options.minTimeLeft !== undefined && deadline === undefined) {
    refuse("minTimeLeft", options.minTimeLeft, "no value, unless there is a deadline")
  }
  if (toMillis(minTimeLeft) >= toMillis(deadline) && deadline !== undefined) {
    refuse("minTimeLeft", options.minTimeLeft, "a duration shorter than the deadline")
  }
  return fromData({
    name: options.name ?? "inline",
    schedule: options.schedule,
    maxAttempts: checkInteger("maxAttempts", options.maxAttempts ?? 2, 2),
    deadline,
    attemptTimeout: optional(options.attemptTimeout, (input) =>
      checkPositiveDuration("attemptTimeout", input)
    ),
    minTimeLeft,
    maxPushback: checkDuration("maxPushback", options.maxPushback ?? "1 second"),
    throttle: options.throttle,
    classify: options.classify,
    onDiscard: options.onDiscard,
    gates: options.gates ?? [],
    awaitLosers: options.awaitLosers ?? false,
    loserGrace: checkDuration("loserGrace", options.loserGrace ?? "10 seconds"),
    target: options.target ?? "any",
    eligible,
    losers: undefined,
    learning: learningOf(options.schedule),
    key: undefined,
    upstreams: undefined
  })
}

export const make = <A, E, R, D extends In | undefined, T extends In | undefined>(
  options: Options<A, E, R, D, T>
): HedgePolicy<A, E, DeadlineError<D | T>, R> => check(options, true) as never

/** A policy given as such or as options: what every combinator accepts. */
export const fromInput = (input: AnyOptions | AnyPolicy): EnginePolicy =>
  isHedgePolicy(input) ? (input as EnginePolicy) : check(input, true)

const changed = (self: EnginePolicy, changes: Partial<Data>): EnginePolicy =>
  fromData({ ...self, ...changes })

const defined = (record: object): object =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))

export const modify: {
  <A, E>(changes: Changes<A, E>): <EX, R>(self: HedgePolicy<A, E, EX, R>) => HedgePolicy<A, E, EX, R>
  <A, E, EX, R>(self: HedgePolicy<A, E, EX, R>, changes: Changes<A, E>): HedgePolicy<A, E, EX, R>
} = dual(2, (self: EnginePolicy, changes: Changes<never, never>): EnginePolicy => {
  const {
    name,
    schedule,
    maxAttempts,
    deadline,
    attemptTimeout,
    maxPushback,
    gates,
    target,
    awaitLosers,
    loserGrace
  } = self
  const options = defined({
    ...{ name, schedule, maxAttempts, deadline, attemptTimeout, maxPushback, gates, target, awaitLosers },
    loserGrace,
    ...{ throttle: self.throttle, classify: self.classify, onDiscard: self.onDiscard },
    minTimeLeft: self.minTimeLeftMillis > 0 ? self.minTimeLeft : undefined,
    ...changes
  }) as AnyOptions
  const { key, learning, losers } = self
  const upstreams = changes.throttle === undefined ? self.upstreams : undefined
  return changed(check(options, self.eligible), { key, learning, losers, upstreams })
})

export const ineligible = <A, E, EX, R>(self: HedgePolicy<A, E, EX, R>): HedgePolicy<A, E, EX, R> =>
  changed(self as unknown as EnginePolicy, { eligible: false }) as never

export const keyed: {
  (key: Key): <A, E, EX, R>(self: HedgePolicy<A, E, EX, R>) => HedgePolicy<A, E, EX, R>
  <A, E, EX, R>(self: HedgePolicy<A, E, EX, R>, key: Key): HedgePolicy<A, E, EX, R>
} = dual(2, (self: EnginePolicy, key: Key): EnginePolicy => {
  const path = pathOf(key)
  const upstream = typeof key === "string" ? key : key[0]
  const throttle = upstream === undefined ? self.throttle : (self.upstreams?.(upstream) ?? self.throttle)
  return changed(self, { key: path, throttle })
})

/** The policy with what it needs taken from a context, so that a tag can hold it. */
const closeOver = (self: EnginePolicy, context: Context.Context<unknown>, losers: Losers): EnginePolicy => {
  const { onDiscard } = self
  return changed(self, {
    schedule: provideSchedule(self.schedule, context),
    onDiscard:
      onDiscard === undefined
        ? undefined
        : (value) =>
            Effect.mapInputContext(onDiscard(value), (own: Context.Context<never>) =>
              Context.merge(context, own)
            ),
    // a policy from another layer goes on to learn there
    learning: self.learning instanceof Unbound ? self.learning.bind(self.maxAttempts) : self.learning,
    losers
  })
}

const layerOf = <Self, Id extends string>(
  tag: TagClass<Self, Id>,
  input:
    | Options<unknown, unknown, unknown, In | undefined, In | undefined>
    | HedgePolicy<unknown, unknown, unknown, unknown>,
  upstreams?: Upstreams
): Layer.Layer<Self, never, unknown> => {
  const given = fromInput(input as never)
  const policy = upstreams === undefined ? given : changed(given, { upstreams })
  const named = policy.name === "inline" ? changed(policy, { name: tag.key }) : policy
  return Layer.scoped(
    tag,
    Effect.gen(function* () {
      const context = yield* Effect.context<unknown>()
      const losers = yield* losersScoped(named.name, named.loserGrace)
      return closeOver(named, context, losers) as unknown as Service
    })
  )
}

/** Checked at once; the state is the layer's, so it is made when that is built. */
const adaptiveLayer = <Self, Id extends string>(
  tag: TagClass<Self, Id>,
  options: AdaptiveOptions
): Layer.Layer<Self> => {
  check(adaptive(options).options as AnyOptions, true)
  return Layer.unwrapEffect(
    Effect.sync(() => {
      const made = adaptive(options)
      return layerOf(tag, made.options, made.upstreams) as Layer.Layer<Self>
    })
  )
}

type AnyServiceOptions = Options<unknown, unknown, never, In | undefined, In | undefined>

const checkedLayer = <Self, Id extends string>(tag: TagClass<Self, Id>, options: AnyServiceOptions) =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(layerOf(tag, options))
    } catch (error) {
      return error instanceof HedgePolicyError ? Effect.fail(toConfigError(error)) : Effect.die(error)
    }
  })

const toConfigError = (error: HedgePolicyError): ConfigError.ConfigError =>
  ConfigError.InvalidData([error.field], error.message)

export const Tag = <const Id extends string>(id: Id): (<Self>() => TagClass<Self, Id>) => {
  if (!isName(id)) refuse("id", id, aName)
  return <Self>(): TagClass<Self, Id> => {
    const tag = Context.Tag(id)<Self, Service>()
    return Object.assign(tag, {
      layer: (input: never) => layerOf(tag as TagClass<Self, Id>, input),
      layerConfig: (config: Config.Config<AnyServiceOptions>) =>
        Layer.unwrapEffect(
          Effect.flatMap(config, (options) => checkedLayer(tag as TagClass<Self, Id>, options))
        ),
      layerAdaptive: (options: AdaptiveOptions) => adaptiveLayer(tag as TagClass<Self, Id>, options)
    }) as never
  }
}
