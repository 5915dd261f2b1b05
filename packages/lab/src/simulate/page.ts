/** What was simulated, as a page. */
import { type CallGroup, evenly, largest } from "../html/call.js"
import * as Cdf from "../html/cdf.js"
import * as Looks from "../html/looks.js"
import * as OverTime from "../html/overTime.js"
import { type Block, type Page, type Section, table, text } from "../html/page.js"
import * as Sweep from "../html/sweep.js"
import * as Timeline from "../html/timeline.js"
import { type Row, type Side, warmUpOf } from "./experiment.js"
import type { Records } from "./records.js"
import * as Report from "./report.js"
import type { Load, Settings } from "./settings.js"
import { times } from "./statistics.js"
import type { Line } from "./suite/line.js"
import { verdict } from "./verdict.js"

const looks = { unhedged: Looks.plain, hedged: Looks.hedged, idle: Looks.others[0]! }
const sides = ["unhedged", "hedged", "idle"] as const

export const page = (settings: Settings, rows: ReadonlyArray<Row>, records: Records): Page => ({
  title: "hedge-lab simulate: hedging and servers with queues",
  lead: Report.heading(settings),
  verdict: verdict(rows),
  warnings: [],
  sections: [
    {
      heading: "Figures",
      blocks: [
        table("What became of the calls at each load", Report.tableRows(settings, rows), 2),
        text(...Report.notes(settings)),
        ...sweep(settings, rows)
      ]
    },
    ...settings.loads.map((load) => sectionOf(settings, load, records))
  ]
})

const sweep = ({ loads }: Settings, rows: ReadonlyArray<Row>): ReadonlyArray<Block> =>
  Sweep.chart({
    caption: "P99 by how busy the servers are",
    axis: "utilisation without hedges",
    settings: loads.map(Report.loadName),
    label: "P99",
    series: sides.flatMap((side) => {
      const of = rows.filter((row) => row.side === side)
      return of.length === 0
        ? []
        : [{ name: Report.sides[side], look: looks[side], values: of.map(({ p99 }) => p99) }]
    })
  })

const sectionOf = (settings: Settings, load: Load, records: Records): Section => {
  const name = Report.loadName(load)
  return {
    heading: `At a load of ${name}`,
    blocks: [
      ...latencies(settings, load, name, records),
      ...timeline(settings, load, name, records),
      ...extraLoad(settings, load, name, records)
    ]
  }
}

const latencies = (
  { calls, hedging }: Settings,
  load: Load,
  name: string,
  records: Records
): ReadonlyArray<Block> =>
  Cdf.chart({
    caption: `Share of calls that were answered by a time, at ${name}`,
    curves: Array.from(records.of(load), ([side, { outcomes }]) => {
      const sorted = times(outcomes!, warmUpOf(calls))
      return {
        name: Report.sides[side],
        look: looks[side],
        n: sorted.length,
        quantile: Cdf.ofSorted(sorted)
      }
    }),
    percentiles: [0.5, 0.95, 0.99, 0.999, 0.9999],
    marks: hedging._tag === "Fixed" ? [{ name: "first hedge", ms: hedging.delayMs }] : []
  })

/** How many calls are shown for each reason. */
const shown = 8

const timeline = ({ calls }: Settings, load: Load, name: string, records: Records): ReadonlyArray<Block> => {
  const hedged = records.of(load).get("hedged")!
  const plain = records.of(load).get("unhedged")!.outcomes!.elapsed
  const from = warmUpOf(calls)
  const all = Array.from({ length: calls - from }, (_, i) => from + i)
  const group = (title: string, indices: ReadonlyArray<number>): CallGroup => ({
    title,
    calls: indices.map((index) => hedged.call(index, plain))
  })
  const slowest = (elapsed: Float64Array) => largest(shown, elapsed.subarray(from)).map((i) => from + i)
  const withHedge = all.filter((index) => hedged.outcomes!.hedges[index]! > 0)
  const count = (list: ReadonlyArray<number>) => list.length.toLocaleString("en-US")
  return Timeline.chart({
    caption: `Some hedged calls, attempt by attempt, at ${name}`,
    groups: [
      group(`The ${shown} slowest without hedges`, slowest(plain)),
      group(`The ${shown} slowest with hedges`, slowest(hedged.outcomes!.elapsed)),
      group(
        `${Math.min(shown, withHedge.length)} of the ${count(withHedge)} with a hedge`,
        evenly(shown, withHedge)
      ),
      group(`${shown} of the ${count(all)} calls`, evenly(shown, all))
    ],
    notes: [
      "Chosen by rule, not by looks: those that took longest, and from those in the order in which they came every so many. A call comes at the same time and draws the same first latency with and without hedges, but servers may be busy with other things."
    ]
  })
}

const extraLoad = (
  { cluster, hedging }: Settings,
  load: Load,
  name: string,
  records: Records
): ReadonlyArray<Block> => {
  const series = Array.from(records.of(load)).flatMap(([side, { outcomes }]) => {
    if (side === "unhedged") return []
    const { hedges, startedAt } = outcomes!
    const stretches = OverTime.stretches(startedAt, hedges, startedAt[startedAt.length - 1]!)
    return [{ name: Report.sides[side], look: looks[side satisfies Side], stretches }]
  })
  const { slowdown } = cluster
  return OverTime.chart({
    caption: `Hedges per call as the load went on, at ${name}`,
    series,
    budget: hedging.extraLoad,
    ...(slowdown === undefined
      ? {}
      : { shade: { name: "slowdown", fromMs: slowdown.from, toMs: slowdown.to } }),
    notes: ["Hedges count when their call came. 10 hedges more are allowed in advance."]
  })
}

/** The suite's, for people. */
export const suitePage = (seed: number, lines: ReadonlyArray<Line>): Page => {
  const missed = lines.filter(({ ok }) => !ok)
  return {
    title: "hedge-lab simulate --suite: what is promised of policies that tune themselves",
    lead: [`Simulated with seed ${seed}.`],
    verdict: [
      missed.length === 0
        ? `All ${lines.length} promises are kept.`
        : `Missed: ${missed.map(({ name }) => name).join("; ")}.`
    ],
    warnings: [],
    sections: [
      {
        heading: "Figures",
        blocks: [table("Each promise: what was reached, and what it may be", Report.suiteRows(lines))]
      }
    ]
  }
}
