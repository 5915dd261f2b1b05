/** Locust: response times counted by milliseconds, in its JSON and in what workers report; and its CSV of percentiles. */
import { type Format, type Head, NoLatency, type Piece, type Sink } from "../format.js"
import * as Json from "../json.js"
import { isDecimal } from "../unit.js"
import * as Columns from "./columns.js"
import { each, firstOf, splitOf } from "./json.js"
import * as Percentiles from "./percentiles.js"
import * as Table from "./table.js"

/** The statistics in a value: a worker's report, an element of `--json`, or the whole of it. */
const statsOf = (value: unknown): ReadonlyArray<unknown> => {
  if (Array.isArray(value)) return value.flatMap((each) => (Array.isArray(each) ? [] : statsOf(each)))
  const stats = Json.at(value, "stats")
  if (Array.isArray(stats)) return stats
  return Json.isObject(Json.at(value, "response_times")) ? [value] : []
}

const isCsv = ({ lines }: Head): boolean => /^"?Type"?,"?Name"?,.*Request Count/.test(lines[0] ?? "")

const rowOf = (entry: (name: string) => unknown) => ({
  field: entry,
  route: () => `${entry("method") ?? ""} ${entry("name") ?? ""}`.trim()
})

export const locust: Format = {
  name: "locust",
  recognise: (head) => isCsv(head) || (/^\s*[[{]/.test(head.text) && statsOf(firstOf(head)).length > 0),
  open: (head, ask, sink) => {
    const column = Columns.named(ask, "response_times", "ms")
    Columns.refuseUnless(ask.column === undefined || ask.column === column.name, ask, [column.name])
    const table = isCsv(head) ? Table.recognise(head) : undefined
    if (table !== undefined) {
      return {
        title: "Locust statistics, CSV",
        split: "lines",
        column,
        ...readCsv(table, sink),
        notes: () => [Percentiles.coarse]
      }
    }
    if (statsOf(firstOf(head)).length === 0) throw new NoLatency("is no statistics of Locust")
    let failures = 0
    return {
      title: "Locust statistics, JSON",
      split: splitOf(head),
      column,
      take: each(sink, (value, piece, number) => {
        const found = statsOf(value)
        if (found.length === 0) sink.skip("no statistics", piece, number)
        for (const entry of found) {
          failures += Number(Json.at(entry, "num_failures") ?? 0)
          sink.counted(
            rowOf((name) => Json.at(entry, name)),
            piecesOf(Json.at(entry, "response_times"))
          )
        }
      }),
      notes: () => [
        "rounding: Locust counts response times by milliseconds, above 100 ms rounded to two digits; it does not say when they were",
        ...(failures === 0
          ? []
          : [
              `failures: ${failures} calls failed, and Locust counts their times among the others: they could not be left out`
            ])
      ]
    }
  }
}

const piecesOf = (times: unknown): ReadonlyArray<Piece> =>
  Json.isObject(times)
    ? Object.entries(times).flatMap(([time, count]) => {
        const ms = Number(time)
        return isDecimal(time) && ms >= 0 && Number(count) > 0
          ? [{ from: ms, to: ms, count: Number(count) }]
          : []
      })
    : []

/** The sum of the others, where there are any. */
const isSum = (cells: Table.Cells): boolean => cells("Name") === "Aggregated" || cells("Name") === "Total"

const readCsv = (table: Table.Table, sink: Sink) => {
  const shares = table.names.filter((name) => /^\d+(\.\d+)?%$/.test(name))
  return Table.rows(
    table,
    {
      ...sink,
      row: ({ field }, text, number) => {
        const cells = field as Table.Cells
        if (isSum(cells)) return
        const steps = shares.map((name) => ({ p: Number(name.slice(0, -1)) / 100, ms: Number(cells(name)) }))
        const count = Number(cells("Request Count"))
        const falls = steps.some(({ ms }, i) => !(ms >= (steps[i - 1]?.ms ?? 0)))
        if (!(count > 0) || falls) return sink.skip("no percentiles", text, number)
        sink.counted(
          rowOf((name) => cells(name) ?? cells(name === "method" ? "Type" : name === "name" ? "Name" : name)),
          Percentiles.between(Number(cells("Min Response Time") ?? 0), steps, count)
        )
      }
    },
    (cells) => ({ field: cells })
  )
}
