/** How the values of options are read: from what was typed to a value, or to an error that says what is allowed. */
import { Duration, Either, Option } from "effect"
import { OptionError } from "./optionError.js"

export type Parsed<A> = Either.Either<A, OptionError>

export interface Bounds {
  readonly holds: (n: number) => boolean
  readonly allowed: string
}

export const between = (min: number, max: number): Bounds => ({
  holds: (n) => n >= min && n <= max,
  allowed: `must be a number from ${count(min)} to ${count(max)}`
})

export const above = (min: number, max: number): Bounds => ({
  holds: (n) => n > min && n <= max,
  allowed: `must be a number above ${count(min)} and at most ${count(max)}`
})

const whole = (min: number, max: number): Bounds => ({
  holds: (n) => Number.isInteger(n) && n >= min && n <= max,
  allowed: `must be a whole number from ${count(min)} to ${count(max)}`
})

const decimal = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i

const readNumber =
  ({ holds }: Bounds) =>
  (text: string): number | undefined => {
    const n = decimal.test(text) ? Number(text) : Number.NaN
    return holds(n) ? n : undefined
  }

export const number = (
  option: string,
  typed: Option.Option<string>,
  otherwise: number,
  bounds: Bounds
): Parsed<number> => parse(option, typed, otherwise, bounds.allowed, readNumber(bounds))

export const wholeNumber = (
  option: string,
  typed: Option.Option<string>,
  otherwise: number,
  min: number,
  max: number
): Parsed<number> => number(option, typed, otherwise, whole(min, max))

/** Of an option that may be given several times. */
export const numbers = (
  option: string,
  typed: ReadonlyArray<string>,
  bounds: Bounds
): Parsed<ReadonlyArray<number>> => all(option, typed, bounds.allowed, readNumber(bounds))

/** Of an option that may be given several times. */
export const wholeNumbers = (
  option: string,
  typed: ReadonlyArray<string>,
  min: number,
  max: number
): Parsed<ReadonlyArray<number>> => numbers(option, typed, whole(min, max))

const units: Readonly<Record<string, Duration.Unit>> = {
  "": "millis",
  ms: "millis",
  s: "seconds",
  m: "minutes",
  min: "minutes"
}

const maxDurationMs = 3_600_000

export const duration = (
  option: string,
  typed: Option.Option<string>,
  otherwise: number,
  min: number
): Parsed<number> =>
  parse(
    option,
    typed,
    otherwise,
    `must be a duration from ${min} ms to 1 hour, such as 80, 80ms or "80 millis"`,
    (text) => {
      const [, amount, unit = ""] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/.exec(text) ?? []
      if (amount === undefined) return undefined
      const decoded = Duration.decodeUnknown(`${amount} ${units[unit] ?? unit}`)
      return decoded.pipe(
        Option.map(Duration.toMillis),
        Option.filter((ms) => ms >= min && ms <= maxDurationMs),
        Option.getOrUndefined
      )
    }
  )

export const parse = <A>(
  option: string,
  typed: Option.Option<string>,
  otherwise: A,
  allowed: string,
  read: (text: string) => A | undefined
): Parsed<A> =>
  Option.match(typed, {
    onNone: () => Either.right(otherwise),
    onSome: (text) => required(option, text, allowed, read)
  })

export const oneOf = <A extends string>(
  option: string,
  typed: Option.Option<string>,
  names: ReadonlyArray<A>,
  otherwise: A
): Parsed<A> =>
  parse(option, typed, otherwise, `must be one of ${names.join(", ")}`, (text) =>
    names.find((name) => name === text.toLowerCase())
  )

/** Every value of an option that may be given several times. */
export const all = <A>(
  option: string,
  typed: ReadonlyArray<string>,
  allowed: string,
  read: (text: string) => A | undefined
): Parsed<ReadonlyArray<A>> => Either.all(typed.map((text) => required(option, text, allowed, read)))

const required = <A>(
  option: string,
  text: string,
  allowed: string,
  read: (text: string) => A | undefined
): Parsed<A> => {
  const value = read(text)
  return value === undefined ? fail(option, text, allowed) : Either.right(value)
}

export const refuse = (option: string, typed: Option.Option<string>, why: string): Parsed<void> =>
  Option.match(typed, { onNone: () => Either.void, onSome: (text) => fail(option, text, why) })

export const fail = (option: string, value: string | undefined, allowed: string) =>
  Either.left(new OptionError({ option, value, allowed }))

const count = (n: number): string => n.toLocaleString("en-US")
