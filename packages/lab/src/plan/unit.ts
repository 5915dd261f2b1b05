/** Units of time, and latencies as people write them. */

/** How many milliseconds one is, as a fraction, so that whole nanoseconds stay exact. */
const fractions = {
  ns: [1, 1_000_000],
  us: [1, 1_000],
  ms: [1, 1],
  s: [1_000, 1],
  min: [60_000, 1]
} as const

export type Unit = keyof typeof fractions

export const units = Object.keys(fractions) as ReadonlyArray<Unit>

/** What units are called, in names of columns and after numbers. */
const spellings: Readonly<Record<Unit, ReadonlyArray<string>>> = {
  ns: ["ns", "nsec", "nano", "nanos", "nanosec", "nanosecond", "nanoseconds"],
  us: ["us", "µs", "μs", "usec", "micro", "micros", "microsec", "microsecond", "microseconds"],
  ms: ["ms", "msec", "msecs", "milli", "millis", "millisec", "millisecond", "milliseconds"],
  s: ["s", "sec", "secs", "second", "seconds"],
  min: ["m", "min", "mins", "minute", "minutes"]
}

const bySpelling = new Map(
  units.flatMap((unit) => spellings[unit].map((spelling) => [spelling, unit] as const))
)

/** The unit of this name, whatever its case; `m` is minutes only after a number. */
export const parse = (text: string): Unit | undefined => bySpelling.get(text.trim().toLowerCase())

/** A name as its words in lower case: `responseTimeMs` is `response`, `time`, `ms`. */
export const wordsOf = (name: string): ReadonlyArray<string> =>
  name
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z\dµμ]+/)
    .filter((word) => word !== "")

/** The unit in which a column of this name is: what its last word says, of `latency_us` for example. */
export const ofName = (name: string): Unit | undefined => {
  const words = wordsOf(name)
  const last = words[words.length - 1]
  return words.length < 2 || last === undefined || last === "m" ? undefined : parse(last)
}

const toMs = (n: number, unit: Unit): number => {
  const [times, per] = fractions[unit]
  return (n * times) / per
}

/** As people and programs write decimals: neither hexadecimal, nor with a comma, nor `Infinity`. */
const decimal = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*$/i

export const isDecimal = (text: string): boolean => decimal.test(text)

const part = /(\d+(?:\.\d+)?|\.\d+)\s*([a-zµμ]+)/giy

/**
 * Milliseconds, of a number or of text that is one, with a unit of its own or in this unit. Undefined for what is no
 * latency: no number, negative, not finite.
 */
export const milliseconds = (value: unknown, unit: Unit): number | undefined => {
  if (typeof value === "number") return value >= 0 && value < Infinity ? toMs(value, unit) : undefined
  if (typeof value !== "string") return undefined
  return isDecimal(value) ? milliseconds(Number(value), unit) : withUnits(value.trim())
}

/** `12.5ms`, `1.2 s`, and Go's `1m2.5s`. */
const withUnits = (text: string): number | undefined => {
  if (text === "") return undefined
  let sum = 0
  part.lastIndex = 0
  for (let at = 0; at < text.length; at = part.lastIndex) {
    const [, amount, spelling] = part.exec(text) ?? []
    if (amount === undefined || spelling === undefined) return undefined
    const unit = parse(spelling)
    if (unit === undefined && spelling !== "h") return undefined
    sum += unit === undefined ? toMs(Number(amount) * 60, "min") : toMs(Number(amount), unit)
  }
  return sum
}
