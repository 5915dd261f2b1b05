/** Whether calls that follow each other are slow together: then so would be a call and its hedge. */
import * as Choice from "./choice.js"
import * as Copies from "./copies.js"
import type { Row } from "./plan.js"
import type { Group } from "./samples.js"
import { firstWhere } from "./search.js"

/** Each value's rank among all, those that are equal sharing theirs. */
const ranks = (values: Float64Array): Float64Array => {
  const sorted = values.slice().sort()
  const below = (value: number) => firstWhere(sorted.length, (i) => sorted[i]! >= value)
  const upTo = (value: number) => firstWhere(sorted.length, (i) => sorted[i]! > value)
  return values.map((value) => (below(value) + upTo(value)) / 2)
}

const correlation = (a: Float64Array, b: Float64Array): number => {
  const mean = (xs: Float64Array) => xs.reduce((sum, x) => sum + x, 0) / xs.length
  const meanA = mean(a)
  const meanB = mean(b)
  let both = 0
  let squaresA = 0
  let squaresB = 0
  for (let i = 0; i < a.length; i++) {
    both += (a[i]! - meanA) * (b[i]! - meanB)
    squaresA += (a[i]! - meanA) ** 2
    squaresB += (b[i]! - meanB) ** 2
  }
  return both === 0 ? 0 : both / Math.sqrt(squaresA * squaresB)
}

/** Spearman's rank correlation of two columns. */
export const rankCorrelation = (a: Float64Array, b: Float64Array): number => correlation(ranks(a), ranks(b))

/** The rank correlation of each value with the next. */
export const autocorrelation = (values: Float64Array): number => {
  const all = ranks(values)
  return correlation(all.subarray(0, -1), all.subarray(1))
}

/** The shortest stretch, as a share of all values, in which this share of those above a limit lie. */
export const shortestStretch = (values: Float64Array, limit: number, share: number): number => {
  const above: Array<number> = []
  values.forEach((value, i) => {
    if (value > limit) above.push(i)
  })
  const wanted = Math.ceil(above.length * share)
  if (wanted < 2) return 1
  let shortest = values.length
  for (let i = 0; i + wanted <= above.length; i++) {
    shortest = Math.min(shortest, above[i + wanted - 1]! - above[i]! + 1)
  }
  return shortest / values.length
}

/** What the order of time says. */
export interface Togetherness {
  /** The rank correlation of a call's latency with the next one's; null if the order is not known. */
  readonly correlation: number | null
  /** Whether it is too much for copies to be independent. */
  readonly isDependent: boolean
  /** As many independent calls would tell as much. */
  readonly effective: number
}

/** A correlation below this changes little. */
const muchCorrelation = 0.3

/** Fewer calls have no order to speak of. */
const fewestInOrder = 30

export const togetherness = ({ distribution, ordered }: Group): Togetherness => {
  const { n } = distribution
  const none = { correlation: null, isDependent: false, effective: n }
  if (ordered === undefined || ordered.values.length < fewestInOrder) return none
  const correlation = autocorrelation(ordered.values)
  const isDependent = correlation >= muchCorrelation && correlation > 3 / Math.sqrt(ordered.values.length)
  // of a sequence in which each depends on the one before it
  return {
    correlation,
    isDependent,
    effective: isDependent ? (n * (1 - correlation)) / (1 + correlation) : n
  }
}

/** What a policy would reach if each call's hedge took as long as the call after it: slow calls then come together as they did. */
export const asSlowAsTheNext = (values: Float64Array, row: Row, p: number, latest: number): number | null => {
  const copies = Copies.paired(values.subarray(0, -1), values.subarray(1))
  const [delayMs = 0] = row.delaysMs
  const one = { delaysMs: row.delaysMs.slice(0, 1), probabilities: row.probabilities }
  const ms = Choice.quantileOf(Choice.missOf(copies, one), p, latest + delayMs)
  return ms === Infinity ? null : ms
}
