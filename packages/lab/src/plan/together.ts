/** Whether calls come slow together, and what a hedge would do if it did, too. */
import * as Choice from "./choice.js"
import * as Copies from "./copies.js"
import * as Dependence from "./dependence.js"
import type { Row } from "./plan.js"
import type { Group } from "./samples.js"

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
  const correlation = Dependence.autocorrelation(ordered.values)
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
