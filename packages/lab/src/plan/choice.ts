/**
 * A policy in numbers: a hedge when it is due, if nothing has answered, with a probability; and another after it. With one hedge this is SingleR
 * (T. Kaler, Y. He and S. Elnikety, "Optimal reissue policies for reducing tail latency", SPAA 2017).
 */
import type { Survival } from "../tail/latency.js"
import { leastWhere } from "../tail/theory.js"
import type { Copies } from "./copies.js"

export interface Choice {
  /** When each hedge is due, from the start of the call. */
  readonly delaysMs: ReadonlyArray<number>
  /** How likely each is to be sent then; the second only in a call that was given the first. */
  readonly probabilities: ReadonlyArray<number>
}

export const unhedged: Choice = { delaysMs: [], probabilities: [] }

/** The probability that a call is unanswered at a time. */
export const missOf =
  (copies: Copies, { delaysMs, probabilities }: Choice): Survival =>
  (ms) =>
    copies.survival(ms) *
    delaysMs.reduceRight(
      (miss, delay, i) => 1 - probabilities[i]! + probabilities[i]! * copies.ofCopy(ms, delay) * miss,
      1
    )

/** Hedges per call. */
export const loadOf = (copies: Copies, { delaysMs, probabilities }: Choice): number => {
  let chosen = 1
  return delaysMs.reduce((load, delay, i) => {
    chosen *= probabilities[i]!
    const earlier = delaysMs.slice(0, i)
    return (
      load +
      chosen * earlier.reduce((open, each) => open * copies.ofCopy(delay, each), copies.survival(delay))
    )
  }, 0)
}

/** The time by which a share has been answered; Infinity if that is not known. */
export const quantileOf = (missing: Survival, p: number, latest: number): number => {
  const answered = (ms: number) => missing(ms) <= (1 - p) * (1 + 1e-9)
  return answered(latest) ? leastWhere(answered, 0, latest) : Infinity
}
