/** JSON of any origin: lines, arrays, or documents; the latency by its path, `data.value` or `results.latency_ms`. */
import type { Ask, Column, Format, Head, Row, Sink } from "../format.js"
import { NoLatency } from "../format.js"
import { instantOf } from "../instant.js"
import * as Json from "../json.js"
import { known } from "../names.js"
import { failureOf, statusOf } from "../outcome.js"
import { routeOf } from "../route.js"
import { jsonValues, type Take } from "../split.js"
import { milliseconds } from "../unit.js"
import * as Columns from "./columns.js"

/** An element of a bare array of numbers. */
const element = "value"

/** Lines that are a value each, so that a broken one costs no other; or else values over any number of lines. */
export const splitOf = ({ lines, text }: Head): "lines" | "jsonValues" => {
  const [first = "", second] = lines
  const isValue = (line: string) => line.startsWith("{") && Json.parse(line) !== undefined
  return isValue(first) || (second !== undefined && isValue(second)) || text.trimStart() === ""
    ? "lines"
    : "jsonValues"
}

/** The first value of a head, or as much of it as the head holds. */
export const firstOf = (head: Head): unknown => {
  if (splitOf(head) === "lines") return head.lines.map(Json.parse).find(Json.isObject)
  let found: unknown
  const splitter = jsonValues((piece) => {
    found ??= Json.parse(piece)
  })
  splitter.push(head.text)
  return found ?? Json.parseBeginning(head.text)
}

/** Every value that can be read; what cannot is skipped. */
export const each =
  (sink: Sink, use: (value: unknown, piece: string, number: number) => void): Take =>
  (piece, number) => {
    const value = Json.parse(piece)
    if (value === undefined) sink.skip("not JSON", piece, number)
    else use(value, piece, number)
  }

/** @param column that of the latency, which is nothing else. */
export const rowOf = (field: (name: string) => unknown, column: string): Row => {
  const first = (names: ReadonlyArray<string>) => {
    for (const name of names) {
      const value = name === column ? undefined : field(name)
      if (value !== undefined && value !== null) return value
    }
    return undefined
  }
  return {
    field,
    status: statusOf(first(known.status)),
    failure: failureOf(first(known.error)),
    at: instantOf(first(known.at)),
    route: () => {
      const route = first(known.route)
      if (typeof route !== "string") return undefined
      const method = first(known.method)
      return typeof method === "string" ? `${method} ${routeOf(route)}` : routeOf(route)
    }
  }
}

export const json: Format = {
  name: "json",
  recognise: ({ text }) => /^\s*[[{]/.test(text),
  open: (head, ask, sink) => {
    const column = columnOf(head, ask)
    const use = (value: unknown, piece: string, number: number) => {
      if (typeof value === "number" || typeof value === "string") {
        return sink.row({ field: (name) => (name === element ? value : undefined) }, piece, number)
      }
      if (Array.isArray(value) && /^\d+$/.test(column.name)) {
        return sink.row({ field: (name) => value[Number(name) - 1] }, piece, number)
      }
      expand(value, column.name, [], (field) => sink.row(rowOf(field, column.name), piece, number))
    }
    return { title: "JSON", split: splitOf(head), column, take: each(sink, use) }
  }
}

const columnOf = (head: Head, ask: Ask): Column => {
  if (ask.column !== undefined)
    return Columns.guessed(ask, ask.column.replace(/\[\d*\]/g, "").replace(/^[$.]+/, ""))
  const value = firstOf(head)
  if (milliseconds(value, "ms") !== undefined) return Columns.guessed(ask, element)
  if (Array.isArray(value) && value.every((cell) => typeof cell !== "object")) return columnOfRows(ask, value)
  const paths = Json.numericPaths(value)
  const column = Columns.choose(ask, paths)
  if (column !== undefined) return column
  if (paths.length === 1) return Columns.guessed(ask, paths[0]!)
  if (paths.length === 0) throw new NoLatency()
  throw Columns.ambiguous(paths)
}

/** An array in an array is a row, whose columns have numbers. */
const columnOfRows = (ask: Ask, row: ReadonlyArray<unknown>): Column => {
  const numbers = row.flatMap((cell, i) => (milliseconds(cell, "ms") === undefined ? [] : [String(i + 1)]))
  if (numbers.length === 1) return Columns.guessed(ask, numbers[0]!)
  if (numbers.length === 0) throw new NoLatency()
  throw Columns.ambiguous(row.map((cell, i) => `${i + 1} (${String(cell)} at first)`))
}

type Field = (name: string) => unknown

/** A row for every value that a path leads to: it may pass through arrays, each of whose elements is then a row. */
const expand = (
  value: unknown,
  path: string,
  around: ReadonlyArray<unknown>,
  use: (field: Field) => void
): void => {
  if (Array.isArray(value)) {
    for (const inner of value) {
      if (typeof inner === "object") expand(inner, path, around, use)
      else if (path === "" || path === element) use((name) => (name === path ? inner : within(around, name)))
    }
    return
  }
  const scopes = [value, ...around]
  const names = path.split(".")
  for (let depth = 1; depth <= names.length; depth++) {
    const inner = Json.at(value, names.slice(0, depth).join("."))
    if (!Array.isArray(inner)) continue
    const rest = names.slice(depth).join(".")
    return expand(inner, rest, scopes, (field) => use((name) => field(name === path ? rest : name)))
  }
  use((name) => within(scopes, name))
}

/** What the innermost says that says anything. */
const within = (scopes: ReadonlyArray<unknown>, name: string): unknown => {
  for (const scope of scopes) {
    const found = Json.at(scope, name)
    if (found !== undefined) return found
  }
  return undefined
}
