/** The report as a page. */
import * as Cdf from "../html/cdf.js"
import * as Looks from "../html/looks.js"
import { type Block, type Page, table, text } from "../html/page.js"
import * as Timeline from "../html/timeline.js"
import type { Result } from "./experiment.js"
import { rowOf } from "./row.js"
import { nameOf, type Settings } from "./settings.js"
import * as Table from "./table.js"

const looks = [Looks.plain, Looks.hedged, ...Looks.others]

export const page = (settings: Settings, results: ReadonlyArray<Result>): Page => ({
  title: "hedge-lab hol: small requests beside long streams",
  lead: Table.heading(settings),
  verdict: verdict(settings, results),
  warnings: Table.remarks(results),
  sections: [
    {
      heading: "Figures",
      blocks: [
        table("What became of the probes, by mode", Table.rows(settings, results)),
        text(...Table.notes(settings))
      ]
    },
    {
      heading: "Latencies",
      blocks: [
        ...latencies(settings, results, "Share of plain probes that were answered by a time", false),
        ...latencies(settings, results, "Share of hedged probes that were answered by a time", true)
      ]
    },
    { heading: "Probes", blocks: results.flatMap(probes) }
  ]
})

const probes = ({ mode, rounds }: Result): ReadonlyArray<Block> =>
  Timeline.chart({
    caption: `Some probes attempt by attempt, ${nameOf(mode)}`,
    groups: rounds[0]?.report.calls ?? [],
    notes: [
      "Chosen by rule, not by looks: those that took longest, and from those in the order in which they started every so many. An attempt ends here with its response's headers.",
      ...(rounds.length === 1 ? [] : [`Of the first of ${rounds.length} rounds.`])
    ]
  })

const latencies = (
  { hedging, timeoutMs }: Settings,
  results: ReadonlyArray<Result>,
  caption: string,
  hedged: boolean
): ReadonlyArray<Block> =>
  Cdf.chart({
    caption,
    of: "probes",
    curves: results
      .filter(({ mode }) => (mode.hedgeOn !== null) === hedged)
      .map(({ mode, rounds }, i) => {
        // a probe without an answer is later than every time
        const sorted = rounds
          .flatMap(({ report }) => report.outcomes.latencies)
          .map((latency) => latency ?? Number.POSITIVE_INFINITY)
          .sort((a, b) => a - b)
        const look = looks[i % looks.length]!
        return { name: nameOf(mode), look, n: sorted.length, quantile: Cdf.ofSorted(sorted) }
      }),
    percentiles: [0.5, 0.95, 0.99],
    marks: [
      ...(hedged && hedging.afterMs > 0 ? [{ name: "first hedge", ms: hedging.afterMs }] : []),
      { name: "time-out", ms: timeoutMs }
    ],
    notes: ["A curve ends below the share of probes that got no answer."]
  })

const verdict = ({ timeoutMs }: Settings, results: ReadonlyArray<Result>): ReadonlyArray<string> => {
  const rows = results
    .map((result) => rowOf(result, timeoutMs))
    .sort((a, b) => (a.p95Ms ?? Infinity) - (b.p95Ms ?? Infinity))
  const said = rows.map(
    ({ mode, ok, p95Ms, started }) =>
      `${mode}: P95 ${p95Ms === null ? "unknown" : `${p95Ms} ms`}, ${ok} of ${started} answered`
  )
  const hedges = rows
    .filter(({ hedgesSent }) => hedgesSent > 0)
    .map(({ hedgesSent, hedgesWon, mode }) => `${mode}: ${hedgesWon} of ${hedgesSent} hedges won`)
  return [
    said.length === 1 ? `${said[0]}.` : `From the soonest to the latest. ${said.join("; ")}.`,
    ...(hedges.length === 0
      ? []
      : [`A copy down the connection that made its primary late cannot be sooner. ${hedges.join("; ")}.`])
  ]
}
