/** From a source to latencies: by the format that is asked for, or that is recognised. */
import { Effect } from "effect"
import { OptionError } from "../optionError.js"
import * as Collector from "./collector.js"
import {
  type Ask,
  type Column,
  type Format,
  type Head,
  headOf,
  NoLatency,
  type Reading,
  type Sink
} from "./format.js"
import * as AccessLog from "./formats/accessLog.js"
import { formats } from "./formats/all.js"
import { PlanError } from "./planError.js"
import type { Group } from "./samples.js"
import * as Source from "./source.js"
import * as Split from "./split.js"

/** What was read. */
export interface Measured {
  readonly file: string
  readonly format: string
  readonly title: string
  readonly column: Column
  readonly all: Group
  /** The most frequent keys. */
  readonly byKey: ReadonlyArray<Group>
  readonly keyCount: number
  /** Calls without an answer, by what became of them. */
  readonly leftOut: Readonly<Record<string, number>>
  readonly statuses: ReadonlyMap<number, number>
  /** Pieces of the record that are no latency. */
  readonly skipped: ReadonlyArray<Collector.Skipped>
  /** Rows that the conditions kept out. */
  readonly filtered: number
  /** The measurement that was used, and the others, if the record holds several. */
  readonly series: string
  readonly otherSeries: ReadonlyArray<string>
  readonly notes: ReadonlyArray<string>
}

export const read = (path: string, ask: Ask): Effect.Effect<Measured, PlanError | OptionError> =>
  Effect.tryPromise({
    try: async (signal) => readSource(await Source.open(path, signal), ask),
    catch: (error) => error as PlanError | OptionError
  }).pipe(
    // whatever else is thrown is a fault of ours
    Effect.catchAll((error) =>
      error instanceof PlanError || error instanceof OptionError ? Effect.fail(error) : Effect.die(error)
    )
  )

export const readSource = async (source: Source.Source, ask: Ask): Promise<Measured> => {
  const head = headOf(source.head)
  const collector = Collector.make(ask)
  try {
    const format = formatOf(head, ask)
    const reading = format.open(head, ask, collector.sink)
    collector.begin(reading.column)
    const splitter = splitters[reading.split](guarded(reading.take, collector.sink))
    for await (const chunk of source.chunks) splitter.push(chunk)
    splitter.end()
    reading.end?.()
    return finish(source, head, format, reading, collector.collected(), ask)
  } catch (error) {
    if (error instanceof NoLatency) throw withoutLatency(source, head, error.message)
    if (error instanceof Split.TooLong) {
      throw new PlanError({
        file: source.name,
        problem: `a line or a JSON value of more than ${Split.mostCharacters / 2 ** 20} MB; write one value a line`
      })
    }
    if (error instanceof RangeError) throw withoutLatency(source, head, tooDeep)
    throw error
  }
}

const tooDeep = "nested too deeply"

/** JSON may be nested more deeply than the stack: such a piece is no latency, and costs no other. */
const guarded =
  (take: Split.Take, { skip }: Sink): Split.Take =>
  (piece, number) => {
    try {
      take(piece, number)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      skip(tooDeep, piece, number)
    }
  }

const splitters = { lines: Split.lines, jsonValues: Split.jsonValues, whole: Split.whole }

const formatOf = (head: Head, ask: Ask): Format => {
  if (ask.format !== undefined) return formats.find(({ name }) => name === ask.format)!
  const recognised = formats.find(({ recognise }) => recognise(head))!
  return recognised.name === "text" && AccessLog.isAccessLog(head) ? AccessLog.nginx : recognised
}

const finish = (
  source: Source.Source,
  head: Head,
  format: Format,
  reading: Reading,
  collected: Collector.Collected,
  ask: Ask
): Measured => {
  for (const { field, text } of ask.where) {
    if (collected.missing(field)) {
      throw new OptionError({
        option: "where",
        value: text,
        allowed: `must name a field, and no row has ${field}`
      })
    }
  }
  for (const option of ["key", "pair"] as const) {
    const name = ask[option]
    if (name !== undefined && collected.missing(name)) {
      throw new OptionError({ option, value: name, allowed: "must be a field, and no row has it" })
    }
  }
  const names = Array.from(collected.series.keys()).filter(
    (name) => collected.series.get(name)!.samples.count() > 0
  )
  const name = reading.prefers?.(names).find((each) => names.includes(each)) ?? names[0]
  if (name === undefined) throw nothingFound(source, head, reading, collected, ask)
  const { leftOut, samples, statuses } = collected.series.get(name)!
  const { all, byKey, keyCount } = samples.finish()
  return {
    file: source.name,
    format: format.name,
    title: reading.title,
    column: reading.column,
    all,
    byKey,
    keyCount,
    leftOut,
    statuses,
    skipped: collected.skipped,
    filtered: collected.filtered,
    series: name,
    otherSeries: names.filter((each) => each !== name),
    notes: reading.notes?.(name) ?? []
  }
}

const nothingFound = (
  source: Source.Source,
  head: Head,
  reading: Reading,
  collected: Collector.Collected,
  ask: Ask
): PlanError | OptionError => {
  const missing = collected.skipped.find(({ what }) => what === `no ${reading.column.name}`)
  if (ask.column !== undefined && missing !== undefined) {
    return new OptionError({
      option: "column",
      value: ask.column,
      allowed: `must lead to numbers that are not negative; it does in no row, of which the first is ${JSON.stringify(missing.text)}`
    })
  }
  const leftOut = Array.from(collected.series.values()).flatMap((each) => Object.entries(each.leftOut))
  if (leftOut.length > 0) {
    const reasons = leftOut.map(([why, count]) => `${why} ${count}`).join(", ")
    return new PlanError({ file: source.name, problem: `no call in it was answered: ${reasons}` })
  }
  if (collected.filtered > 0) {
    return new OptionError({
      option: "where",
      value: ask.where.map(({ text }) => text).join(" --where "),
      allowed: `must hold for some row; it holds for none of ${collected.filtered}`
    })
  }
  const why = collected.skipped.find(
    ({ what }) => what.startsWith(reading.column.name) || what === tooDeep
  )?.what
  return withoutLatency(source, head, why === undefined ? "" : `holds no latency: ${why}`)
}

const withoutLatency = ({ name }: Source.Source, { lines, text }: Head, why: string): PlanError => {
  const first = Collector.shorten(lines[0] ?? text)
  const problem = why === "" ? "holds no latency" : why
  return new PlanError({ file: name, problem: `${problem}; its first line is ${JSON.stringify(first)}` })
}
