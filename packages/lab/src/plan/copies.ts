/** What becomes of a call's copies: of independent ones by theory, of pairs that were measured together by counting. */
import type { Survival } from "../tail/latency.js"
import * as Theory from "../tail/theory.js"

export interface Copies {
  readonly survival: Survival
  /** The probability that none of the copies that start at these times has answered. */
  readonly miss: (starts: ReadonlyArray<number>) => Survival
  /** More than these cannot be told anything about. */
  readonly mostAttempts: number
}

/** The third copy is the last that pays, at budgets for extra load that anybody would spend. */
const mostAttempts = 3

export const independent = (survival: Survival): Copies => ({
  survival,
  miss: (starts) => Theory.miss(survival, starts),
  mostAttempts
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
  const share = (ms: number, delay: number): number => {
    let missed = 0
    for (let i = 0; i < n; i++) if (firsts[i]! > ms && seconds[i]! > ms - delay) missed++
    return correct(missed / n)
  }
  const alone: Survival = (ms) => (ms <= 0 ? 1 : share(ms, Infinity))
  return {
    survival: alone,
    miss: ([, delay]) => (delay === undefined ? alone : (ms) => (ms <= 0 ? 1 : share(ms, delay))),
    mostAttempts: 2
  }
}
