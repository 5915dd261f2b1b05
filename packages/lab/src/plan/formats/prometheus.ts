/** Histogram buckets of Prometheus: a scrape in the text format, or what a query answers as JSON. */
import { type Ask, type Format, type Head, NoLatency, type Piece, type Sink } from "../format.js"
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
  readonly upTo: Map<number, number>
}

const sample =
  /^([A-Za-z_:][\w:]*)(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?\s+(\S+)(?:\s+-?[\d.]+)?\s*(?:#.*)?$/
const label = /(?<![\w.])([A-Za-z_][\w.]*)\s*=\s*"((?:[^"\\]|\\.)*)"/g

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
      const known = all.get(key) ?? { family, labels, upTo: new Map() }
      known.upTo.set(numberOf(le), count)
      all.set(key, known)
      return true
    }
  }
}

const ascending = ({ upTo }: Buckets) => Array.from(upTo).sort(([a], [b]) => a - b)

/** A scrape may catch a bucket a moment before another; more than that is no rounding. */
const mostLost = 0.01

/** Whether a longer time holds fewer calls: then these are no cumulative counts. */
const falls = (buckets: Buckets): boolean => {
  const counts = ascending(buckets).map(([, count]) => count)
  const most = Math.max(...counts)
  return counts.some((count, i) => i > 0 && counts[i - 1]! - count > mostLost * most)
}

/** What each bucket holds by itself. The first begins at 0, the last has no end. */
const piecesOf = (buckets: Buckets, unit: Unit): ReadonlyArray<Piece> => {
  let from = 0
  let before = 0
  return ascending(buckets).flatMap(([le, count]) => {
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
    if (wanted === undefined && all.every(({ family }) => isNoTime(family))) {
      throw new NoLatency(`its histograms are of no time: ${Columns.list(Array.from(families.keys()))}`)
    }
    Columns.refuseUnless(wanted === undefined || families.has(wanted), ask, Array.from(families.keys()))
    for (const buckets of all) {
      const { family, labels } = buckets
      if (falls(buckets)) {
        sink.skip("buckets that are not cumulative", `${family} ${keyOf(labels)}`, 1)
        continue
      }
      if (wanted === undefined && isNoTime(family)) continue
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
    take: isText ? takeText(gathered.add, sink) : takeJson(gathered.add, sink),
    end,
    prefers: (series) => (wanted === undefined ? likeliestFirst(series) : [wanted]),
    notes: (series) => notesOn(ask, series, Array.from(gathered.all.values()))
  }
}

const unitOf = (ask: Ask, family: string): Unit => ask.unit ?? ofName(family) ?? "s"

/** Histograms of sizes and numbers. */
const isNoTime = (family: string): boolean =>
  /(^|_)(bytes|size|length|ratio|total|depth)$|_(size|bytes)_/.test(family)

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

const notesOn = (ask: Ask, family: string, all: ReadonlyArray<Buckets>): ReadonlyArray<string> => {
  const own = all.filter((buckets) => buckets.family === family)
  const others = Array.from(familiesOf(all).keys()).filter((each) => each !== family)
  const counts = own.flatMap(({ upTo }) => Array.from(upTo.values()))
  const open = own.filter(({ upTo }) => !upTo.has(Infinity)).length
  const together = own.length > 1 ? ` of ${own.length} sets of labels, added up` : ""
  return [
    `buckets: counts by buckets${together}; in a bucket latencies are taken to lie evenly, as histogram_quantile does`,
    ...(ask.unit === undefined && ofName(family) === undefined && family !== ""
      ? [
          `unit: nothing gives the unit of ${family}; taken as s, as Prometheus would have it, --unit says otherwise`
        ]
      : []),
    ...(open === 0
      ? []
      : [
          `beyond: ${open} of ${own.length} histograms have no bucket +Inf, so calls beyond their last bucket are not known`
        ]),
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
  (add: ReturnType<typeof gather>["add"], sink: Sink) =>
  (line: string, number: number): void => {
    if (line.startsWith("#")) return
    const [, name = "", labels, value = ""] = sample.exec(line) ?? []
    if (name === "") sink.skip("no sample of Prometheus", line, number)
    else if (!name.endsWith("_bucket") || !add(name, labelsOf(labels), numberOf(value))) {
      if (!/_(sum|count)$/.test(name)) sink.skip("another metric", line, number)
    }
  }

/** What a pair of a time and a count says. */
const countOf = (pair: unknown): number => (Array.isArray(pair) ? Number(pair[1]) : Number.NaN)

/** Of a range the increase from its beginning to its end; a counter that was reset counts from 0. */
const increaseOf = (values: ReadonlyArray<unknown>): number => {
  const counts = values.map(countOf)
  if (counts.length === 1) return counts[0]!
  return counts
    .slice(1)
    .reduce((sum, count, i) => sum + (count >= counts[i]! ? count - counts[i]! : count), 0)
}

const takeJson =
  (add: ReturnType<typeof gather>["add"], sink: Sink) =>
  (text: string): void => {
    const answer = Json.parse(text)
    if (answer === undefined) throw new NoLatency("is no answer of Prometheus: its JSON is cut off or broken")
    const found = resultOf(answer)
    if (!Array.isArray(found)) throw new NoLatency("is no answer of Prometheus: it has no data.result")
    if (found.some((each) => Json.firstAt(each, ["histogram", "histograms"]) !== undefined)) {
      throw new NoLatency("native histograms are not read; query the classic buckets, sum by (le) (…_bucket)")
    }
    for (const each of found) {
      const { __name__: name = "", ...labels } = (Json.at(each, "metric") ?? {}) as Labels
      const values = Json.at(each, "values")
      const count = Array.isArray(values) ? increaseOf(values) : countOf(Json.at(each, "value"))
      if (!add(name, labels, count)) sink.skip("no count of a bucket", JSON.stringify(each), 1)
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
