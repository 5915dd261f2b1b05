/** Lines of text: a number on each, or words among which one is the latency, or `name=value`. */
import type { Ask, Column, Format, Head } from "../format.js"
import { NoLatency } from "../format.js"
import { instantOf } from "../instant.js"
import { known, likeliest } from "../names.js"
import { failureOf, statusOf } from "../outcome.js"
import { routeOf } from "../route.js"
import { milliseconds } from "../unit.js"
import * as Columns from "./columns.js"

/** The whole line, as the name of a column. */
const line = "line"

const pair = /(?<![\w.-])([A-Za-z_][\w.-]*)=("(?:[^"\\]|\\.)*"|\S*)/g

const pairsOf = (text: string): ReadonlyMap<string, string> =>
  new Map(Array.from(text.matchAll(pair), ([, name = "", value = ""]) => [name, value.replace(/^"|"$/g, "")]))

const wordsOf = (text: string): ReadonlyArray<string> => text.trim().split(/\s+/)

export const text: Format = {
  name: "text",
  recognise: () => true,
  open: (head, ask, sink) => {
    const column = columnOf(head, ask)
    const present = new Set(head.lines.flatMap((each) => Array.from(pairsOf(each).keys())))
    const [status, error, at, route] = [known.status, known.error, known.at, known.route].map((names) =>
      names.find((name) => name !== column.name && present.has(name))
    )
    return {
      title: "text",
      split: "lines",
      column,
      take: (text, number) => {
        // most lines are one number: words and pairs are looked for only when they are asked for
        let pairs: ReadonlyMap<string, string> | undefined
        const paired = (name: string | undefined) => {
          if (name === undefined) return undefined
          pairs ??= pairsOf(text)
          return pairs.get(name)
        }
        const address = paired(route)
        sink.row(
          {
            field: (name) =>
              name === line ? text : /^\d+$/.test(name) ? wordsOf(text)[Number(name) - 1] : paired(name),
            status: statusOf(paired(status)),
            failure: failureOf(paired(error)),
            at: instantOf(paired(at)),
            route: address === undefined ? undefined : () => routeOf(address)
          },
          text,
          number
        )
      }
    }
  }
}

const columnOf = ({ lines }: Head, ask: Ask): Column => {
  if (ask.column !== undefined) return Columns.guessed(ask, ask.column)
  const isMost = (count: number) => count * 2 > lines.length
  const withUnits = lines.filter((text) => /[a-zµμ]$/i.test(text.trim())).length
  if (isMost(lines.filter((text) => milliseconds(text.trim(), "ms") !== undefined).length)) {
    return { ...Columns.guessed(ask, line), ...(isMost(withUnits) ? { isAssumed: false } : {}) }
  }
  const pairs = lines.map(pairsOf)
  const names = likeliest(Array.from(new Set(pairs.flatMap((each) => Array.from(each.keys())))))
  const [best, ...others] = names.filter((name) =>
    isMost(pairs.filter((each) => milliseconds(each.get(name), "ms") !== undefined).length)
  )
  if (best !== undefined) return Columns.guessed(ask, best, others)
  const numeric = numericWords(lines)
  const [only, ...more] = numeric
  if (only === undefined) {
    // one line in many may still be a latency: reading on will tell
    if (lines.some((text) => milliseconds(text.trim(), "ms") !== undefined)) return Columns.guessed(ask, line)
    throw new NoLatency()
  }
  if (more.length > 0)
    throw Columns.ambiguous(numeric.map(({ first, name }) => `${name} (${first} at first)`))
  return Columns.guessed(ask, only.name)
}

/** Words that are numbers in most lines and that differ, and no moments, by their place in the line. */
const numericWords = (lines: ReadonlyArray<string>) => {
  const rows = lines.map(wordsOf)
  const width = Math.max(0, ...rows.map((words) => words.length))
  return Array.from({ length: Math.min(width, 50) }, (_, i) => i).flatMap((i) => {
    const values = rows.flatMap((words) => milliseconds(words[i], "ms") ?? [])
    return values.length * 2 > rows.length && Columns.mayBeLatencies(values)
      ? [{ name: String(i + 1), first: rows[0]?.[i] }]
      : []
  })
}
