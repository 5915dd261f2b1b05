/** The plan for programs. */
import type { Goals } from "./plan.js"
import * as Plan from "./plan.js"
import type { Part, Report } from "./report.js"

/** Times in milliseconds; null for what the data cannot tell. */
export const render = ({ keys, measured, moreKeys, settings: { ask, goals }, whole }: Report) => ({
  ...part(whole, goals),
  skippedLines: measured.skipped.reduce((sum, { count }) => sum + count, 0),
  skipped: measured.skipped,
  leftOut: measured.leftOut,
  source: {
    file: measured.file,
    format: measured.format,
    column: measured.column.name || measured.series,
    unit: measured.column.unit,
    filtered: measured.filtered
  },
  ...(ask.key === undefined
    ? {}
    : { keys: keys.map((each) => ({ key: each.key, ...part(each, goals) })), moreKeys })
})

const part = ({ outlook, policy, verdict, warnings }: Part, { objective }: Goals) => ({
  rows: outlook.rows.map((row) => ({
    extraLoad: row.extraLoad,
    delayMs: row.delaysMs[0] ?? null,
    probability: row.probabilities[0] ?? 0,
    attempts: 1 + row.delaysMs.length,
    ...figures(row),
    hedges: row.delaysMs.map((delayMs, i) => ({ delayMs, probability: row.probabilities[i]! })),
    expectedLoad: round(row.expectedLoad),
    fanOut: row.fanOut
  })),
  unhedged: {
    n: outlook.n,
    ...figures(outlook.unhedged),
    ...(outlook.pages.length === 0
      ? {}
      : { pages: outlook.pages.map((page) => ({ fanOut: page.fanOut, ...figures(page) })) })
  },
  oracle: outlook.oracle.map(({ extraLoad, fanOut, ms }) => ({ extraLoad, [objective]: round(ms), fanOut })),
  verdict: verdict.words,
  policy,
  warnings
})

const figures = (of: Plan.Figures) => ({
  ...Plan.mapTimes((name) => round(of[name])),
  ci: Plan.mapTimes((name) => of.ci[name].map(round))
})

/** To nanoseconds. */
const round = (value: number | null): number | null =>
  value === null ? null : Math.round(value * 1_000_000) / 1_000_000
