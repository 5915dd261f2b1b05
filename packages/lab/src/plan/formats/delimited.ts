/** CSV and TSV of any origin: the column by its header, or by its number. */
import type { Ask, Column, Format, Head, Row, Sink } from "../format.js"
import { NoLatency } from "../format.js"
import { instantOf } from "../instant.js"
import { known } from "../names.js"
import { failureOf, statusOf } from "../outcome.js"
import { routeOf } from "../route.js"
import { milliseconds } from "../unit.js"
import * as Columns from "./columns.js"
import * as Table from "./table.js"

const open = (title: string, delimiter: string | undefined) => (head: Head, ask: Ask, sink: Sink) => {
  const table = Table.recognise(head)
  if (table === undefined || (delimiter !== undefined && table.delimiter !== delimiter)) {
    throw new NoLatency(`is no ${title}`)
  }
  const column = columnOf(table, head, ask)
  return {
    title: `${title}, ${table.names.length} columns`,
    split: "lines" as const,
    column,
    ...Table.rows(table, sink, rowOf(table, column.name))
  }
}

const columnOf = (table: Table.Table, head: Head, ask: Ask): Column => {
  if (ask.column !== undefined) {
    Columns.refuseUnless(Table.has(table, ask.column), ask, table.names)
    const name = table.names.includes(ask.column) ? ask.column : (table.names[Number(ask.column) - 1] ?? "")
    return Columns.guessed(ask, name)
  }
  const byName = table.hasHeader ? Columns.choose(ask, table.names) : undefined
  if (byName !== undefined) return byName
  const candidates = numericColumns(table, head)
  const [only, ...more] = candidates
  if (only === undefined) throw new NoLatency("no column of it holds numbers")
  if (more.length > 0) {
    throw Columns.ambiguous(
      candidates.map(({ first, name }) => `${name} (${first} at first)`),
      isDecimalComma(table, candidates.length)
        ? "; a number that has a comma is to be written with a point"
        : ""
    )
  }
  return Columns.guessed(ask, only.name)
}

/** `12,5` on every line is two columns, or one number. */
const isDecimalComma = ({ delimiter, hasHeader, names }: Table.Table, numeric: number): boolean =>
  delimiter === "," && !hasHeader && names.length === 2 && numeric === 2

/** Columns of latencies, by their values: numbers that differ, and no moments. */
const numericColumns = (table: Table.Table, head: Head) => {
  const rows = head.lines.slice(table.hasHeader ? 1 : 0).map((line) => Table.cellsOf(line, table.delimiter))
  return table.names.flatMap((name, i) => {
    const values = rows.flatMap((cells) => milliseconds(cells[i], "ms") ?? [])
    return values.length * 2 > rows.length && Columns.mayBeLatencies(values)
      ? [{ name, first: rows[0]?.[i] }]
      : []
  })
}

const rowOf = ({ names }: Table.Table, column: string): ((cells: Table.Cells) => Row) => {
  const first = (choices: ReadonlyArray<string>) =>
    choices.find((choice) => choice !== column && names.includes(choice))
  const [status, at, route, error] = [known.status, known.at, known.route, known.error].map(first)
  return (cells) => ({
    field: cells,
    status: status === undefined ? undefined : statusOf(cells(status)),
    failure: error === undefined ? undefined : failureOf(cells(error)),
    at: at === undefined ? undefined : instantOf(cells(at)),
    route: route === undefined ? undefined : () => routeOf(cells(route) ?? "")
  })
}

export const csv: Format = {
  name: "csv",
  recognise: (head) => Table.recognise(head) !== undefined,
  open: open("CSV", undefined)
}

export const tsv: Format = {
  name: "tsv",
  recognise: (head) => Table.recognise(head)?.delimiter === "\t",
  open: open("TSV", "\t")
}
