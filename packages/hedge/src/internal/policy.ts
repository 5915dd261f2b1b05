import * as Duration from "effect/Duration"
import { dual } from "effect/Function"
import { pipeArguments } from "effect/Pipeable"
import * as Schedule from "effect/Schedule"
import * as Struct from "effect/Struct"
import type { DeadlineError, HedgePolicy, Options } from "../HedgePolicy.js"
import type { HedgeThrottle } from "../HedgeThrottle.js"
import type { Estimators, Key } from "../LatencyEstimator.js"
import type { Learning } from "./adaptive.js"
import {
  aFunction,
  check,
  checkFields,
  duration,
  name,
  positiveDuration,
  refuse,
  type Shape,
  type Shapes,
  trueOrFalse,
  wholeNumber
} from "./check.js"
import { aKey, mostKeys, type Path, pathOf } from "./estimator.js"
import type { Losers } from "./losers.js"
import { Lru } from "./lru.js"
import { learningOf, staggerOf } from "./schedule.js"
import { aThrottle } from "./throttle.js"

export const TypeId = "~effect-hedge/HedgePolicy" as const

/** Of the tag that holds the policy of a program that needs but one. */
export const defaultKey = "effect-hedge/HedgePolicy"

type In = Duration.DurationInput
export type AnyOptions = Options<never, never, unknown, In | undefined, In | undefined>
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

/** Each upstream's throttle: one that is out takes nothing from another. Without an upstream, that of calls that have none. */
export type Upstreams = (upstream: string | undefined) => HedgeThrottle

/** A policy as the engine reads it: durations in milliseconds, and who owns its losers. */
export interface EnginePolicy extends AnyPolicy {
  readonly deadlineMillis: number
  readonly attemptTimeoutMillis: number
  readonly minTimeLeftMillis: number
  /** Whether it was said: one that is not may be learned. */
  readonly saysMinTimeLeft: boolean
  readonly maxPushbackMillis: number
  /** The losers that a layer owns; without a layer they are daemons. */
  readonly losers: Losers | undefined
  /** What the schedule learns by, if it does and is not combined with others. */
  readonly learning: Learning | undefined
  /** Where one learns that is combined: its layer's; without a layer, `LatencyEstimator.Default`. */
  readonly estimators?: Estimators | undefined
  /** Its key as an estimator knows it. */
  readonly path: Path | undefined
  /** The throttles of a policy that has one for each upstream, the first part of a key. */
  readonly upstreams: Upstreams | undefined
}

export const isHedgePolicy = (u: unknown): u is AnyPolicy =>
  typeof u === "object" && u !== null && TypeId in u

const aPolicy: Shape = [isHedgePolicy, "a policy, such as HedgePolicy.make makes"]

/** A policy, of whatever it is, as the engine reads it. */
export const checkPolicy = (self: unknown): EnginePolicy => check("policy", self, aPolicy) as EnginePolicy

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

export const shapes: Shapes<keyof AnyOptions> = {
  schedule: [Schedule.isSchedule, 'a Schedule, such as HedgeSchedule.fixed("80 millis")'],
  maxAttempts: wholeNumber(2),
  deadline: positiveDuration,
  throttle: aThrottle,
  classify: aFunction("from an Exit to a HedgeOutcome"),
  onDiscard: aFunction("from a value to an Effect"),
  attemptTimeout: positiveDuration,
  minTimeLeft: duration,
  maxPushback: duration,
  awaitLosers: trueOrFalse,
  loserGrace: duration,
  gates: [
    (u) => Array.isArray(u) && u.every((gate) => typeof gate === "function"),
    "an array of functions from a HedgeState to a reason, or undefined"
  ],
  target: [(u) => u === "any" || u === "idle", '"any" or "idle"'],
  name
}

/** `schedule`, `deadline` and `attemptTimeout` are in the type of a policy. */
const changeable = /*#__PURE__*/ Struct.omit(shapes, "schedule", "deadline", "attemptTimeout")

const optionalDuration = (input: In | undefined): Duration.Duration | undefined =>
  input === undefined ? undefined : Duration.decode(input)

/** Of options each of which may be what it is. */
const fromOptions = (options: AnyOptions): EnginePolicy => {
  const deadline = optionalDuration(options.deadline)
  const minTimeLeft = Duration.decode(options.minTimeLeft ?? 0)
  if (options.minTimeLeft !== undefined && deadline === undefined) {
    refuse("minTimeLeft", options.minTimeLeft, "no value, unless there is a deadline")
  }
  if (toMillis(minTimeLeft) >= toMillis(deadline)) {
    refuse("minTimeLeft", options.minTimeLeft, "a duration shorter than the deadline")
  }
  return fromData({
    name: options.name ?? "inline",
    schedule: options.schedule,
    maxAttempts: options.maxAttempts ?? 2,
    deadline,
    attemptTimeout: optionalDuration(options.attemptTimeout),
    minTimeLeft,
    saysMinTimeLeft: options.minTimeLeft !== undefined,
    maxPushback: Duration.decode(options.maxPushback ?? "1 second"),
    throttle: options.throttle,
    classify: options.classify,
    onDiscard: options.onDiscard,
    gates: options.gates ?? [],
    awaitLosers: options.awaitLosers ?? false,
    loserGrace: Duration.decode(options.loserGrace ?? "10 seconds"),
    target: options.target ?? "any",
    eligible: true,
    losers: undefined,
    learns: staggerOf(options.schedule) === undefined || learningOf(options.schedule) !== undefined,
    learning: learningOf(options.schedule),
    key: undefined,
    path: undefined,
    upstreams: undefined
  })
}

export const checked = (options: AnyOptions): EnginePolicy => {
  checkFields("options", options, shapes, ["schedule"])
  return fromOptions(options)
}

export const make = <A, E, R, D extends In | undefined, T extends In | undefined>(
  options: Options<A, E, R, D, T>
): HedgePolicy<A, E, DeadlineError<D | T>, R> => checked(options) as never

/** A policy given as such or as options: what every combinator accepts. */
export const fromInput = (input: AnyOptions | AnyPolicy): EnginePolicy =>
  isHedgePolicy(input) ? (input as EnginePolicy) : checked(input)

/** The same policy but for some data. */
export const changed = (self: EnginePolicy, changes: Partial<Data>): EnginePolicy =>
  fromData({ ...self, ...changes })

export const modify: {
  <A, E>(changes: Changes<A, E>): <EX, R>(self: HedgePolicy<A, E, EX, R>) => HedgePolicy<A, E, EX, R>
  <A, E, EX, R>(self: HedgePolicy<A, E, EX, R>, changes: Changes<A, E>): HedgePolicy<A, E, EX, R>
} = /*#__PURE__*/ dual(2, (self: AnyPolicy, changes: Changes<never, never>): EnginePolicy => {
  const policy = checkPolicy(self)
  checkFields("changes", changes, changeable)
  // none is what a policy says that has no deadline, and what may not be said without one
  const minTimeLeft = policy.saysMinTimeLeft ? policy.minTimeLeft : undefined
  const { eligible, estimators, key, losers, path } = policy
  const upstreams = changes.throttle === undefined ? policy.upstreams : undefined
  const options = { ...policy, minTimeLeft, ...changes } as AnyOptions
  const learning = policy.learning?.forAttempts(changes.maxAttempts ?? policy.maxAttempts)
  return changed(fromOptions(options), { eligible, estimators, key, learning, losers, path, upstreams })
})

export const ineligible = <A, E, EX, R>(self: HedgePolicy<A, E, EX, R>): HedgePolicy<A, E, EX, R> =>
  changed(checkPolicy(self), { eligible: false }) as never

/** What `keyed` has made of a policy: to make one anew for each call would cost as much as the call. */
const variants = new WeakMap<EnginePolicy, Lru<EnginePolicy>>()

const variantsOf = (policy: EnginePolicy): Lru<EnginePolicy> => {
  let known = variants.get(policy)
  if (known === undefined) {
    known = new Lru(mostKeys)
    variants.set(policy, known)
  }
  return known
}

export const keyed: {
  (key: Key): <A, E, EX, R>(self: HedgePolicy<A, E, EX, R>) => HedgePolicy<A, E, EX, R>
  <A, E, EX, R>(self: HedgePolicy<A, E, EX, R>, key: Key): HedgePolicy<A, E, EX, R>
} = /*#__PURE__*/ dual(2, (self: AnyPolicy, key: Key): EnginePolicy => {
  const policy = checkPolicy(self)
  const path = pathOf(check("key", key, aKey))
  if (!policy.learns) return policy
  const throttle =
    policy.upstreams === undefined
      ? policy.throttle
      : policy.upstreams(typeof key === "string" ? key : key[0])
  const id = path?.id ?? ""
  const known = variantsOf(policy)
  const make = () => changed(policy, { key, path, throttle })
  const variant = known.get(id, make)
  if (variant.throttle === throttle) return variant
  // the upstream's throttle was forgotten meanwhile, and made anew
  known.delete(id)
  return known.get(id, make)
})
