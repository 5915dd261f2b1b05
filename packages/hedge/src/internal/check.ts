import * as ConfigError from "effect/ConfigError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import { HedgePolicyError } from "./errors.js"

export const refuse = (field: string, value: unknown, allowed: string): never => {
  throw new HedgePolicyError({ field, value, allowed })
}

/** What a value may be, and how that is said. */
export type Shape = readonly [ok: (value: unknown) => boolean, allowed: string]

/** What each field of an object may be. */
export type Shapes<Field extends string = string> = { readonly [F in Field]: Shape }

/** The value, if it is what is allowed. */
export const check = <A>(field: string, value: A, [ok, allowed]: Shape): A =>
  ok(value) ? value : refuse(field, value, allowed)

/**
 * Refuses what is no object, a field that does not exist or is missing, and a value that a field cannot have. `prefix` leads to the object, where
 * that is not all that is given.
 */
export const checkFields = (
  what: string,
  value: unknown,
  shapes: Shapes,
  required: ReadonlyArray<string> = [],
  prefix = ""
): void => {
  if (!Predicate.isRecord(value) || Predicate.isIterable(value))
    return refuse(what, value, `an object with the options ${Object.keys(shapes).join(", ")}`)
  for (const field of Object.keys(value)) {
    const part = value[field]
    const shape = Object.hasOwn(shapes, field) ? shapes[field] : undefined
    if (shape === undefined)
      refuse(prefix + field, part, `one of the options ${Object.keys(shapes).join(", ")}`)
    else if (part !== undefined) check(prefix + field, part, shape)
  }
  for (const field of required) {
    if (value[field] === undefined || !Object.hasOwn(value, field))
      refuse(prefix + field, undefined, shapes[field]![1])
  }
}

/** What a constructor makes, or why it refuses to. */
export const refusable = <A>(make: () => A): Either.Either<A, HedgePolicyError> =>
  Either.try({
    try: make,
    catch: (error) => {
      if (error instanceof HedgePolicyError) return error
      throw error
    }
  })

/** The same for what is read from `Config`; `path` leads to the field that is refused. */
export const refusableConfig = <A>(
  make: () => A,
  path: (field: string) => Array<string>
): Either.Either<A, ConfigError.ConfigError> =>
  Either.mapLeft(refusable(make), (error) => ConfigError.InvalidData(path(error.field), error.message))

// --- shapes ------------------------------------------------------------------------------------------------------------

export const aFunction = (of: string): Shape => [Predicate.isFunction, `a function ${of}`]

export const isName = (u: unknown): boolean => typeof u === "string" && u !== ""
export const aName = "a string that is not empty"

export const name: Shape = [isName, aName]

export const trueOrFalse: Shape = [Predicate.isBoolean, "true or false"]

export const effect: Shape = [Effect.isEffect, "an Effect"]

/** A number for which something holds; NaN is none. */
export const number = (ok: (n: number) => boolean, allowed: string): Shape => [
  (u) => typeof u === "number" && ok(u),
  allowed
]

export const wholeNumber = (least: number, most = Number.MAX_SAFE_INTEGER): Shape =>
  number(
    (n) => Number.isSafeInteger(n) && n >= least && n <= most,
    most === Number.MAX_SAFE_INTEGER
      ? `a whole number, at least ${least}`
      : `a whole number from ${least} to ${most}`
  )

/** By the `Clock`, or as a simulation counts. */
export const time = /*#__PURE__*/ number(Number.isFinite, "a time in milliseconds")

const isNegative = (input: Duration.DurationInput): boolean => {
  if (typeof input === "number") return !(input >= 0)
  if (typeof input === "bigint") return input < 0n
  if (typeof input === "string") return input.trimStart().startsWith("-")
  return Array.isArray(input) && input.some((part) => !(part >= 0))
}

/** `Duration.decode` turns a negative duration into zero; here it is no duration. */
export const decode = (input: Duration.DurationInput): Duration.Duration | undefined => {
  if (isNegative(input)) return undefined
  try {
    return Duration.decode(input)
  } catch {
    return undefined
  }
}

const examples = 'such as 80, "80 millis" or Duration.millis(80)'

export const duration: Shape = [
  (u) => (typeof u === "number" ? u >= 0 : decode(u as Duration.DurationInput) !== undefined),
  `a duration that is not negative, ${examples}`
]

export const positiveDuration: Shape = [
  (u) => Duration.toMillis(decode(u as Duration.DurationInput) ?? 0) > 0,
  `a duration longer than zero, ${examples}`
]

export const checkDuration = (field: string, input: Duration.DurationInput): Duration.Duration =>
  Duration.decode(check(field, input, duration))
