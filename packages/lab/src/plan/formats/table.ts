/** Lines of cells with a delimiter between them: CSV as RFC 4180 has it, TSV, and their relatives. */
import type { Head, Row, Sink } from "../format.js"
import type { Take } from "../split.js"
import { isDecimal } from "../unit.js"

export interface Table {
  readonly delimiter: string
  /** Of the columns; their numbers, from 1, if there is no header. */
  readonly names: ReadonlyArray<string>
  readonly hasHeader: boolean
}

/** What a row says in a column, by its name or its number. */
export type Cells = (name: string) => string | undefined

const delimiters = [",", "\t", ";", "|"]

/** A cell in quotes may go on over so many lines. */
const mostLinesOfARow = 100

/** The cells of a line. */
export const cellsOf = (line: string, delimiter: string): ReadonlyArray<string> => {
  if (!line.includes('"')) return line.split(delimiter)
  const cells: Array<string> = []
  let at = 0
  for (;;) {
    let cell = ""
    if (line[at] === '"') {
      for (at++; at < line.length; at++) {
        if (line[at] !== '"') cell += line[at]
        else if (line[at + 1] === '"') cell += line[at++]
        else break
      }
      at++
    }
    const end = line.indexOf(delimiter, at)
    cells.push(cell + line.slice(at, end === -1 ? line.length : end))
    if (end === -1) return cells
    at = end + 1
  }
}

/** What some programs write above the header: a comment, or which delimiter follows. */
const preamble = /^\s*#|^sep=.$/i

/** The delimiter, and the names of the columns if the first line has them; undefined if these lines are no table. */
export const recognise = ({ lines }: Head): Table | undefined => {
  const sample = wholeRows(lines.filter((line) => !preamble.test(line))).slice(0, 20)
  const found = delimiters
    .map((delimiter) => {
      const widths = sample.map((line) => cellsOf(line, delimiter).length)
      const share = (width: number) => widths.filter((each) => each === width).length / widths.length
      const width = widths.reduce((best, each) => (share(each) > share(best) ? each : best), 1)
      return { delimiter, width, share: share(width) }
    })
    .filter(({ share, width }) => width > 1 && share >= 0.8)
    .sort((a, b) => b.width - a.width)[0]
  if (found !== undefined) return withNames(sample, found.delimiter)
  const [first = "", second = ""] = sample
  return /^"?[A-Za-z_][\w .()[\]/-]*"?$/.test(first) && isDecimal(second) ? withNames(sample, ",") : undefined
}

/** Lines as rows: a cell in quotes may hold ends of lines. */
const wholeRows = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const rows: Array<string> = []
  let isInside = false
  for (const line of lines) {
    if (isInside) rows[rows.length - 1] += `\n${line}`
    else rows.push(line)
    isInside = isOpen(line, isInside)
  }
  return isInside ? rows.slice(0, -1) : rows
}

const withNames = (lines: ReadonlyArray<string>, delimiter: string): Table => {
  const first = cellsOf(lines[0]!, delimiter).map((cell) => cell.trim())
  const hasHeader = !first.some(isDecimal) && first.every((cell) => cell !== "")
  const nameOf = (name: string, i: number) =>
    !hasHeader ? String(i + 1) : first.indexOf(name) < i ? `${name} (column ${i + 1})` : name
  return { delimiter, hasHeader, names: first.map(nameOf) }
}

/** Reads rows; the header is not one. A quote that nothing closes is one of text: its lines are rows by themselves. */
export const rows = (
  table: Table,
  sink: Sink,
  rowOf: (cells: Cells) => Row
): { readonly take: Take; readonly end: () => void } => {
  const indexes = new Map(table.names.map((name, i) => [name, i]))
  const indexOf = (name: string): number => indexes.get(name) ?? (/^\d+$/.test(name) ? Number(name) - 1 : -1)
  let isHeader = table.hasHeader
  let isFirst = true
  let unfinished: Array<string> = []
  let from = 0
  const row = (text: string, number: number) => {
    if (isFirst && preamble.test(text)) return sink.skip("a comment", text, number)
    isFirst = false
    if (isHeader) {
      isHeader = false
      return
    }
    const cells = cellsOf(text, table.delimiter)
    sink.row(
      rowOf((name) => cells[indexOf(name)]),
      text,
      number
    )
  }
  const end = () => {
    const lines = unfinished
    unfinished = []
    lines.forEach((line, i) => row(line, from + i))
  }
  return {
    take: (line, number) => {
      if (unfinished.length === 0) {
        if (!isOpen(line)) return row(line, number)
        from = number
        unfinished.push(line)
      } else {
        unfinished.push(line)
        if (!isOpen(line, true)) {
          const text = unfinished.join("\n")
          unfinished = []
          row(text, from)
        } else if (unfinished.length === mostLinesOfARow) end()
      }
    },
    end
  }
}

const opening = /(?:^|[,;\t|])"/g

/** Whether a cell in quotes is not at its end when this line is; `isInside` says whether one was when it began. */
const isOpen = (line: string, isInside = false): boolean => {
  let at = 0
  let isQuoted = isInside
  for (;;) {
    if (isQuoted) {
      const quote = line.indexOf('"', at)
      if (quote === -1) return true
      at = quote + 1
      if (line[at] === '"') at++
      else isQuoted = false
    } else {
      opening.lastIndex = at
      if (opening.exec(line) === null) return false
      at = opening.lastIndex
      isQuoted = true
    }
  }
}

/** Whether a name or a number is one of a table's columns. */
export const has = ({ names }: Table, name: string): boolean =>
  names.includes(name) || (/^\d+$/.test(name) && Number(name) >= 1 && Number(name) <= names.length)
