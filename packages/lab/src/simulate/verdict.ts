/** Whether hedging was worth it, in words. */
import type { Row } from "./experiment.js"
import { loadName, sides } from "./report.js"

/** A change of P99 by less may be chance, and is not worth a request. */
const worthwhile = 0.1

export const verdict = (rows: ReadonlyArray<Row>): ReadonlyArray<string> =>
  (["hedged", "idle"] as const).flatMap((side) => {
    const of = rows.filter((row) => row.side === side)
    return of.length === 0 ? [] : [sentence(side, of), ...recovery(side, of, rows)]
  })

const sentence = (side: "hedged" | "idle", rows: ReadonlyArray<Row>): string => {
  const better = rows.filter(({ ratio }) => ratio <= 1 - worthwhile)
  const worse = rows.filter(({ ratio }) => ratio >= 1 + worthwhile)
  const best = rows.reduce((least, row) => (row.ratio < least.ratio ? row : least))
  const worst = rows.reduce((most, row) => (row.ratio > most.ratio ? row : most))
  const price = Math.max(...rows.map(({ requestsPerCall }) => requestsPerCall - 1))
  const found =
    better.length > 0
      ? `worth it at ${loads(better, rows)}. P99 comes down ${change(best, rows)}`
      : best.ratio < 1
        ? `not worth it. P99 comes down ${change(best, rows)}`
        : "not worth it. P99 does not come down"
  const harm =
    worse.length > 0 ? ` Harmful at ${loads(worse, rows)}: P99 goes up ${change(worst, rows)}.` : ""
  return `${capitalised(sides[side])}: ${found}, for ${rows.length > 1 ? "at most " : ""}${percent(price)} more requests.${harm}`
}

/** By how much P99 changes, at most and where, if there are several loads. */
const change = ({ load, p99, ratio }: Row, rows: ReadonlyArray<Row>): string => {
  const to = `to ${p99.toFixed(1)} ms`
  const by = percent(Math.abs(1 - ratio))
  return rows.length > 1 ? `by up to ${by} (${to}, at ${loadName(load)})` : `by ${by}, ${to}`
}

const recovery = (
  side: "hedged" | "idle",
  rows: ReadonlyArray<Row>,
  all: ReadonlyArray<Row>
): ReadonlyArray<string> =>
  rows.flatMap(({ load, recoveredAfterMs }) => {
    const plain = all.find((row) => row.load === load && row.side === "unhedged")
    return recoveredAfterMs === null || plain === undefined || plain.recoveredAfterMs === null
      ? []
      : [
          `At ${loadName(load)}, ${sides[side]}, calls are as fast as before ${seconds(recoveredAfterMs)} after the slowdown; unhedged ${seconds(plain.recoveredAfterMs)}.`
        ]
  })

const loads = (some: ReadonlyArray<Row>, all: ReadonlyArray<Row>): string =>
  some.length === all.length && all.length > 1
    ? "every load"
    : `a load of ${some.map(({ load }) => loadName(load)).join(", ")}`

const capitalised = (words: string): string => words[0]!.toUpperCase() + words.slice(1)
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`
const seconds = (millis: number): string => `${Number((millis / 1000).toFixed(1))} s`
