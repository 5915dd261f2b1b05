import { edges } from "./histogram.js"
import type { Survival } from "./survival.js"

/**
 * When to send hedges, and how likely: with SingleR the first is sent at `delays[0]` after the start with probability `sends[0]`, if no answer
 * has come, and the second, of an attempt that was given a first, at `delays[1]` with probability `sends[1]`.
 */
export interface Solution {
  readonly delays: ReadonlyArray<number>
  readonly sends: ReadonlyArray<number>
  /** Hedges per call that it will take. */
  readonly load: number
}

export interface Problem {
  /** Hedges per call that may be sent. */
  readonly extraLoad: number
  /** The quantile that is to be least. */
  readonly objective: number
  /** Hedges that one call may send: 1 or 2. */
  readonly hedges: number
}

export const noHedge: Solution = { delays: [], sends: [], load: 0 }

/** An exact optimum fits the sample, not what it is a sample of: the search is for a tail a tenth smaller. */
const margin = 0.9
/** A delay may be chosen so that its cost is the budget. */
const rounding = 1 + 1e-9
/** A gain of less than this share is half the width of a bucket: none that can be told. */
const leastGain = 0.004

// --- what a solution does ----------------------------------------------------------------------------------------------

/** The probability that no attempt has answered by `t`. */
export const missOf = (survival: Survival, { delays, sends }: Solution, t: number): number => {
  let miss = 1
  for (let i = delays.length - 1; i >= 0; i--)
    miss = 1 - sends[i]! + sends[i]! * survival.ofCopy(t, delays[i]!) * miss
  return miss * survival.of(t)
}

/** Hedges per call, if nothing refuses one. */
export const loadOf = (survival: Survival, { delays, sends }: Solution): number => {
  let load = 0
  let chosen = 1
  for (let i = 0; i < delays.length; i++) {
    chosen *= sends[i]!
    let open = survival.of(delays[i]!)
    for (let j = 0; j < i; j++) open *= survival.of(delays[i]! - delays[j]!)
    load += chosen * open
  }
  return load
}

/** The time by which a share `p` of calls has been answered under a solution. */
export const hedgedQuantile = (survival: Survival, solution: Solution, p: number): number => {
  const left = 1 - p + 1e-12
  let low = 0
  let high = survival.quantile(p)
  for (let step = 0; step < 40; step++) {
    const middle = (low + high) / 2
    if (missOf(survival, solution, middle) <= left) high = middle
    else low = middle
  }
  return high
}

/** How likely the first hedge is to answer before the primary, if the two are independent. */
export const winShareOf = (survival: Survival, { delays }: Solution): number => {
  const { at, first, last } = survival
  const delay = delays[0]
  if (delay === undefined) return 0
  const open = survival.of(delay)
  if (!(open > 0)) return 0
  let share = 0
  for (let i = first; i <= last; i++) {
    const mass = at[i]! - at[i + 1]!
    if (mass > 0) share += mass * survival.of(delay + (edges[i]! + edges[i + 1]!) / 2)
  }
  return share / open
}

// --- the search --------------------------------------------------------------------------------------------------------

/**
 * The best of what was tried. Each try asks first whether it beats the best until now at all; most do not, so that thousands of tries cost little.
 * It is one object with fields, since it runs within somebody's call.
 */
class Search {
  delay = Number.NaN
  second = Number.NaN
  /** How many calls are given the first hedge alone, and how many both. */
  private alone = 0
  private both = 0

  constructor(
    private readonly survival: Survival,
    private readonly extraLoad: number,
    /** The tail's probability. */
    private readonly tail: number,
    /** The time by which all but the tail has been answered. */
    public time: number
  ) {}

  /** Tries one hedge. */
  one(delay: number): void {
    if (this.improve(delay, Number.NaN)) {
      this.delay = delay
      this.second = Number.NaN
    }
  }

  /** Tries two. */
  two(delay: number, second: number): void {
    if (delay >= 0 && second >= delay && this.improve(delay, second)) {
      this.delay = delay
      this.second = second
    }
  }

  get solution(): Solution {
    const { delay, second, survival } = this
    this.miss(delay, second, this.time)
    const { alone, both } = this
    const pair = both > 0
    const delays = pair ? [delay, second] : [delay]
    const sends = pair ? [alone + both, both / (alone + both)] : [alone]
    return { delays, sends, load: loadOf(survival, { delays, sends, load: 0 }) }
  }

  /** Lowers the best time as far as these delays allow. */
  private improve(delay: number, second: number): boolean {
    let high = this.time * (1 - 1e-4)
    let low = Number.isNaN(second) ? delay : second
    if (low >= high || this.miss(delay, second, high) > this.tail) return false
    while (high - low > high * 1e-5) {
      const middle = (low + high) / 2
      if (this.miss(delay, second, middle) > this.tail) low = middle
      else high = middle
    }
    this.time = high
    return true
  }

  /** The least probability of no answer by `t` that the budget pays for with these delays, and how it is spent for that. */
  private miss(delay: number, second: number, t: number): number {
    const { extraLoad, survival } = this
    const cost = survival.of(delay)
    const left = survival.ofCopy(t, delay)
    this.both = 0
    this.alone = cost > extraLoad * rounding ? extraLoad / cost : 1
    let answered = 1 - left
    if (Number.isNaN(second)) answered *= this.alone
    else {
      const gain = 1 - left
      const secondCost = survival.of(second) * survival.of(second - delay)
      const secondGain = left * (1 - survival.of(t - second))
      // Gain and cost are linear in how many calls get what, so the budget goes to the better bargain first: to first hedges, and what is left to
      // second ones; or, where a second gains more for its cost than a first, to both together.
      if (secondGain * cost > gain * secondCost) {
        this.both = Math.min(1, extraLoad / (cost + secondCost))
        this.alone = 0
      } else if (cost < extraLoad) {
        this.both = secondCost > extraLoad - cost ? (extraLoad - cost) / secondCost : 1
        this.alone = 1 - this.both
      }
      answered = this.alone * gain + this.both * (gain + secondGain)
    }
    return survival.of(t) * (1 - answered)
  }
}

const searchOne = (search: Search, survival: Survival, extraLoad: number): void => {
  const { at, first, last } = survival
  search.one(0)
  // where the budget just pays for a hedge of every call that is still open
  if (extraLoad < 1) search.one(survival.quantile(1 - extraLoad))
  for (let i = first; i <= last && edges[i]! < search.time; i++) {
    // while nothing is answered a hedge only gets worse
    if (at[i] !== at[i - 1]) search.one(edges[i]!)
  }
  for (let step = search.delay / 256; step > search.delay / 4096; step /= 2) {
    search.one(search.delay - step)
    search.one(search.delay + step)
  }
}

/** Delays that are spread over the times, over their probabilities, and, as long before the end, over those of the last answer. */
const delaysFor = (survival: Survival, end: number, tail: number): Float64Array => {
  const each = 20
  const delays = new Float64Array(1 + 3 * each)
  const least = edges[survival.first]!
  for (let i = 0; i < each; i++) {
    const share = (i + 0.5) / each
    const level = survival.quantile(1 - tail ** share)
    delays[1 + 3 * i] = level
    delays[2 + 3 * i] = Math.max(0, end - level)
    delays[3 + 3 * i] = least + (end - least) * share
  }
  return delays.sort()
}

const searchTwo = (search: Search, survival: Survival, tail: number): void => {
  const delays = delaysFor(survival, search.time, tail)
  for (let i = 0; i < delays.length; i++) {
    for (let j = i; j < delays.length && delays[j]! < search.time; j++) search.two(delays[i]!, delays[j]!)
  }
  if (Number.isNaN(search.second)) return
  for (let step = search.time / 16; step > search.time / 4096; step /= 2) {
    let before = Infinity
    while (search.time < before) {
      before = search.time
      const { delay, second } = search
      for (const a of [-step, 0, step]) for (const b of [-step, 0, step]) search.two(delay + a, second + b)
    }
  }
}

/**
 * The delays and probabilities with which the objective quantile is least while the hedges stay within the budget, if copies are independent.
 *
 * @see https://doi.org/10.1145/3087556.3087566 "Optimal Reissue Policies for Reducing Tail Latency" (SingleD, SingleR)
 */
export const solve = (survival: Survival, { extraLoad, hedges, objective }: Problem): Solution => {
  if (survival.finished === 0) return noHedge
  const tail = margin * (1 - objective)
  const unhedged = survival.quantile(1 - tail)
  const search = new Search(survival, extraLoad, tail, unhedged)
  searchOne(search, survival, extraLoad)
  if (hedges > 1) searchTwo(search, survival, tail)
  const gains = search.time <= unhedged * (1 - leastGain)
  return gains && !Number.isNaN(search.delay) ? search.solution : noHedge
}

/** The least extra load with which a condition holds of its solution; undefined if none does that sends less than one hedge for each call. */
export const leastLoad = (
  survival: Survival,
  problem: Omit<Problem, "extraLoad">,
  holds: (solution: Solution) => boolean
): number | undefined => {
  // 0 is not found by halving
  if (holds(noHedge)) return 0
  const isEnough = (extraLoad: number) => holds(solve(survival, { ...problem, extraLoad }))
  let high = 1
  if (!isEnough(high)) return undefined
  let low = 0
  while (high - low > 0.01 * high) {
    const middle = (low + high) / 2
    if (isEnough(middle)) high = middle
    else low = middle
  }
  return high
}
