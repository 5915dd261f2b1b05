/** The plan as a page. */
import * as Cdf from "../html/cdf.js"
import * as Looks from "../html/looks.js"
import { type Block, code, type Page, type Section, table, text } from "../html/page.js"
import * as Sweep from "../html/sweep.js"
import { missOf, quantileOf } from "./choice.js"
import type { Copies } from "./copies.js"
import { type Goals, percentiles, type Row } from "./plan.js"
import type { Part, Report } from "./report.js"
import * as Table from "./reportTable.js"
import * as Say from "./say.js"

export const page = ({ keys, measured, moreKeys, settings: { ask, goals }, whole }: Report): Page => ({
  title: `hedge-lab plan: ${measured.file}`,
  lead: Table.heading(measured),
  verdict: [whole.verdict.words],
  warnings: whole.warnings,
  sections: [
    { heading: "Plan", blocks: blocksOf(whole, goals, "of all calls") },
    ...keys.map((part): Section => {
      const name = `${ask.key} ${part.key}`
      return {
        heading: `${name}: ${Table.latencies(part.outlook.n)}`,
        blocks: [
          text(part.verdict.words, ...part.warnings.map((warning) => `Caution: ${warning}`)),
          ...blocksOf(part, goals, `of ${name}`)
        ]
      }
    }),
    ...(moreKeys === 0
      ? []
      : [
          {
            heading: "Other keys",
            blocks: [text(`${Say.plural(moreKeys, "key")} with fewer calls not shown.`)]
          }
        ])
  ]
})

const blocksOf = (part: Part, goals: Goals, whose: string): ReadonlyArray<Block> => [
  table(
    `What the best policy under each budget should do for the latencies ${whose}`,
    Table.rows(part.outlook, goals)
  ),
  ...policies(part, whose),
  ...latencies(part, whose),
  ...sweep(part, goals, whose)
]

const policies = ({ policy, verdict: { row } }: Part, whose: string): ReadonlyArray<Block> => {
  if (policy === null || row === undefined) return []
  const { adaptive, fixed } = policy
  return [
    code(`With ${Say.percent(row.extraLoad)} extra load, as code, for the latencies ${whose}:`, fixed),
    ...(adaptive === null
      ? []
      : [
          code(
            `Or with delays that it learns, and that follow when latencies change, for the latencies ${whose}:`,
            adaptive
          )
        ])
  ]
}

const latencies = (part: Part, whose: string): ReadonlyArray<Block> => {
  const { evidence, verdict } = part
  const { distribution } = evidence
  const { row } = verdict
  return Cdf.chart({
    caption: `Share of calls answered by a time, ${whose}`,
    curves: [
      { name: "as recorded", look: Looks.plain, n: distribution.n, quantile: distribution.quantile },
      ...(row === undefined ? [] : [forecast(part, row)])
    ],
    percentiles: [...Object.values(percentiles), 0.9999],
    marks: row?.delaysMs[0] === undefined ? [] : [{ name: "first hedge", ms: row.delaysMs[0] }],
    notes:
      row === undefined
        ? []
        : [
            "The forecast ends where the record puts no bound on it. The area around it lies between the bounds, of which each holds for 95 % of records like this one."
          ]
  })
}

/** As the table forecasts it: nothing where the data put no upper bound on it. */
const forecast = ({ evidence, outlook }: Part, row: Row): Cdf.Curve => {
  const { copies, distribution, high, low } = evidence
  const latest = distribution.max + (row.delaysMs.at(-1) ?? 0)
  const by = (of: Copies) => {
    const missing = missOf(of, row)
    return (p: number) => quantileOf(missing, p, latest)
  }
  const [expected, most] = [by(copies), by(high)]
  return {
    name: `forecast, ${Say.percent(row.extraLoad)} extra load`,
    look: Looks.hedged,
    n: outlook.n,
    quantile: (p) => (most(p) === Infinity ? Infinity : expected(p)),
    bounds: { low: by(low), high: most }
  }
}

const sweep = (
  { outlook: { oracle, rows, unhedged } }: Part,
  { objective }: Goals,
  whose: string
): ReadonlyArray<Block> => {
  const calls = rows.filter(({ fanOut }) => fanOut === 1)
  const label = Say.labels[objective]
  const settings = ["none", ...calls.map(({ extraLoad }) => Say.percent(extraLoad))]
  return Sweep.chart({
    caption: `${label} by the extra load that is allowed, ${whose}`,
    axis: "extra load",
    settings,
    label,
    series: [
      {
        name: "forecast, and its 95 % interval",
        look: Looks.hedged,
        values: [unhedged[objective], ...calls.map((row) => row[objective])],
        intervals: [unhedged, ...calls].map((figures) => figures.ci[objective])
      },
      {
        name: "the least that any policy could reach",
        look: Looks.others[0]!,
        values: [unhedged[objective], ...oracle.filter(({ fanOut }) => fanOut === 1).map(({ ms }) => ms)]
      }
    ]
  })
}
