/** Takes what a format finds, and sorts it: latencies, calls without an answer, what is no latency. */
import type { Ask, Column, Piece, Row, Sink } from "./format.js"
import { leftOut } from "./outcome.js"
import { copyOf } from "./route.js"
import * as Samples from "./samples.js"
import { milliseconds, ofName } from "./unit.js"
import * as Where from "./where.js"

/** Pieces of a record that are no latency, and what they are instead. */
export interface Skipped {
  readonly what: string
  readonly count: number
  /** The first of them. */
  readonly line: number
  readonly text: string
}

/** One of a record's measurements. */
export interface Series {
  readonly samples: Samples.Samples
  readonly leftOut: Readonly<Record<string, number>>
  /** By status, of the latencies. */
  readonly statuses: ReadonlyMap<number, number>
}

export interface Collected {
  readonly series: ReadonlyMap<string, Series>
  readonly skipped: ReadonlyArray<Skipped>
  /** Rows that a condition kept out. */
  readonly filtered: number
  /** Fields that were asked for and that no row had. */
  readonly missing: (field: string) => boolean
}

interface OpenSeries extends Series {
  readonly leftOut: Record<string, number>
  readonly statuses: Map<number, number>
}

const mostTextShown = 100

export interface Collector {
  readonly sink: Sink
  /** Says which values are read; before anything is collected. */
  readonly begin: (column: Column) => void
  readonly collected: () => Collected
}

export const make = (ask: Ask): Collector => {
  const series = new Map<string, OpenSeries>()
  const skipped = new Map<string, Skipped & { count: number }>()
  const seen = new Set<string>()
  const asked = new Set([
    ...ask.where.map(({ field }) => field),
    ...[ask.key, ask.pair].filter((name) => name !== undefined)
  ])
  let column: Column = { name: "", unit: "ms" }
  let filtered = 0

  const seriesOf = (name: string) => {
    const known = series.get(name)
    if (known !== undefined) return known
    const made: OpenSeries = { samples: Samples.make(), leftOut: {}, statuses: new Map() }
    series.set(copyOf(name), made)
    return made
  }
  const skip: Sink["skip"] = (what, text, number) => {
    const known = skipped.get(what)
    if (known !== undefined) known.count++
    else skipped.set(what, { what, count: 1, line: number, text: shorten(text) })
  }
  const isWanted = (row: Row): boolean => {
    if (asked.size > seen.size) {
      for (const name of asked) if (row.field(name) !== undefined) seen.add(name)
    }
    if (Where.allHold(ask.where, row)) return true
    filtered++
    return false
  }
  const isAnswered = (row: Row, count: number): boolean => {
    const why = ask.all ? undefined : leftOut(row)
    if (why === undefined) return true
    const { leftOut: reasons } = seriesOf(row.series ?? "")
    reasons[why] = (reasons[why] ?? 0) + count
    return false
  }
  const keyOf = (row: Row): string | undefined =>
    ask.key === undefined ? row.route?.() : Where.textOf(row.field(ask.key)) || "(none)"

  return {
    begin: (chosen) => {
      column = chosen
    },
    sink: {
      row: (row, text, number) => {
        if (!isWanted(row) || !isAnswered(row, 1)) return
        const ms = milliseconds(row.field(column.name), column.unit)
        if (ms === undefined) return skip(lacking(column.name, row), text, number)
        let second: number | undefined
        if (ask.pair !== undefined) {
          second = milliseconds(row.field(ask.pair), ask.unit ?? ofName(ask.pair) ?? column.unit)
          if (second === undefined) return skip(lacking(ask.pair, row), text, number)
        }
        const { samples, statuses } = seriesOf(row.series ?? "")
        samples.add(ms, keyOf(row), row.at, second)
        if (row.status !== undefined) statuses.set(row.status, (statuses.get(row.status) ?? 0) + 1)
      },
      counted: (row, pieces) => {
        const total = pieces.reduce((sum: number, { count }: Piece) => sum + count, 0)
        if (total === 0 || !isWanted(row) || !isAnswered(row, total)) return
        seriesOf(row.series ?? "").samples.addPieces(pieces, keyOf(row))
      },
      skip
    },
    collected: () => ({
      series,
      skipped: Array.from(skipped.values()),
      filtered,
      missing: (field) => asked.has(field) && !seen.has(field)
    })
  }
}

/** What a row has instead of a latency; `1,5` may be one and a half, or fifteen. */
const lacking = (name: string, row: Row): string => {
  const found = row.field(name)
  return typeof found === "string" && /^\s*[\d.]+,[\d.,]*\d/.test(found)
    ? `${name} has a comma in its number`
    : `no ${name}`
}

/** On one line, and not all of it. */
export const shorten = (text: string): string => {
  const line = copyOf(text.slice(0, mostTextShown + 1))
    .replace(/\s+/g, " ")
    .trim()
  return line.length > mostTextShown || text.length > mostTextShown + 1
    ? `${line.slice(0, mostTextShown)}…`
    : line
}
