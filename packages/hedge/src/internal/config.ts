import { Config, ConfigError, Duration, Either } from "effect"
import type { HedgePolicy, Options } from "../HedgePolicy.js"
import type { HedgeThrottle } from "../HedgeThrottle.js"
import { checkPositiveDuration, refuse } from "./check.js"
import { type HedgeError, HedgePolicyError } from "./errors.js"
import { make as makePolicy } from "./policy.js"
import { fixed, onFailure } from "./schedule.js"
import { all, defaults, loadBudget, tokenBucket } from "./throttle.js"

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

const positiveDuration: Read<Duration.Duration> = (field, text) =>
  checkPositiveDuration(field, duration(field, text))

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

const nonEmpty: Read<string> = (field, text) =>
  text === "" ? refuse(field, text, "a text that is not empty") : text

// --- keys ----------------------------------------------------------------------------------------------------------

/** What a constructor refuses with its error is refused with a `ConfigError`. */
const checked = <A>(
  f: () => A,
  pathOf: (field: string) => Array<string>
): Either.Either<A, ConfigError.ConfigError> =>
  Either.try({
    try: f,
    catch: (error) => {
      if (error instanceof HedgePolicyError)
        return ConfigError.InvalidData(pathOf(error.field), error.message)
      throw error
    }
  })

/**
 * A key that is read by a primitive of its own, whose errors give the path as the provider spells it. `accept` throws for a value that a
 * constructor would not take.
 */
const key = <A>(name: string, read: Read<A>, accept: (value: A) => unknown = () => {}): Config.Config<A> =>
  Config.nested(
    Config.primitive(name, (text) =>
      checked(
        () => {
          const value = read(name, text.trim())
          accept(value)
          return value
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
  name: optional(key("name", nonEmpty)),
  maxAttempts: optional(
    key("maxAttempts", number, (maxAttempts) => makePolicy({ schedule: onFailure, maxAttempts }))
  ),
  deadline: optional(key("deadline", positiveDuration)),
  attemptTimeout: optional(key("attemptTimeout", positiveDuration)),
  minTimeLeft: optional(key("minTimeLeft", duration)),
  maxPushback: optional(key("maxPushback", duration)),
  awaitLosers: optional(key("awaitLosers", boolean)),
  loserGrace: optional(key("loserGrace", duration))
})

// what makeDefault() is made of

const throttleKeys = Config.all({
  extraLoad: optional(key("extraLoad", number, (extraLoad) => loadBudget({ extraLoad }))),
  burst: optional(key("burst", number, (burst) => loadBudget({ ...defaults, burst }))),
  maxTokens: optional(key("maxTokens", number, (maxTokens) => tokenBucket({ ...defaults, maxTokens }))),
  tokenRatio: optional(key("tokenRatio", number, (tokenRatio) => tokenBucket({ ...defaults, tokenRatio })))
})

// --- options -------------------------------------------------------------------------------------------------------

type Given<A> = { readonly [K in keyof A]?: Exclude<A[K], undefined> }

const given = <A extends object>(record: A): Given<A> =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as Given<A>

const throttleOf = (settings: Partial<typeof defaults>): { readonly throttle?: HedgeThrottle } => {
  if (Object.keys(settings).length === 0) return {}
  const { extraLoad, burst, maxTokens, tokenRatio } = { ...defaults, ...settings }
  return { throttle: all(loadBudget({ extraLoad, burst }), tokenBucket({ maxTokens, tokenRatio })) }
}

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
    checked(
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
  name === undefined ? anyOptions : Config.nested(anyOptions, name)

export const policy = (name?: string): Config.Config<HedgePolicy<unknown, unknown, HedgeError>> =>
  Config.map(options(name), (options) => makePolicy(options))
