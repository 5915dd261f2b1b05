import { Config, ConfigError, Duration } from "effect"
import type { HedgePolicy, Options } from "../HedgePolicy.js"
import type { HedgeThrottle, Settings } from "../HedgeThrottle.js"
import { check, refusableConfig, refuse, type Shape } from "./check.js"
import type { HedgeError } from "./errors.js"
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

const policyKeys = Config.all({
  name: optional(key("name", text, shapes.name)),
  maxAttempts: optional(key("maxAttempts", number, shapes.maxAttempts)),
  deadline: optional(key("deadline", duration, shapes.deadline)),
  attemptTimeout: optional(key("attemptTimeout", duration, shapes.attemptTimeout)),
  minTimeLeft: optional(key("minTimeLeft", duration)),
  maxPushback: optional(key("maxPushback", duration)),
  awaitLosers: optional(key("awaitLosers", boolean)),
  loserGrace: optional(key("loserGrace", duration))
})

const throttleKeys = Config.all({
  extraLoad: optional(key("extraLoad", number, settingShapes.extraLoad)),
  burst: optional(key("burst", number, settingShapes.burst)),
  maxTokens: optional(key("maxTokens", number, settingShapes.maxTokens)),
  tokenRatio: optional(key("tokenRatio", number, settingShapes.tokenRatio))
})

// --- options -------------------------------------------------------------------------------------------------------

type Given<A> = { readonly [K in keyof A]?: Exclude<A[K], undefined> }

const given = <A extends object>(record: A): Given<A> =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as Given<A>

const throttleOf = (settings: Settings): { readonly throttle?: HedgeThrottle } =>
  Object.keys(settings).length === 0 ? {} : { throttle: makeDefault(settings) }

/** Nothing but a failure asks for a hedge, and that is refused. */
const off = { schedule: onFailure, gates: [() => "Disabled"] }

const keys = Config.all([
  key("delay", duration),
  policyKeys,
  throttleKeys,
  Config.withDefault(key("enabled", boolean), true)
])

const anyOptions: Config.Config<ConfigOptions> = Config.mapOrFail(
  keys,
  ([delay, settings, throttle, enabled]) =>
    refusableConfig(
      () => {
        const options: ConfigOptions = {
          schedule: fixed(delay),
          ...given(settings),
          ...throttleOf(given(throttle)),
          ...(enabled ? {} : off)
        }
        // what two options say together
        makePolicy(options)
        return options
      },
      (field) => [field]
    )
)

export const options = (name?: string): Config.Config<ConfigOptions> =>
  name === undefined ? anyOptions : Config.nested(anyOptions, check("name", name, shapes.name))

export const policy = (name?: string): Config.Config<HedgePolicy<unknown, unknown, HedgeError>> =>
  Config.map(options(name), (options) => makePolicy(options))
