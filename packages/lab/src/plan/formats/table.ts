/** Lines of cells with a delimiter between them: CSV as RFC 4180 has it, TSV, and their relatives. */
import type { Head, Row, Sink } from "../format.js"
import type { Take } from "../split.js"

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

export const isNumber = (cell: string): boolean => cell.trim() !== "" && !Number.isNaN(Number(cell))

/** The delimiter, and the names of the columns if the first line has them; undefined if these lines are no table. */
export const recognise = ({ lines }: Head): Table | undefined => {
  const sample = wholeRows(lines).slice(0, 20)
  const found = delimiters
    .map((delimiter) => {
      const widths = sample.map((line) => cellsOf(line, delimiter).length)
      const width = Math.max(0, ...widths)
      return { delimiter, width, share: widths.filter((w) => w === width).length / widths.length }
    })
    .filter(({ share, width }) => width > 1 && share >= 0.8)
    .sort((a, b) => b.width - a.width)[0]
  if (found !== undefined) return withNames(sample, found.delimiter)
  const [first = "", second = ""] = sample
  return /^"?[A-Za-z_][\w .()[\]/-]*"?$/.test(first) && isNumber(second) ? withNames(sample, ",") : undefined
}

/** Lines as rows: a cell in quotes may hold ends of lines. */
const wholeRows = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const rows: Array<string> = []
  let isInside = false
  for (const line of lines) {
    if (isInside) rows[rows.length - 1] += `\n${line}`
    else rows.push(line)
    if (isOpen(line)) isInside = !isInside
  }
  return isInside ? rows.slice(0, -1) : rows
}

const withNames = (lines: ReadonlyArray<string>, delimiter: string): Table => {
  const first = cellsOf(lines[0]!, delimiter).map((cell) => cell.trim())
  const hasHeader = !first.some(isNumber) && first.every((cell) => cell !== "")
  return { delimiter, hasHeader, names: hasHeader ? first : first.map((_, i) => String(i + 1)) }
}

/** Reads rows; the header is not one. */
export const rows = (table: Table, sink: Sink, rowOf: (cells: Cells) => Row): Take => {
  const indexes = new Map(table.names.map((name, i) => [name, i]))
  const indexOf = (name: string): number => indexes.get(name) ?? (/^\d+$/.test(name) ? Number(name) - 1 : -1)
  let isHeader = table.hasHeader
  let unfinished: Array<string> = []
  return (line, number) => {
    let text = line
    if (unfinished.length > 0 || isOpen(line)) {
      unfinished.push(line)
      if (unfinished.length < mostLinesOfARow && (unfinished.length === 1 || !isOpen(line))) return
      text = unfinished.join("\n")
      unfinished = []
    }
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
}

/** Whether a quote in this line is not closed in it. */
const isOpen = (line: string): boolean => {
  let isOdd = false
  for (let at = line.indexOf('"'); at !== -1; at = line.indexOf('"', at + 1)) isOdd = !isOdd
  return isOdd
}

/** Whether a name or a number is one of a table's columns. */
export const has = ({ names }: Table, name: string): boolean =>
  names.includes(name) || (/^\d+$/.test(name) && Number(name) >= 1 && Number(name) <= names.length)
