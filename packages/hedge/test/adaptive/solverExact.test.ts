import { describe, expect, it } from "@effect/vitest"
import { bucketOf, edges, Histogram } from "../../src/internal/histogram.js"
import { Pairs } from "../../src/internal/pairs.js"
import {
  hedgedQuantile,
  leastLoad,
  loadOf,
  missOf,
  noHedge,
  type Problem,
  type Solution,
  solve,
  winShareOf
} from "../../src/internal/solver.js"
import { Survival } from "../../src/internal/survival.js"

const hedges = (delays: ReadonlyArray<number>, sends: ReadonlyArray<number>): Solution => ({
  delays,
  sends,
  load: 0
})

/** Four of five take 8 to 16 ms, the fifth 64 to 128 ms, all of them equally likely: the ends of buckets, so that S is exact. */
const bimodal = new Survival().sample((t) => {
  if (t < 16) return 1 - 0.1 * Math.max(0, t - 8)
  return t < 64 ? 0.2 : (0.2 * Math.max(0, 128 - t)) / 64
}, 1000)

/** So many, in the bucket in which some milliseconds lie. */
const some = (...groups: ReadonlyArray<readonly [count: number, millis: number]>): Survival => {
  const histogram = new Histogram()
  for (const [count, millis] of groups)
    for (let i = 0; i < count; i++) histogram.add(2 * bucketOf(millis) + 1)
  return new Survival().fill(histogram)
}

const halfSlow = some([32, 1], [28, 19], [3, 33])

/** The objective of which the tail that is searched for is this: a tenth less than what may be late. */
const objectiveOf = (tail: number): number => 1 - tail / 0.9

/** What the solver reaches. */
const timeOf = (survival: Survival, solution: Solution, tail: number): number =>
  hedgedQuantile(survival, solution, 1 - tail)

describe("what a solution does to the fifth that is slow", () => {
  for (const [name, delays, sends, t, miss] of [
    ["none", [], [], 32, 0.2],
    ["one at 16 ms, once it may have answered", [16], [1], 32, 0.2 * 0.2],
    ["one at 16 ms, half-way", [16], [1], 28, 0.2 * 0.6],
    ["one at 16 ms, before it is sent", [16], [1], 12, 0.6],
    ["one in half of the calls", [16], [0.5], 32, 0.2 * (0.5 + 0.5 * 0.2)],
    ["one in no call", [16], [0], 32, 0.2],
    ["two", [16, 24], [1, 1], 40, 0.2 ** 3],
    ["two, before the second is sent", [16, 36], [1, 1], 32, 0.2 ** 2],
    ["two by chance", [16, 24], [0.5, 0.25], 40, 0.2 * (0.5 + 0.5 * 0.2 * (0.75 + 0.25 * 0.2))]
  ] as const) {
    it(`${name}: ${miss.toFixed(4)} are open at ${t} ms`, () =>
      expect(missOf(bimodal, hedges(delays, sends), t)).toBeCloseTo(miss, 9))
  }

  for (const [delays, sends, load] of [
    [[], [], 0],
    [[0], [0.3], 0.3],
    [[12], [0.5], 0.3],
    [[16], [1], 0.2],
    [[200], [1], 0],
    [[16, 24], [1, 1], 0.2 + 0.2],
    [[16, 32], [1, 1], 0.2 + 0.2 * 0.2],
    [[12, 24], [1, 1], 0.6 + 0.2 * 0.6],
    [[16, 32], [0.5, 0.25], 0.1 + 0.125 * 0.04],
    [[16, 32, 48], [1, 1, 1], 0.2 + 0.04 + 0.008]
  ] as const) {
    it(`${load} hedges per call after ${delays.join(", ")} ms with ${sends.join(", ")}`, () =>
      expect(loadOf(bimodal, hedges(delays, sends))).toBeCloseTo(load, 9))
  }

  for (const [delays, sends, p, millis] of [
    [[], [], 0.6, 14],
    [[], [], 0.9, 96],
    [[16], [1], 0.96, 32],
    // (128 − t) (144 − t) = 2048
    [[16], [1], 0.98, 136 - Math.sqrt(64 + 2048)],
    [[16], [0.5], 0.88, 32],
    // (1 − 0.1 (t − 8))² = 0.5
    [[0], [1], 0.5, 8 + 10 * (1 - Math.SQRT1_2)],
    [[16, 32], [1, 1], 0.992, 48]
  ] as const) {
    it(`a share of ${p} is answered by ${millis} ms with ${sends.join(", ")} after ${delays.join(", ")} ms`, () =>
      expect(hedgedQuantile(bimodal, hedges(delays, sends), p)).toBeCloseTo(millis, 6))
  }

  it("a hedge wins where it is fast, and where it is slow but not by more than its delay", () => {
    expect(winShareOf(bimodal, hedges([], []))).toBe(0)
    expect(winShareOf(bimodal, hedges([128], [1]))).toBe(0)
    expect(winShareOf(bimodal, hedges([1000], [1]))).toBe(0)
    // of the slow, the two differ by more than 16 of 64 ms to one side
    expect(winShareOf(bimodal, hedges([16], [1]))).toBeCloseTo(0.8 + 0.2 * (0.75 ** 2 / 2), 9)
    // what is sent at once wins half of the time, even in one bucket
    for (const survival of [some([1, 10]), some([50, 10], [50, 20]), some([10, 10], [30, 20], [60, 30])])
      expect(winShareOf(survival, hedges([0], [1]))).toBeCloseTo(0.5, 9)
  })
})

describe("one hedge, of an optimum that is known", () => {
  for (const [name, extraLoad, tail, delay, send, time] of [
    ["the budget pays for just those that are slow", 0.2, 0.04, 16, 1, 32],
    ["it pays for more of them: a hedge goes sooner", 0.3, 0.04, 15, 1, 31],
    ["it does within a bucket", 0.203, 0.04, 15.97, 1, 31.97],
    ["it pays for half of them", 0.1, 0.12, 16, 0.5, 32],
    ["it pays for a quarter of them", 0.05, 0.16, 16, 0.25, 32],
    ["it pays for every call", 1, 0.04, 0, 1, 16]
  ] as const) {
    it(`${name}: ${send} after ${delay} ms`, () => {
      // what rounding takes from a tail at the very end of a plateau
      const problem = { extraLoad, objective: objectiveOf(tail * (1 + 1e-9)), hedges: 1 }
      const solution = solve(bimodal, problem)
      expect(solution.delays).toStrictEqual([expect.closeTo(delay, 3)])
      expect(solution.sends).toStrictEqual([expect.closeTo(send, 4)])
      expect(solution.load).toBeCloseTo(extraLoad, 4)
      expect(timeOf(bimodal, solution, tail * (1 + 2e-9)) / time).toBeCloseTo(1, 3)
    })
  }

  it("is certain where rounding alone puts its cost over the budget", () => {
    const survival = some([80, 10], [20, 100])
    const cost = survival.of(20)
    expect(
      solve(survival, { extraLoad: cost * (1 - 1e-10), objective: 0.95, hedges: 1 }).sends
    ).toStrictEqual([1])
    expect(
      solve(survival, { extraLoad: cost * (1 - 1e-8), objective: 0.95, hedges: 1 }).sends
    ).not.toStrictEqual([1])
  })

  it("is sent for a gain of more than 0.4 %, and not for less", () => {
    // S is 0.02 at 121.6 ms, and 0.4 % sooner 0.02152. A hedge 16 ms before that in q of the calls that are open leaves 1 − 0.8 q of them: q must be
    // 0.0883. Open are 0.0715, so that it costs 0.0063.
    for (const [extraLoad, isSent] of [
      [0.0061, false],
      [0.0065, true]
    ] as const)
      expect(solve(bimodal, { extraLoad, objective: objectiveOf(0.02), hedges: 1 }).delays.length > 0).toBe(
        isSent
      )
  })

  it("is none where nothing is gained, or nothing is known", () => {
    const problem = { extraLoad: 0.2, objective: 0.99, hedges: 2 }
    expect(solve(some([100, 10]), problem)).toBe(noHedge)
    expect(solve(new Survival(), problem)).toBe(noHedge)
    expect(solve(some([80, 10], [20, 100]), { ...problem, extraLoad: 0 })).toBe(noHedge)
  })
})

describe("two hedges, of an optimum that is known", () => {
  it("both go to each call that is still open, 15.75 ms apart", () => {
    // only when S(t), S(t − d₁) and S(t − d₂) are 0.2 each they make 0.008: d₁ is 16, and 0.2 + 0.2 S(d₂ − d₁) is the budget
    const problem = { extraLoad: 0.245, objective: objectiveOf(0.008 * (1 + 1e-6)), hedges: 2 }
    const solution = solve(bimodal, problem)
    expect(timeOf(bimodal, solution, 0.008 * (1 + 2e-6)) / 47.75).toBeLessThan(1.002)
    expect(solution.load).toBeLessThanOrEqual(0.245 * (1 + 1e-9))
    expect(solution.delays).toHaveLength(2)
    // one would not do
    expect(timeOf(bimodal, solve(bimodal, { ...problem, hedges: 1 }), 0.008)).toBeGreaterThan(64)
  })

  it("are both left to chance where a second gains more for its cost than the first", () => {
    // nearly half are slow: the budget pays for a first to each of them, or for both to four of five
    const problem = { extraLoad: 0.6, objective: 0.95, hedges: 2 }
    const { delays, sends } = solve(halfSlow, problem)
    expect(delays).toHaveLength(2)
    expect(sends[1]).toBe(1)
    const [first, second] = delays as [number, number]
    const cost = halfSlow.of(first) + halfSlow.of(second) * halfSlow.of(second - first)
    expect(sends[0]).toBeCloseTo(0.6 / cost, 9)
    expect(sends[0]).toBeLessThan(0.85)
  })

  it("are a first that is certain, and a second by what it leaves of the budget", () => {
    // Open are 0.2 at 16 ms and 0.04 at 32: half of the seconds are paid for. Of those that are slow 0.8 + 0.5 · 0.2 · (1 − S(t − 32)) are answered by t,
    // which is 0.84 at 44. To give both to fewer calls takes until 45.8.
    const problem = { extraLoad: 0.22, objective: objectiveOf(0.032 * (1 + 1e-9)), hedges: 2 }
    const solution = solve(bimodal, problem)
    expect(timeOf(bimodal, solution, 0.032) / 44).toBeLessThan(1.002)
    expect(solution.sends[0]).toBe(1)
    expect(solution.sends[1]).toBeGreaterThan(0.3)
    expect(solution.sends[1]).toBeLessThan(0.7)
    expect(solution.load).toBeCloseTo(0.22, 9)
  })

  it("are one where a second gains nothing", () => {
    const problem = { extraLoad: 0.2, objective: objectiveOf(0.04 * (1 + 1e-9)), hedges: 2 }
    expect(solve(bimodal, problem).delays).toStrictEqual([expect.closeTo(16, 3)])
  })
})

describe("the least load", () => {
  const problem = { objective: objectiveOf(0.04), hedges: 1 }

  for (const needed of [0.02, 0.05, 0.1, 0.19])
    it(`of which solutions take ${needed} is that, or up to 1 % more`, () => {
      const found = leastLoad(bimodal, problem, ({ load }) => load >= needed)!
      expect(found).toBeGreaterThanOrEqual(needed)
      expect(found).toBeLessThanOrEqual(needed / 0.99)
    })

  it("is as much as one hedge for each call, if it takes that, and none if that is not enough", () => {
    const tried: Array<number> = []
    const atOnce = ({ delays, load }: Solution) => {
      tried.push(load)
      return delays[0] === 0 && load === 1
    }
    expect(leastLoad(bimodal, problem, atOnce)).toBe(1)
    // none, all, and 7 halvings: 1 % of 1 is more than 1/128
    expect(tried).toHaveLength(9)
    expect(leastLoad(bimodal, problem, () => false)).toBe(undefined)
  })

  it("is 0 at once where no hedge is needed", () => {
    const tried: Array<Solution> = []
    expect(leastLoad(bimodal, problem, (solution) => tried.push(solution) > 0)).toBe(0)
    expect(tried).toStrictEqual([noHedge])
  })
})

// --- by brute force ----------------------------------------------------------------------------------------------------

const tiny: Record<string, Survival> = {
  "three, one of them rare": some([70, 10], [25, 20], [5, 100]),
  "three, evenly": some([34, 10], [33, 20], [33, 40]),
  "four that double": some([50, 8], [25, 16], [15, 32], [10, 64]),
  five: some([40, 5], [30, 6], [15, 12], [10, 50], [5, 90]),
  six: some([10, 1], [20, 2], [30, 3], [20, 4], [15, 50], [5, 500]),
  "as many slow as not": halfSlow,
  "most are slow": some([30, 10], [70, 100])
}

/** Every time at which something may change, and some between. */
const timesOf = ({ at, first, last }: Survival, end: number, between: number): ReadonlyArray<number> => {
  const steps = [0]
  for (let i = first; i <= last; i++)
    if (at[i]! > at[i + 1]!)
      for (let j = 0; j <= between; j++) steps.push(edges[i]! + ((edges[i + 1]! - edges[i]!) * j) / between)
  const all = [...steps, ...steps.map((step) => end - step)]
  return [...new Set(all.filter((t) => t >= 0 && t < end))]
}

/** The least time after which a tail is left that a solution makes, to a millionth. */
const leastTime = (survival: Survival, { delays, sends }: Solution, tail: number, from: number): number => {
  let [low, high] = [0, from]
  const open = (t: number) =>
    delays.reduceRight((left, delay, i) => 1 - sends[i]! * (1 - survival.of(t - delay) * left), 1) *
    survival.of(t)
  if (open(high * 0.9999) > tail) return from
  while (high - low > 1e-6 * high) {
    const middle = (low + high) / 2
    if (open(middle) <= tail * (1 + 1e-9)) high = middle
    else low = middle
  }
  return high
}

const bestOfOne = (survival: Survival, { extraLoad }: Problem, tail: number): number => {
  let best = survival.quantile(1 - tail)
  for (let round = 0; round < 3; round++)
    for (const delay of timesOf(survival, best, 64)) {
      const send = Math.min(1, extraLoad / survival.of(delay))
      best = leastTime(survival, hedges([delay], [send]), tail, best)
    }
  return best
}

const bestOfTwo = (survival: Survival, problem: Problem, tail: number): number => {
  const { extraLoad } = problem
  let best = bestOfOne(survival, problem, tail)
  for (let round = 0; round < 2; round++) {
    const delays = timesOf(survival, best, 2)
    for (const delay of delays)
      for (const second of delays) {
        if (second < delay) continue
        const cost = survival.of(delay)
        const secondCost = survival.of(second) * survival.of(second - delay)
        for (const share of [0, 0.25, 0.5, 0.75, 1]) {
          // all that the budget pays for of the first, or of both, and between
          const least = Math.min(1, extraLoad / (cost + secondCost))
          const first = least + share * (Math.min(1, extraLoad / cost) - least)
          const both = Math.min(first, (extraLoad - first * cost) / secondCost)
          best = leastTime(survival, hedges([delay, second], [first, both / first]), tail, best)
        }
      }
  }
  return best
}

describe("pairs", () => {
  // of eight, three are slow, of which two are slow together
  const pairs = new Pairs([10, 10, 10, 10, 10, 100, 100, 100], [10, 10, 10, 10, 100, 10, 100, 100])

  it("are late together as often as they were", () => {
    const sent = hedges([20], [1])
    expect(missOf(pairs, sent, 40)).toBeCloseTo(2 / 8, 9)
    expect(missOf(pairs, hedges([20], [0.5]), 40)).toBeCloseTo((3 / 8) * (0.5 + 0.5 * (2 / 3)), 9)
    expect(missOf(pairs, sent, 29)).toBeCloseTo(3 / 8, 9)
    expect(loadOf(pairs, sent)).toBeCloseTo(3 / 8, 9)
  })

  it("are hedged where that reaches what is sought, as soon as the bucket of the fast is over", () => {
    const reached = solve(pairs, { extraLoad: 3 / 8, objective: objectiveOf(2.001 / 8), hedges: 1 })
    expect(reached.sends).toStrictEqual([1])
    expect(reached.delays).toStrictEqual([expect.closeTo(edges[bucketOf(10) + 1]!, 1)])
    expect(hedgedQuantile(pairs, reached, 1 - 2.001 / 8)).toBeCloseTo(reached.delays[0]! + 10, 1)
  })

  it("are not where two of eight must be late", () =>
    expect(solve(pairs, { extraLoad: 3 / 8, objective: objectiveOf(1 / 8), hedges: 1 })).toBe(noHedge))
})

describe("of tiny distributions", () => {
  for (const [name, survival] of Object.entries(tiny)) {
    for (const [extraLoad, objective] of [
      [0.02, 0.9],
      [0.05, 0.95],
      [0.1, 0.99],
      [0.3, 0.99],
      [0.6, 0.95],
      [1, 0.99],
      [1.5, 0.999]
    ] as const) {
      for (const [hedges, brute, bound] of [
        [1, bestOfOne, 1.001],
        [2, bestOfTwo, 1.004]
      ] as const) {
        it(`${name}: ${hedges} of ${extraLoad} for ${objective} is as good as the best of all`, () => {
          const tail = 0.9 * (1 - objective)
          const problem = { extraLoad, objective, hedges }
          const solution = solve(survival, problem)
          const best = brute(survival, problem, tail)
          const unhedged = survival.quantile(1 - tail)
          expect(solution.delays.length).toBeLessThanOrEqual(hedges)
          expect(solution.load).toBeCloseTo(loadOf(survival, solution), 12)
          expect(solution.load).toBeLessThanOrEqual(extraLoad * (1 + 1e-9))
          expect(solution.delays).toStrictEqual([0, ...solution.delays].sort((a, b) => a - b).slice(1))
          for (const send of solution.sends) expect(send).toBeLessThanOrEqual(1)
          // a gain of less than 0.4 % is left
          if (solution === noHedge) expect(best / unhedged).toBeGreaterThan(0.996 / bound)
          else expect(timeOf(survival, solution, tail) / best).toBeLessThan(bound)
        })
      }
    }
  }
})
