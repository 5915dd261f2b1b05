/**
 * A policy in numbers: a copy after a delay, with a probability; another after the same delay, with the same probability; and
 * so on. With two attempts this is SingleR (T. Kaler, Y. He and S. Elnikety, "Optimal reissue policies for reducing
 * tail latency", SPAA 2017).
 */
import type { Survival } from "../tail/latency.js"
import * as Theory from "../tail/theory.js"
import type { Copies } from "./copies.js"

export interface Choice {
  readonly delayMs: number
  readonly probability: number
  readonly attempts: number
}

export const unhedged: Choice = { delayMs: 0, probability: 0, attempts: 1 }

const starts = (delayMs: number, attempts: number) =>
  Theory.fixedStarts({ delayMs, maxAttempts: attempts, extraLoad: 0 })

/** The probability that a call is unanswered at a time. */
export const missOf = (copies: Copies, { attempts, delayMs, probability }: Choice): Survival => {
  const misses = Array.from({ length: attempts }, (_, hedges) => copies.miss(starts(delayMs, hedges + 1)))
  const weights = misses.map((_, hedges) =>
    hedges === attempts - 1 ? probability ** hedges : probability ** hedges * (1 - probability)
  )
  return (ms) => misses.reduce((sum, miss, i) => (weights[i] === 0 ? sum : sum + weights[i]! * miss(ms)), 0)
}

/** Hedges per call at full probability: the first, the second, … */
export const hedgesOf = (copies: Copies, delayMs: number, attempts: number): ReadonlyArray<number> =>
  Array.from({ length: attempts - 1 }, (_, hedges) =>
    copies.miss(starts(delayMs, hedges + 1))((hedges + 1) * delayMs)
  )

/** Hedges per call. */
export const loadOf = (hedges: ReadonlyArray<number>, probability: number): number =>
  hedges.reduce((sum, sent, i) => sum + sent * probability ** (i + 1), 0)

/** The greatest probability of a hedge with which a budget for extra load holds. */
export const probabilityFor = (hedges: ReadonlyArray<number>, budget: number): number => {
  if (loadOf(hedges, 1) <= budget) return 1
  if (hedges.length === 1) return budget / hedges[0]!
  return Theory.leastWhere((probability) => loadOf(hedges, probability) >= budget, 0, 1)
}

/** The time by which a share has been answered; Infinity if that is not known. */
export const quantileOf = (missing: Survival, p: number, latest: number): number => {
  const answered = (ms: number) => missing(ms) <= (1 - p) * (1 + 1e-9)
  return answered(latest) ? Theory.leastWhere(answered, 0, latest) : Infinity
}
