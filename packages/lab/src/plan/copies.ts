/** What becomes of a call's copies: of independent ones by theory, of pairs that were measured together by counting. */
import type { Survival } from "../tail/latency.js"
import { firstWhere } from "./search.js"

export interface Copies {
  readonly survival: Survival
  /** The probability that a copy sent after `delay` is unanswered at `ms`, if the first one is. */
  readonly ofCopy: (ms: number, delay: number) => number
  /** More than these cannot be told anything about. */
  readonly mostAttempts: 2 | 3
}

export const independent = (survival: Survival): Copies => ({
  survival,
  ofCopy: (ms, delay) => survival(ms - delay),
  mostAttempts: 3
})

/**
 * @param firsts the latency of each call's first copy; `seconds` of a second, sent at the same moment.
 * @param correct what is made of a share that was counted.
 */
export const paired = (
  firsts: Float64Array,
  seconds: Float64Array,
  correct: (share: number) => number = (share) => share
): Copies => {
  const n = firsts.length
  const order = Array.from(firsts.keys()).sort((a, b) => firsts[a]! - firsts[b]!)
  const first = Float64Array.from(order, (i) => firsts[i]!)
  const second = Float64Array.from(order, (i) => seconds[i]!)
  const countUpTo = (ms: number) => firstWhere(n, (i) => first[i]! > ms)
  const survival: Survival = (ms) => (ms <= 0 ? 1 : correct((n - countUpTo(ms)) / n))
  return {
    survival,
    ofCopy: (ms, delay) => {
      let both = 0
      for (let i = countUpTo(ms); i < n; i++) if (second[i]! > ms - delay) both++
      const alone = survival(ms)
      return alone === 0 ? 0 : correct(both / n) / alone
    },
    mostAttempts: 2
  }
}
