import type { Either } from "effect"
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Duration from "effect/Duration"
import type { AdaptiveOptions, HedgePolicy, Options } from "../HedgePolicy.js"
import type { HedgeSchedule, QuantileOptions } from "../HedgeSchedule.js"
import type { HedgeThrottle, Settings } from "../HedgeThrottle.js"
import { checkAdaptive } from "./adaptivePolicy.js"
import { budgetedShapes, quantile, quantileShapes } from "./adaptiveSchedule.js"
import { check, refusableConfig, refuse, type Shape } from "./check.js"
import type { HedgeError } from "./errors.js"
import { share } from "./estimator.js"
import { make as makePolicy, shapes } from "./policy.js"
import { fixed, onFailure } from "./schedule.js"
import { makeDefault, settingShapes } from "./throttle.js"

type In = Duration.DurationInput
type ConfigOptions = Options<unknown, unknown, never, In | undefined, In | undefined>

// --- texts ---------------------------------------------------------------------------------------------------------

type Read<A> = (field: string, text: string) => A

/** `Config.duration` takes a negative duration for zero; here it is refused. */
const duration: Read<Duration.Duration> = (field, text) => {
  if (text === "Infinity") return Duration.infinity
  const decoded = Duration.decodeUnknown(text)
  return decoded._tag === "None" || text.startsWith("-")
    ? refuse(field, text, 'a duration with its unit, such as "80 millis" or "2 seconds", or "Infinity"')
    : decoded.value
}

/** `Number` would take an empty text for zero. */
const number: Read<number> = (field, text) =>
  text === "" || Number.isNaN(Number(text)) ? refuse(field, text, "a number") : Number(text)

const booleans: Readonly<Record<string, boolean>> = {
  ...{ true: true, yes: true, on: true, 1: true },
  ...{ false: false, no: false, off: false, 0: false }
}

const boolean: Read<boolean> = (field, text) =>
  Object.hasOwn(booleans, text)
    ? booleans[text]!
    : refuse(field, text, "true, yes, on or 1, or false, no, off or 0")

const text: Read<string> = (_, text) => text

// --- keys ----------------------------------------------------------------------------------------------------------

/** A key that is read by a primitive of its own, whose errors give the path as the provider spells it. */
const key = <A>(name: string, read: Read<A>, shape?: Shape): Config.Config<A> =>
  Config.nested(
    Config.primitive(name, (text) =>
      refusableConfig(
        () => {
          const value = read(name, text.trim())
          return shape === undefined ? value : check(name, value, shape)
        },
        () => []
      )
    ),
    name
  )

const optional = <A>(config: Config.Config<A>): Config.Config<A | undefined> =>
  Config.orElseIf(config, {
    if: ConfigError.isMissingDataOnly,
    orElse: () => Config.succeed(undefined)
  })

const optionalKey = <A>(name: string, read: Read<A>, shape?: Shape): Config.Config<A | undefined> =>
  optional(key(name, read, shape))

const policyKeys = Config.all({
  name: optionalKey("name", text, shapes.name),
  maxAttempts: optionalKey("maxAttempts", number, shapes.maxAttempts),
  deadline: optionalKey("deadline", duration, shapes.deadline),
  attemptTimeout: optionalKey("attemptTimeout", duration, shapes.attemptTimeout),
  minTimeLeft: optionalKey("minTimeLeft", duration),
  maxPushback: optionalKey("maxPushback", duration),
  target: optionalKey("target", text as Read<"any" | "idle">, shapes.target),
  awaitLosers: optionalKey("awaitLosers", boolean),
  loserGrace: optionalKey("loserGrace", duration)
})

const throttleKeys = Config.all({
  extraLoad: optionalKey("extraLoad", number, settingShapes.extraLoad),
  burst: optionalKey("burst", number, settingShapes.burst),
  maxTokens: optionalKey("maxTokens", number, settingShapes.maxTokens),
  tokenRatio: optionalKey("tokenRatio", number, settingShapes.tokenRatio)
})

const learningKeys = {
  warmUp: optionalKey("warmUp", number, quantileShapes.warmUp),
  meanwhile: optionalKey("meanwhile", duration),
  holdout: optionalKey("holdout", number, quantileShapes.holdout)
}

const quantileKeys = Config.all({
  ...learningKeys,
  min: optionalKey("min", duration),
  max: optionalKey("max", duration)
})

const budgetedKeys = Config.all({
  ...learningKeys,
  extraLoad: key("extraLoad", number, budgetedShapes.extraLoad),
  objective: optionalKey("objective", number, budgetedShapes.objective),
  within: optionalKey("within", duration, budgetedShapes.within)
})

const enabledKey = Config.withDefault(key("enabled", boolean), true)

const delayKey = key("delay", duration)
const quantileKey = key("quantile", number, share)

/** A delay, or a quantile that it is: one of them must be there. */
const delayOrQuantile = Config.orElseIf(Config.all({ delay: delayKey, q: optional(quantileKey) }), {
  if: ConfigError.isMissingDataOnly,
  orElse: () => Config.all({ delay: Config.succeed(undefined), q: quantileKey })
})

// --- options -------------------------------------------------------------------------------------------------------

type Given<A> = { readonly [K in keyof A]?: Exclude<A[K], undefined> }

const given = <A extends object>(record: A): Given<A> =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as Given<A>

const scheduleOf = (
  q: number | undefined,
  delay: Duration.Duration | undefined,
  settings: QuantileOptions
): HedgeSchedule => {
  if (q === undefined) {
    for (const [field, value] of Object.entries(settings))
      refuse(field, value, "no value, unless there is a quantile")
    return fixed(delay!)
  }
  if (delay !== undefined) refuse("delay", delay, "no value beside a quantile")
  return quantile(q, settings)
}

const throttleOf = (settings: Settings): { readonly throttle?: HedgeThrottle } =>
  Object.keys(settings).length === 0 ? {} : { throttle: makeDefault(settings) }

const disabled = { gates: [() => "Disabled"] }

/** What several options say together is refused by the one that is wrong beside the others. */
const together = <A>(make: () => A): Either.Either<A, ConfigError.ConfigError> =>
  refusableConfig(make, (field) => [field])

const anyOptions: Config.Config<ConfigOptions> = Config.mapOrFail(
  Config.all([delayOrQuantile, quantileKeys, policyKeys, throttleKeys, enabledKey]),
  ([{ delay, q }, learning, settings, throttle, enabled]) =>
    together(() => {
      const schedule = scheduleOf(q, delay, given(learning))
      const options: ConfigOptions = {
        // off, nothing but a failure asks for a hedge, and that is refused
        ...(enabled ? { schedule } : { schedule: onFailure, ...disabled }),
        ...given(settings),
        ...throttleOf(given(throttle))
      }
      makePolicy(options)
      return options
    })
)

const anyAdaptive: Config.Config<AdaptiveOptions> = Config.mapOrFail(
  Config.all([budgetedKeys, policyKeys, enabledKey]),
  ([{ extraLoad, ...learning }, settings, enabled]) =>
    together(() => {
      const options: AdaptiveOptions = {
        extraLoad,
        ...given(learning),
        ...given(settings),
        ...(enabled ? {} : disabled)
      }
      checkAdaptive(options)
      return options
    })
)

const under = <A>(config: Config.Config<A>, name: string | undefined): Config.Config<A> =>
  name === undefined ? config : Config.nested(config, check("name", name, shapes.name))

export const options = (name?: string): Config.Config<ConfigOptions> => under(anyOptions, name)

export const adaptive = (name?: string): Config.Config<AdaptiveOptions> => under(anyAdaptive, name)

export const policy = (name?: string): Config.Config<HedgePolicy<unknown, unknown, HedgeError>> =>
  Config.map(options(name), (options) => makePolicy(options))
