import { Duration } from "effect"
import { HedgePolicyError } from "./errors.js"

export const refuse = (field: string, value: unknown, allowed: string): never => {
  throw new HedgePolicyError({ field, value, allowed })
}

const isNegative = (input: Duration.DurationInput): boolean => {
  if (typeof input === "number") return !(input >= 0)
  if (typeof input === "bigint") return input < 0n
  if (typeof input === "string") return input.trimStart().startsWith("-")
  return Array.isArray(input) && input.some((part) => !(part >= 0))
}

const examples = 'such as 80, "80 millis" or Duration.millis(80)'

/** `Duration.decode` turns a negative duration into zero; here it is no duration. */
const decode = (input: Duration.DurationInput): Duration.Duration | undefined => {
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
