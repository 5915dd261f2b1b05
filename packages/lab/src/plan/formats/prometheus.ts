/** Histogram buckets of Prometheus: a scrape in the text format, or what a query answers as JSON. */
import { type Ask, type Format, type Head, NoLatency, type Piece } from "../format.js"
import * as Json from "../json.js"
import { milliseconds, ofName, type Unit } from "../unit.js"
import * as Columns from "./columns.js"

interface Labels {
  readonly [name: string]: string
}

/** The buckets of one set of labels, cumulative: how many were at most so long. */
interface Buckets {
  readonly family: string
  readonly labels: Labels
  readonly upTo: Array<readonly [le: number, count: number]>
}

const sample = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?[\d.]+)?\s*(?:#.*)?$/
const label = /([A-Za-z_][\w.]*)\s*=\s*"((?:[^"\\]|\\.)*)"/g

const labelsOf = (text = ""): Labels =>
  Object.fromEntries(
    Array.from(text.matchAll(label), ([, name = "", value = ""]) => [name, value.replace(/\\(.)/g, "$1")])
  )

const numberOf = (text: string): number => (/^\+?Inf$/i.test(text) ? Infinity : Number(text))

/** Brings the buckets of each set of labels together. */
const gather = () => {
  const all = new Map<string, Buckets>()
  return {
    all,
    add: (name: string, { le, ...labels }: Labels, count: number): boolean => {
      if (le === undefined || Number.isNaN(count)) return false
      const family = name.replace(/_bucket$/, "")
      const key = `${family}${JSON.stringify(labels)}`
      const known = all.get(key) ?? { family, labels, upTo: [] }
      known.upTo.push([numberOf(le), count])
      all.set(key, known)
      return true
    }
  }
}

/** What each bucket holds by itself. The first begins at 0, the last has no end. */
const piecesOf = ({ upTo }: Buckets, unit: Unit): ReadonlyArray<Piece> => {
  let from = 0
  let before = 0
  return [...upTo]
    .sort(([a], [b]) => a - b)
    .flatMap(([le, count]) => {
      const to = le === Infinity ? Infinity : (milliseconds(le, unit) ?? 0)
      const piece = { from, to, count: count - before }
      from = to
      before = Math.max(before, count)
      return piece.count > 0 ? [piece] : []
    })
}

const open: Format["open"] = (head, ask, sink) => {
  const isText = isExposition(head)
  const gathered = gather()
  const wanted = ask.column?.replace(/_bucket$/, "")
  const end = () => {
    const all = Array.from(gathered.all.values())
    if (all.length === 0) throw new NoLatency(withoutBuckets)
    const families = familiesOf(all)
    Columns.refuseUnless(wanted === undefined || families.has(wanted), ask, Array.from(families.keys()))
    for (const buckets of all) {
      const { family, labels } = buckets
      sink.counted(
        { field: (name) => labels[name], route: () => keyOf(labels), series: family },
        piecesOf(buckets, unitOf(ask, family))
      )
    }
  }
  return {
    title: isText ? "Prometheus buckets" : "Prometheus buckets, a query's answer",
    split: isText ? "lines" : "whole",
    column: { name: wanted ?? "", unit: ask.unit ?? "s" },
    take: isText ? takeText(gathered.add, sink) : takeJson(gathered.add),
    end,
    prefers: (series) => (wanted === undefined ? likeliestFirst(series) : [wanted]),
    notes: (series) => notesOn(series, Array.from(gathered.all.values()))
  }
}

const unitOf = (ask: Ask, family: string): Unit => ask.unit ?? ofName(family) ?? "s"

/** With how many sets of labels. */
const familiesOf = (all: ReadonlyArray<Buckets>): ReadonlyMap<string, number> => {
  const sets = new Map<string, number>()
  for (const { family } of all) sets.set(family, (sets.get(family) ?? 0) + 1)
  return sets
}

/** A service's requests before its queues and its own upkeep. */
const likeliestFirst = (families: ReadonlyArray<string>): ReadonlyArray<string> => {
  const points = (family: string) =>
    Number(/duration|latency|time|seconds/.test(family)) * 4 +
    Number(/request|http|rpc|server/.test(family)) * 2 -
    Number(/queue|gc|process|scrape|sync/.test(family)) * 4
  return [...families].sort((a, b) => points(b) - points(a))
}

const notesOn = (family: string, all: ReadonlyArray<Buckets>): ReadonlyArray<string> => {
  const own = all.filter((buckets) => buckets.family === family)
  const others = Array.from(familiesOf(all).keys()).filter((each) => each !== family)
  const counts = own.flatMap(({ upTo }) => upTo.map(([, count]) => count))
  const together = own.length > 1 ? ` of ${own.length} sets of labels, added up` : ""
  return [
    `buckets: counts by buckets${together}; in a bucket latencies are taken to lie evenly, as histogram_quantile does`,
    ...(others.length === 0
      ? []
      : [
          `histograms: ${family} is one of ${others.length + 1}; --column chooses, ${Columns.list(others)} for example`
        ]),
    ...(counts.every(Number.isInteger)
      ? []
      : [
          "rates: the buckets hold rates and not counts, so intervals mean nothing; query increase() instead of rate()"
        ])
  ]
}

const takeText =
  (add: ReturnType<typeof gather>["add"], sink: Parameters<Format["open"]>[2]) =>
  (line: string, number: number): void => {
    if (line.startsWith("#")) return
    const [, name = "", labels, value = ""] = sample.exec(line) ?? []
    if (name === "") sink.skip("no sample of Prometheus", line, number)
    else if (!name.endsWith("_bucket") || !add(name, labelsOf(labels), numberOf(value))) {
      if (!/_(sum|count)$/.test(name)) sink.skip("another metric", line, number)
    }
  }

/** Of a range the increase from its beginning to its end; a counter that was reset counts from 0. */
const increaseOf = (values: ReadonlyArray<unknown>): number => {
  const counts = values.map((pair) => Number((pair as ReadonlyArray<unknown>)[1]))
  return counts
    .slice(1)
    .reduce((sum, count, i) => sum + (count >= counts[i]! ? count - counts[i]! : count), 0)
}

const takeJson =
  (add: ReturnType<typeof gather>["add"]) =>
  (text: string): void => {
    const found = resultOf(Json.parse(text))
    if (!Array.isArray(found)) throw new NoLatency("is no answer of Prometheus: it has no data.result")
    for (const each of found) {
      const labels = (Json.at(each, "metric") ?? {}) as Labels
      const value = Json.at(each, "value")
      const values = Json.at(each, "values")
      const { __name__: name = "", ...others } = labels
      if (Array.isArray(value)) add(name, others, Number(value[1]))
      else if (Array.isArray(values))
        add(name, others, values.length === 1 ? Number(values[0][1]) : increaseOf(values))
    }
  }

/** As the server answers, or as promtool prints it. */
const resultOf = (value: unknown): unknown =>
  Array.isArray(value) ? value : (Json.at(value, "data.result") ?? Json.at(value, "result"))

/** The labels that tell the sets apart, shortly. */
const keyOf = (labels: Labels): string =>
  Object.entries(labels)
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}=${value}`)
    .join(" ")

const withoutBuckets =
  "it holds no histogram buckets (…_bucket with a label le); summaries cannot be planned from"

const isExposition = ({ lines }: Head): boolean =>
  /^# (HELP|TYPE) /.test(lines[0] ?? "") || lines.slice(0, 20).some((line) => /_bucket\{.*le="/.test(line))

const isAnswer = ({ text }: Head): boolean =>
  /^\s*\{\s*"status"\s*:\s*"success"/.test(text) ||
  /^\s*[[{][\s\S]{0,400}"metric"\s*:\s*\{[^}]*"le"\s*:/.test(text)

export const prometheus: Format = {
  name: "prometheus",
  recognise: (head) => isExposition(head) || isAnswer(head),
  open
}
