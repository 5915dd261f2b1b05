/**
 * What staggered copies do to a tail when every copy's latency is drawn independently.
 *
 * With S(u) = P(X > u), S = 1 for u ≤ 0, and attempts that start at 0 = d₀ ≤ d₁ ≤ …, a call is unanswered at t with
 * probability Π S(t − dᵢ), and costs Σ_{i≥1} Π_{j<i} S(dᵢ − dⱼ) requests beyond the first.
 */
import type { Survival } from "./latency.js"

/** Absorbs rounding where a survival function lies exactly on the tail probability. */
const slack = 1 + 1e-9

/** The probability that no attempt has answered by `ms`. */
export const miss =
  (survival: Survival, starts: ReadonlyArray<number>): Survival =>
  (ms) =>
    starts.reduce((product, start) => product * survival(ms - start), 1)

/** Requests per call beyond the first, if every hedge that is due is sent. */
export const extraLoad = (survival: Survival, starts: ReadonlyArray<number>): number =>
  starts.slice(1).reduce((sum, start, index) => sum + miss(survival, starts.slice(0, index + 1))(start), 0)

/** The least time by which a share `p` has been answered. */
export const quantile = (missing: Survival, p: number): number => {
  const answered = (ms: number) => missing(ms) <= (1 - p) * slack
  let high = 1
  while (!answered(high)) high *= 2
  return leastWhere(answered, 0, high)
}

/** The least number in (low, high] that satisfies a condition which, once true, stays so; `high` must satisfy it. */
export const leastWhere = (
  condition: (x: number) => boolean,
  low: number,
  high: number,
  steps = 60
): number => {
  for (let step = 0; step < steps; step++) {
    const middle = (low + high) / 2
    if (condition(middle)) high = middle
    else low = middle
  }
  return high
}

/** A hedge after every so many milliseconds, within a budget of hedges per call. */
export interface FixedDelay {
  readonly delayMs: number
  readonly maxAttempts: number
  readonly extraLoad: number
}

/** When a fixed delay starts its attempts. */
export const fixedStarts = ({ delayMs, maxAttempts }: FixedDelay): ReadonlyArray<number> =>
  Array.from({ length: maxAttempts }, (_, index) => index * delayMs)

export interface Prediction {
  readonly miss: Survival
  readonly extraLoad: number
}

/** What a fixed delay should do: calls beyond the budget go out unhedged, and no attempt goes out after the time-out. */
export const predict = (survival: Survival, hedging: FixedDelay, timeoutMs = Infinity): Prediction => {
  const starts = fixedStarts(hedging).filter((start) => start < timeoutMs)
  const wanted = extraLoad(survival, starts)
  return mixed(survival, starts, Math.min(1, hedging.extraLoad / wanted))
}

/** What attempts at these times should do, if only a share of calls is hedged. */
export const mixed = (survival: Survival, starts: ReadonlyArray<number>, share: number): Prediction => {
  const hedged = miss(survival, starts)
  return {
    miss: share < 1 ? (ms) => share * hedged(ms) + (1 - share) * survival(ms) : hedged,
    extraLoad: share * extraLoad(survival, starts)
  }
}

/** The percentile of a single call that is percentile `p` of a page of `fanOut` independent calls. */
export const pagePercentile = (p: number, fanOut: number): number => p ** (1 / fanOut)
