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
  const price = Math.max(...rows.map(({ requestsPerCall }) => requestsPerCall - 1))
  const found =
    better.length > 0
      ? `Worth it at ${loads(better, rows)}: P99 comes down by up to ${percent(1 - best.ratio)} (to ${best.p99.toFixed(1)} ms at ${loadName(best.load)})`
      : `Not worth it: P99 comes down by ${percent(Math.max(0, 1 - best.ratio))} at best`
  const harm =
    worse.length > 0
      ? `It is harmful at ${loads(worse, rows)}: P99 grows there by up to ${percent(Math.max(...worse.map(({ ratio }) => ratio)) - 1)}.`
      : "At no load does it make P99 worse by a tenth."
  return `${capitalised(sides[side])}. ${found}, for at most ${percent(price)} more requests. ${harm}`
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
