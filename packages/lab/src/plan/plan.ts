/** What hedging would do for the latencies that were measured. */
import { Duration } from "effect"
import { HedgeSchedule } from "effect-hedge"
import { pagePercentile } from "../tail/theory.js"
import { bound } from "./bound.js"
import { type Choice, loadOf, missOf, quantileOf, unhedged } from "./choice.js"
import type { Copies } from "./copies.js"
import type { Evidence } from "./evidence.js"

/** The percentiles of the report, and what they are called in it. */
export const percentiles = { p50: 0.5, p95: 0.95, p99: 0.99, p999: 0.999 } as const
export type Percentile = keyof typeof percentiles
export const names = Object.keys(percentiles) as ReadonlyArray<Percentile>

/** Milliseconds; null for what the data cannot tell. */
export type Times = Readonly<Record<Percentile, number | null>>

/** From, to; null for an end that the data cannot tell. */
export type Intervals = Readonly<Record<Percentile, readonly [number | null, number | null]>>

export interface Figures extends Times {
  readonly ci: Intervals
}

/** What the best policy does under one budget. */
export interface Row extends Choice, Figures {
  /** Of this many calls that make a page; 1 for calls. */
  readonly fanOut: number
  readonly extraLoad: number
  /** Hedges per call that it sends; less than its budget if more would gain nothing. */
  readonly expectedLoad: number
}

/** The least that any policy could reach under a budget, of the percentile that is aimed at. */
export interface Bound {
  readonly fanOut: number
  readonly extraLoad: number
  readonly ms: number | null
}

export interface Outlook {
  readonly n: number
  readonly unhedged: Figures
  readonly pages: ReadonlyArray<Figures & { readonly fanOut: number }>
  readonly rows: ReadonlyArray<Row>
  readonly oracle: ReadonlyArray<Bound>
}

export interface Goals {
  readonly objective: Percentile
  readonly extraLoads: ReadonlyArray<number>
  readonly fanOuts: ReadonlyArray<number>
}

export const outlook = (evidence: Evidence, { extraLoads, fanOuts, objective }: Goals): Outlook => {
  const plans = [1, ...fanOuts].flatMap((fanOut) => extraLoads.map((extraLoad) => ({ fanOut, extraLoad })))
  const rows = plans.map(({ extraLoad, fanOut }) => rowOf(evidence, extraLoad, fanOut, objective))
  return {
    n: evidence.distribution.n,
    unhedged: plainFigures(evidence, 1),
    pages: fanOuts.map((fanOut) => ({ fanOut, ...plainFigures(evidence, fanOut) })),
    rows,
    oracle: rows.map((row) => boundOf(evidence, row, objective))
  }
}

const rowOf = (evidence: Evidence, extraLoad: number, fanOut: number, objective: Percentile): Row => {
  const choice = rounded(
    evidence.copies,
    solve(evidence, extraLoad, pagePercentile(percentiles[objective], fanOut)),
    extraLoad
  )
  return {
    fanOut,
    extraLoad,
    ...choice,
    expectedLoad: loadOf(evidence.copies, choice),
    ...figuresOf(evidence, choice, fanOut)
  }
}

/** A third attempt has to gain this much. */
const worthAnAttempt = 0.02

const solve = ({ copies, known }: Evidence, extraLoad: number, p: number): Choice => {
  const [two, three] = [2, 3]
    .filter((attempts) => attempts <= copies.mostAttempts)
    .map((maxAttempts) => HedgeSchedule.solve(known, { extraLoad, objective: p, maxAttempts }))
  const ms = (solution: HedgeSchedule.Solution) => Duration.toMillis(solution.quantile(p))
  const best = three !== undefined && ms(three) < ms(two!) * (1 - worthAnAttempt) ? three : two!
  return { delaysMs: best.delays.map(Duration.toMillis), probabilities: best.probabilities }
}

/** As it would be written down; what the solver took from buckets is held to the budget by the latencies themselves. */
const rounded = (copies: Copies, { delaysMs, probabilities }: Choice, budget: number): Choice => {
  const choice = { delaysMs: delaysMs.map(roundUp), probabilities }
  const load = loadOf(copies, choice)
  // what a policy sends is in proportion to how likely its first hedge is
  const scale = (probability: number, i: number) =>
    i > 0 || load === 0 ? probability : Math.min(1, (probability * budget) / load)
  return {
    ...choice,
    probabilities: probabilities.map((each, i) => -roundUp(-scale(each, i)))
  }
}

/** To three digits. */
const roundUp = (value: number): number => {
  const decimals = value === 0 ? 0 : 2 - Math.floor(Math.log10(Math.abs(value)))
  // powers of ten are exact only where they are whole
  const [times, per] = decimals > 0 ? [10 ** decimals, 1] : [1, 10 ** -decimals]
  return (Math.ceil((value * times) / per - 1e-9) * per) / times
}

const figuresOf = (
  { copies, distribution, high, low }: Evidence,
  choice: Choice,
  fanOut: number
): Figures => {
  const latest = distribution.max + (choice.delaysMs.at(-1) ?? 0)
  const by = (of: Copies, name: Percentile) =>
    orNull(quantileOf(missOf(of, choice), pagePercentile(percentiles[name], fanOut), latest))
  const ci = mapTimes((name) => [by(low, name), by(high, name)] as const)
  // what the data put no upper bound on they do not promise
  return { ...mapTimes((name) => (ci[name][1] === null ? null : by(copies, name))), ci }
}

/** What was measured is no promise: it is given whatever its interval. */
const plainFigures = (evidence: Evidence, fanOut: number): Figures => ({
  ...mapTimes((name) => orNull(evidence.distribution.quantile(pagePercentile(percentiles[name], fanOut)))),
  ci: figuresOf(evidence, unhedged, fanOut).ci
})

const boundOf = (evidence: Evidence, { extraLoad, fanOut }: Row, objective: Percentile): Bound => ({
  fanOut,
  extraLoad,
  ms: orNull(bound(evidence, pagePercentile(percentiles[objective], fanOut), extraLoad))
})

/** The row that does most for the percentile that is aimed at. */
export const bestOf = (rows: ReadonlyArray<Row>, objective: Percentile): Row | undefined =>
  rows
    .filter(({ delaysMs, fanOut }) => delaysMs.length > 0 && fanOut === 1)
    .reduce<Row | undefined>(
      (best, row) =>
        best === undefined || (row[objective] ?? Infinity) < (best[objective] ?? Infinity) ? row : best,
      undefined
    )

export const mapTimes = <A>(f: (name: Percentile) => A): Readonly<Record<Percentile, A>> => ({
  p50: f("p50"),
  p95: f("p95"),
  p99: f("p99"),
  p999: f("p999")
})

const orNull = (ms: number): number | null => (ms === Infinity ? null : ms)
