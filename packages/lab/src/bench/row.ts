import { spreadOf } from "./measure.js"

/** One line of the benchmark: ratios measured in one run, and what their median may be at most. */
export interface Row {
  readonly name: string
  readonly ratios: ReadonlyArray<number>
  readonly target: number
}

const columns = ["median", "lowest", "highest", "target", ""] as const

export const toTable = (rows: ReadonlyArray<Row>): string => {
  const width = Math.max(...rows.map((row) => row.name.length))
  const head = "".padEnd(width) + columns.map((column) => column.padStart(9)).join("")
  const lines = rows.map((row) => {
    const { highest, lowest, median } = spreadOf(row.ratios)
    const cells = [median, lowest, highest, row.target].map((n) => n.toFixed(3).padStart(9)).join("")
    return row.name.padEnd(width) + cells + (median <= row.target ? "       ok" : "   MISSED")
  })
  return [head, ...lines].join("\n")
}

export const toJson = (rows: ReadonlyArray<Row>): string =>
  JSON.stringify(
    rows.map((row) => ({ name: row.name, ratio: spreadOf(row.ratios).median, target: row.target })),
    null,
    2
  )
