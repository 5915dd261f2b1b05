/** The report as a page. */
import * as Cdf from "../html/cdf.js"
import * as Looks from "../html/looks.js"
import * as OverTime from "../html/overTime.js"
import { type Block, type Page, table, text } from "../html/page.js"
import * as Timeline from "../html/timeline.js"
import { medianOf } from "../median.js"
import type { Result } from "./experiment.js"
import type { Forecast } from "./forecast.js"
import type { ClientReport, Trace } from "./protocol.js"
import type { Settings, Side } from "./settings.js"
import { pages, percentile, percentiles } from "./summary.js"
import * as Table from "./table.js"
import * as Verdict from "./verdict.js"

/** What a page shows and a summary has no place for, round by round. */
export class Rounds {
  private readonly latencies: Record<Side, Array<ReadonlyArray<number>>> = { plain: [], hedged: [] }
  /** Of the first round. */
  trace: Trace | null = null

  constructor(private readonly fanOut: number) {}

  add(side: Side, report: ClientReport): void {
    this.latencies[side].push(pages(report.latencies, this.fanOut).toSorted((a, b) => a - b))
    this.trace ??= report.trace
  }

  /** The median of the rounds, at each percentile. */
  curve(side: Side): Cdf.Curve {
    const rounds = this.latencies[side]
    return {
      name: side,
      look: side === "plain" ? Looks.plain : Looks.hedged,
      n: rounds[0]?.length ?? 0,
      quantile: (p) => medianOf(rounds.map((sorted) => percentile(sorted, p))) ?? Infinity
    }
  }
}

export const page = (
  settings: Settings,
  result: Result,
  forecast: Forecast | undefined,
  rounds: Rounds
): Page => ({
  title: "hedge-lab tail: plain and hedged calls",
  lead: Table.heading(settings),
  verdict: Verdict.verdict(settings, result),
  warnings: Verdict.doubts(settings, result),
  sections: [
    {
      heading: "Figures",
      blocks: [
        table("What became of the calls, plain and hedged", Table.rows(settings, result, forecast)),
        text(...Table.notes(settings, result, forecast))
      ]
    },
    { heading: "Latencies", blocks: latencies(settings, result, rounds) },
    { heading: "Calls", blocks: calls(settings, rounds) },
    { heading: "Extra load", blocks: extraLoad(settings, rounds) }
  ]
})

const latencies = (
  { hedging, load, rounds: count, timeoutMs }: Settings,
  result: Result,
  rounds: Rounds
): ReadonlyArray<Block> => {
  const of = load.fanOut === 1 ? "calls" : "pages"
  return Cdf.chart({
    caption: `Share of ${of} that were answered by a time`,
    of,
    curves: [rounds.curve("plain"), rounds.curve("hedged")],
    percentiles: [...Object.values(percentiles), 0.9999],
    marks: [
      ...(hedging.delayMs === null || hedging.delayMs === 0
        ? []
        : [{ name: "first hedge", ms: hedging.delayMs }]),
      ...(timeoutMs === null ? [] : [{ name: "time-out", ms: timeoutMs }])
    ],
    notes: [
      ...(count === 1 ? [] : [`At each percentile the median of ${count} rounds.`]),
      ...(result.plain.failures + result.hedged.failures === 0
        ? []
        : ["Calls without an answer are later than every time: a curve ends below their share."])
    ]
  })
}

const calls = ({ rounds: count }: Settings, { trace }: Rounds): ReadonlyArray<Block> =>
  Timeline.chart({
    caption: "Some hedged calls, attempt by attempt",
    groups: trace?.groups ?? [],
    notes: [
      "Chosen by rule, not by looks: those that took longest, and from those in the order in which they were due every so many. An attempt ends here with its response's headers; the call when its body has been read.",
      ...ofFirst(count)
    ]
  })

const extraLoad = ({ hedging, load, rounds: count }: Settings, { trace }: Rounds): ReadonlyArray<Block> =>
  OverTime.chart({
    caption: "Hedges per call as the load went on",
    series: [{ name: "hedged", look: Looks.hedged, stretches: trace?.extraLoad ?? [] }],
    budget: hedging.extraLoad,
    notes: [
      load.rate === null
        ? "Hedges count when they were sent, and are a share of all calls, which were due at once."
        : "Hedges count when their call was due. 10 hedges more are allowed in advance.",
      ...ofFirst(count)
    ]
  })

const ofFirst = (rounds: number): ReadonlyArray<string> =>
  rounds === 1 ? [] : [`Of the first of ${rounds} rounds.`]
