import { Duration } from "effect"
import { HedgePolicyError } from "./errors.js"

export const refuse = (field: string, value: unknown, allowed: string): never => {
  throw new HedgePolicyError({ field, value, allowed })
}

/** What a field may be; `undefined` for one that is checked where it is read. */
export type Shape = readonly [ok: (value: unknown) => boolean, allowed: string] | undefined

export const checkObject = (what: string, value: unknown, allowed: string): void => {
  if (typeof value !== "object" || value === null) refuse(what, value, allowed)
}

/** Refuses what is no object, a field that does not exist, and a value that a field cannot have. */
export const checkFields = (what: string, value: unknown, shapes: Readonly<Record<string, Shape>>): void => {
  const names = Object.keys(shapes).join(", ")
  checkObject(what, value, `an object with the options ${names}`)
  for (const [field, part] of Object.entries(value as object)) {
    if (!Object.hasOwn(shapes, field)) refuse(field, part, `one of the options ${names}`)
    const shape = shapes[field]
    if (part === null) refuse(field, part, shape?.[1] ?? "a value, or none at all")
    if (part !== undefined && shape !== undefined && !shape[0](part)) refuse(field, part, shape[1])
  }
}

export const isFunction = (u: unknown): boolean => typeof u === "function"

export const isName = (u: unknown): boolean => typeof u === "string" && u !== ""
export const aName = "a string that is not empty"

const isNegative = (input: Duration.DurationInput): boolean => {
  if (typeof input === "number") return !(input >= 0)
  if (typeof input === "bigint") return input < 0n
  if (typeof input === "string") return input.trimStart().startsWith("-")
  return Array.isArray(input) && input.some((part) => !(part >= 0))
}

const examples = 'such as 80, "80 millis" or Duration.millis(80)'

/** `Duration.decode` turns a negative duration into zero; here it is no duration. */
export const decode = (input: Duration.DurationInput): Duration.Duration | undefined => {
  if (isNegative(input)) return undefined
  try {
    return Duration.decode(input)
  } catch {
    return undefined
  }
}

export const checkDuration = (field: string, input: Duration.DurationInput): Duration.Duration =>
  decode(input) ?? refuse(field, input, `a duration that is not negative, ${examples}`)

export const checkPositiveDuration = (field: string, input: Duration.DurationInput): Duration.Duration => {
  const duration = decode(input)
  return duration !== undefined && Duration.toMillis(duration) > 0
    ? duration
    : refuse(field, input, `a duration longer than zero, ${examples}`)
}

export const checkNumber = (
  field: string,
  value: number,
  ok: (value: number) => boolean,
  allowed: string
): number => (typeof value === "number" && ok(value) ? value : refuse(field, value, allowed))

export const checkInteger = (field: string, value: number, least: number, most?: number): number =>
  checkNumber(
    field,
    value,
    (n) => Number.isSafeInteger(n) && n >= least && (most === undefined || n <= most),
    most === undefined ? `a whole number, at least ${least}` : `a whole number from ${least} to ${most}`
  )
