/** The best policy under a budget for extra load, found by trying. */
import * as Theory from "../tail/theory.js"
import { type Choice, hedgesOf, loadOf, missOf, probabilityFor, quantileOf, unhedged } from "./choice.js"
import type { Copies } from "./copies.js"

export interface Aim {
  /** The percentile that should come early. */
  readonly p: number
  /** How many calls may miss the time that is aimed at: less than 1 − p leaves a margin. */
  readonly miss: number
  /** Hedges per call. */
  readonly budget: number
  /** The latest latency there is. */
  readonly latest: number
}

/** Delays are tried on a grid, half of them evenly in time and half evenly in what they send; then around the best. */
const gridSize = 200
const roundsOfRefinement = 3

/** A third attempt has to gain this much. */
const worthAnAttempt = 0.02

/** What does not gain this much is not tried further. */
const leastGain = 1e-4

/** The policy with the least time by which all but a share `miss` have been answered; without a hedge if none gains. */
export const solve = (copies: Copies, aim: Aim): Choice => {
  let best = { choice: unhedged, ms: quantileOf(copies.survival, 1 - aim.miss, aim.latest) }
  for (let attempts = 2; attempts <= copies.mostAttempts; attempts++) {
    const found = search(copies, aim, attempts, best.ms)
    if (found !== undefined && found.ms < best.ms * (attempts === 2 ? 1 - leastGain : 1 - worthAnAttempt)) {
      best = found
    }
  }
  return best.choice
}

const search = (copies: Copies, aim: Aim, attempts: number, ms: number) => {
  let best: { readonly choice: Choice; readonly ms: number } | undefined
  const attempt = (delayMs: number) => {
    const probability = probabilityFor(hedgesOf(copies, delayMs, attempts), aim.budget)
    const choice = { delayMs, probability, attempts }
    const missing = missOf(copies, choice)
    const reached = (t: number) => missing(t) <= aim.miss * (1 + 1e-9)
    const goal = (best?.ms ?? ms) * (1 - leastGain)
    if (goal < Infinity ? !reached(goal) : !reached(aim.latest + delayMs)) return
    best = { choice, ms: Theory.leastWhere(reached, 0, goal < Infinity ? goal : aim.latest + delayMs) }
  }
  const [grid, last] = delays(copies, aim, attempts)
  grid.forEach(attempt)
  let step = last / gridSize
  for (let round = 0; round < roundsOfRefinement && best !== undefined; round++) {
    const around = best.choice.delayMs
    for (let i = -10; i <= 10; i++) attempt(Math.min(last, Math.max(0, around + (i * step) / 10)))
    step /= 10
  }
  return best
}

/** None above the last: from there on even hedges that are always sent do not use up the budget. */
const delays = (
  copies: Copies,
  { budget, latest }: Aim,
  attempts: number
): readonly [ReadonlyArray<number>, number] => {
  const isWithin = (delay: number) => loadOf(hedgesOf(copies, delay, attempts), 1) <= budget
  const last = isWithin(0) ? 0 : isWithin(latest) ? Theory.leastWhere(isWithin, 0, latest) : latest
  const evenly = Array.from({ length: gridSize + 1 }, (_, i) => (last * i) / gridSize)
  const bySent = Array.from({ length: gridSize }, (_, i) =>
    quantileOf(copies.survival, 1 - Math.min(1, budget) ** (i / gridSize), latest)
  )
  return [[...evenly, ...bySent].filter((delay) => delay <= last), last]
}
