/** Which column of a record is read. */
import { OptionError } from "../../optionError.js"
import type { Ask, Column } from "../format.js"
import { likeliest } from "../names.js"
import { ofName, type Unit } from "../unit.js"

/** A column of a known name: the unit is what the user says, else what its name says, else the format's. */
export const named = (ask: Ask, name: string, unit: Unit, others: ReadonlyArray<string> = []): Column => ({
  name,
  unit: ask.unit ?? ofName(name) ?? unit,
  others
})

/** A column of which only its name is known: without a unit there, milliseconds. */
export const guessed = (ask: Ask, name: string, others: ReadonlyArray<string> = []): Column => {
  const unit = ask.unit ?? ofName(name)
  return { name, unit: unit ?? "ms", isAssumed: unit === undefined, others }
}

/** The column that is asked for, or else the likeliest of these by its name. */
export const choose = (ask: Ask, names: ReadonlyArray<string>): Column | undefined => {
  if (ask.column !== undefined) return guessed(ask, ask.column)
  const [best, ...others] = likeliest(names.filter((name) => name !== ask.pair))
  return best === undefined ? undefined : guessed(ask, best, others)
}

/** Refuses a column that the record does not have. */
export const refuseUnless = (exists: boolean, ask: Ask, names: ReadonlyArray<string>): void => {
  if (!exists) {
    throw new OptionError({ option: "column", value: ask.column, allowed: `must be one of ${list(names)}` })
  }
}

/** Asks for a column where nothing tells which it is. */
export const ambiguous = (choices: ReadonlyArray<string>, hint = ""): OptionError =>
  new OptionError({
    option: "column",
    value: undefined,
    allowed: `must be given, nothing says which is the latency: ${choices.join(", ")}${hint}`
  })

const mostListed = 20

export const list = (names: ReadonlyArray<string>): string =>
  names.length > mostListed
    ? `${names.slice(0, mostListed).join(", ")} and ${names.length - mostListed} more`
    : names.join(", ")

/** Whether these values may be latencies: not all the same, and no moments, which lie close together in a range of the clock. */
export const mayBeLatencies = (values: ReadonlyArray<number>): boolean => {
  const least = Math.min(...values)
  const most = Math.max(...values)
  if (least === most) return values.length < 2
  return least < 1e9 || most > 4e18 || (most - least) / most > 0.01
}
