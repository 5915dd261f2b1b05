/** From what a user typed to what is read and planned, or to an error that names the option, the value and what is allowed. */
import { Either, type Option } from "effect"
import { above, all, fail, numbers, type Parsed, parse, wholeNumbers } from "../optionValues.js"
import type { Ask } from "./format.js"
import { formats } from "./formats/all.js"
import { type Goals, names, type Percentile } from "./plan.js"
import * as Say from "./say.js"
import * as Unit from "./unit.js"
import * as Where from "./where.js"

/** The options as typed. */
export interface Raw {
  readonly format: Option.Option<string>
  readonly column: Option.Option<string>
  readonly unit: Option.Option<string>
  readonly key: Option.Option<string>
  readonly pair: Option.Option<string>
  readonly where: ReadonlyArray<string>
  readonly all: boolean
  readonly extraLoad: ReadonlyArray<string>
  readonly fanOut: ReadonlyArray<string>
  readonly objective: Option.Option<string>
}

export interface Settings {
  readonly ask: Ask
  readonly goals: Goals
}

/** Those of every plan; `--extra-load` adds others. */
const extraLoads = [0.01, 0.02, 0.05, 0.1, 0.2]

export const settings = (raw: Raw): Parsed<Settings> =>
  Either.gen(function* () {
    const added = yield* numbers("extra-load", raw.extraLoad, above(0, 1))
    const fanOuts = yield* wholeNumbers("fan-out", raw.fanOut, 2, 10_000)
    const column = yield* text("column", raw.column)
    const pair = yield* text("pair", raw.pair)
    if (pair !== undefined && pair === column) {
      return yield* fail("pair", pair, "must be another column than --column")
    }
    return {
      ask: {
        format: yield* optional("format", raw.format, `must be one of ${formatNames.join(", ")}`, (typed) =>
          formatNames.find((name) => name === typed.toLowerCase())
        ),
        column,
        unit: yield* optional("unit", raw.unit, `must be one of ${Unit.units.join(", ")}`, Unit.parse),
        key: yield* text("key", raw.key),
        pair,
        where: yield* all("where", raw.where, Where.allowed, Where.parse),
        all: raw.all
      },
      goals: {
        objective: yield* parse<Percentile>("objective", raw.objective, "p99", objectives, (typed) =>
          names.find((name) => Say.labels[name].toLowerCase() === typed.toLowerCase())
        ),
        extraLoads: distinct([...extraLoads, ...added]),
        fanOuts: distinct(fanOuts)
      }
    }
  })

export const formatNames = formats.map(({ name }) => name)

const objectives = `must be one of ${names.map((name) => Say.labels[name].toLowerCase()).join(", ")}`

const optional = <A>(
  option: string,
  typed: Option.Option<string>,
  allowed: string,
  read: (text: string) => A | undefined
): Parsed<A | undefined> => parse<A | undefined>(option, typed, undefined, allowed, read)

const text = (option: string, typed: Option.Option<string>): Parsed<string | undefined> =>
  optional(option, typed, "must name a field of the record", (name) =>
    name.trim() === "" ? undefined : name.trim()
  )

const distinct = (values: ReadonlyArray<number>): ReadonlyArray<number> =>
  Array.from(new Set(values)).sort((a, b) => a - b)
