/** What hedging would do for the latencies that were measured. */
import { delaysFor, ideal, idealAmong, type Point } from "../tail/oracle.js"
import { pagePercentile } from "../tail/theory.js"
import { type Choice, hedgesOf, loadOf, missOf, probabilityFor, quantileOf, unhedged } from "./choice.js"
import * as Copies from "./copies.js"
import type { Distribution } from "./distribution.js"
import * as Interval from "./interval.js"
import type { Group } from "./samples.js"
import { solve } from "./solve.js"

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

/** Pairs are counted anew for every delay that is tried; more than these say little more. */
const mostPairs = 20_000

/**
 * What copies do, as far as is known, and between which bounds.
 *
 * Bounds hold for each P(X > t) by itself; a hedged call misses by a product of two of these, so its interval is wider than 95 %.
 */
export interface Evidence {
  readonly distribution: Distribution
  readonly copies: Copies.Copies
  readonly low: Copies.Copies
  readonly high: Copies.Copies
  /** The calls that the bounds are of: fewer than there are if calls resemble those before them. */
  readonly effective: number
}

export const independent = (distribution: Distribution, effective: number): Evidence => {
  const bounds = Interval.bounds(effective)
  const bound = (side: 0 | 1) =>
    Copies.independent((ms) =>
      ms <= 0 ? 1 : bounds.of(Math.round(distribution.survival(ms) * effective * 1e6) / 1e6)[side]
    )
  return {
    distribution,
    copies: Copies.independent(distribution.survival),
    low: bound(0),
    high: bound(1),
    effective
  }
}

export const paired = ({ distribution, ordered }: Group, effective: number): Evidence => {
  const firsts = thin(ordered!.values)
  const seconds = thin(ordered!.seconds!)
  const n = Math.min(effective, firsts.length)
  const bounds = Interval.bounds(n)
  const bound = (side: 0 | 1) => Copies.paired(firsts, seconds, (share) => bounds.of(share * n)[side])
  return {
    distribution,
    copies: Copies.paired(firsts, seconds),
    low: bound(0),
    high: bound(1),
    effective: n
  }
}

/** Every so many, at most as many as are wanted. */
const thin = (values: Float64Array): Float64Array => {
  const step = Math.ceil(values.length / mostPairs)
  return step <= 1 ? values : values.filter((_, i) => i % step === 0)
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

/**
 * Calls that may miss the time that is aimed at: by one standard error less than the percentile allows, and not less than
 * half of it, so that the policy does not hang on the last few latencies that were seen.
 */
const allowedMiss = (p: number, n: number): number =>
  Math.max((1 - p) / 2, 1 - p - Math.sqrt((p * (1 - p)) / n))

const rowOf = (evidence: Evidence, extraLoad: number, fanOut: number, objective: Percentile): Row => {
  const { copies, distribution, effective } = evidence
  const p = pagePercentile(percentiles[objective], fanOut)
  const found = solve(copies, {
    p,
    miss: allowedMiss(p, effective),
    budget: extraLoad,
    latest: distribution.max
  })
  const choice = rounded(copies, found, extraLoad)
  const { figures, load } = figuresOf(evidence, choice, fanOut)
  return { fanOut, extraLoad, ...choice, expectedLoad: load, ...figures }
}

/** A delay as it would be written down, rounded up, so that it sends no more. */
const rounded = (copies: Copies.Copies, choice: Choice, budget: number): Choice => {
  if (choice.attempts === 1) return choice
  const delayMs = roundUp(choice.delayMs)
  const probability = probabilityFor(hedgesOf(copies, delayMs, choice.attempts), budget)
  return { ...choice, delayMs, probability: Math.floor(probability * 1_000 + 1e-9) / 1_000 }
}

/** To three digits, and no finer than a microsecond. */
const roundUp = (ms: number): number => {
  const unit = Math.max(1e-3, 10 ** (Math.floor(Math.log10(Math.max(ms, 1e-9))) - 2))
  const digits = Math.max(0, -Math.floor(Math.log10(unit)))
  return Number((Math.ceil(ms / unit - 1e-9) * unit).toFixed(digits))
}

const figuresOf = ({ copies, distribution, high, low }: Evidence, choice: Choice, fanOut: number) => {
  const latest = distribution.max + (choice.attempts - 1) * choice.delayMs
  const [missing, least, most] = [copies, low, high].map((each) => missOf(each, choice))
  const intervals = mapTimes((name): readonly [number | null, number | null] => {
    const p = pagePercentile(percentiles[name], fanOut)
    return [orNull(quantileOf(least!, p, latest)), orNull(quantileOf(most!, p, latest))]
  })
  const figures: Figures = {
    // what the data put no upper bound on they do not promise
    ...mapTimes((name) =>
      intervals[name][1] === null
        ? null
        : orNull(quantileOf(missing!, pagePercentile(percentiles[name], fanOut), latest))
    ),
    ci: intervals
  }
  return { figures, load: loadOf(hedgesOf(copies, choice.delayMs, choice.attempts), choice.probability) }
}

/** What was measured is no promise: it is given whatever its interval. */
const plainFigures = (evidence: Evidence, fanOut: number): Figures => ({
  ...mapTimes((name) => orNull(evidence.distribution.quantile(pagePercentile(percentiles[name], fanOut)))),
  ci: figuresOf(evidence, unhedged, fanOut).figures.ci
})

const boundOf = ({ copies, distribution }: Evidence, row: Row, objective: Percentile): Bound => {
  const { extraLoad, fanOut } = row
  const p = pagePercentile(percentiles[objective], fanOut)
  const plain = distribution.quantile(p)
  if (plain === Infinity) return { fanOut, extraLoad, ms: null }
  const knots = [distribution.quantile(1 - Math.min(1, extraLoad)), row.delayMs].filter(
    (knot) => knot < Infinity
  )
  const best =
    copies.mostAttempts > 2
      ? ideal(copies.survival, p, extraLoad, knots)
      : idealAmong((ms) => pairSchedules(copies, ms, knots), p, extraLoad, plain)
  return { fanOut, extraLoad, ms: Math.min(best, row[objective] ?? Infinity) }
}

/** No hedge, or one at each of these delays. */
const pairSchedules = (copies: Copies.Copies, ms: number, knots: ReadonlyArray<number>): Array<Point> => [
  { load: 0, miss: copies.survival(ms) },
  ...delaysFor(ms, knots)
    .filter((_, i) => i % 4 === 0)
    .map((delay) => ({ load: copies.survival(delay), miss: copies.miss([0, delay])(ms) }))
]

/** The row that does most for the percentile that is aimed at. */
export const bestOf = (rows: ReadonlyArray<Row>, objective: Percentile): Row | undefined =>
  rows
    .filter(({ attempts, fanOut }) => attempts > 1 && fanOut === 1)
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
