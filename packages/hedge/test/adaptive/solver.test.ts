import { describe, expect, it } from "@effect/vitest"
import { Duration } from "effect"
import { HedgeSchedule, LatencyEstimator } from "effect-hedge"
import { reaches } from "../../src/internal/adaptiveSchedule.js"
import { Histogram, sampleOf } from "../../src/internal/histogram.js"
import { Pairs } from "../../src/internal/pairs.js"
import { hedgedQuantile, leastLoad, loadOf, missOf, solve, winShareOf } from "../../src/internal/solver.js"
import { Survival } from "../../src/internal/survival.js"
import { draws, type Latency, logNormal, pareto, random, sometimes, times, uniform, w2 } from "./samples.js"

const survivalOf = (latencies: ReadonlyArray<number>): Survival => {
  const histogram = new Histogram("wide")
  for (const millis of latencies) histogram.add(sampleOf(millis, true))
  return new Survival().fill(histogram)
}

/** A survival function that is all but exact: of evenly spread draws of a mixture of uniform latencies, given as [share, from, to]. */
const exactly = (...parts: ReadonlyArray<readonly [share: number, from: number, to: number]>): Survival =>
  survivalOf(
    parts.flatMap(([share, from, to]) => {
      const count = Math.round(share * 1e6)
      return Array.from({ length: count }, (_, i) => from + ((to - from) * (i + 0.5)) / count)
    })
  )

/** A distribution that nobody thought of. */
const anyLatency = (u: () => number): Latency => {
  const scale = 10 ** (4 * u() - 1)
  const one = (): Latency => {
    const kind = u()
    if (kind < 0.4) return logNormal(0, 0.1 + 1.4 * u())
    if (kind < 0.6) return uniform(u(), 1 + 4 * u())
    if (kind < 0.8) return pareto(1 + 2 * u(), 0.5)
    return uniform(1, 1.02)
  }
  const usual = one()
  if (u() < 0.25) return times(scale, usual)
  const share = 10 ** (-3 * u() - 0.3)
  return times(scale, sometimes(share, times(1 + 30 * u(), one()), usual))
}

const pick = <A>(u: () => number, ...choices: ReadonlyArray<A>): A =>
  choices[Math.floor(u() * choices.length)]!

/** The tail that the solver solves for. */
const sought = (objective: number): number => 1 - 0.9 * (1 - objective)

/** The least t in a range with a property that, once true, stays so. */
const leastWhere = (holds: (t: number) => boolean, low: number, high: number): number => {
  for (let step = 0; step < 22; step++) {
    const middle = (low + high) / 2
    if (holds(middle)) high = middle
    else low = middle
  }
  return high
}

const grid = (survival: Survival, end: number, size: number): Array<number> => [
  ...Array.from({ length: size }, (_, i) => (end * i) / size),
  ...Array.from({ length: size }, (_, i) => survival.quantile(1 - 0.0003 ** ((i + 0.5) / size))),
  ...Array.from({ length: size }, (_, i) => end - survival.quantile(1 - 0.0003 ** ((i + 0.5) / size)))
]

describe("one hedge", () => {
  it("is within 0.5 % of a brute-force search, on 200 random distributions, and never over the budget", () => {
    const u = random(11)
    for (let i = 0; i < 200; i++) {
      const survival = survivalOf(draws(anyLatency(u), 20_000, i))
      const extraLoad = pick(u, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
      const objective = pick(u, 0.9, 0.95, 0.99, 0.999)
      const solution = solve(survival, { extraLoad, objective, hedges: 1 })
      expect(loadOf(survival, solution)).toBeLessThanOrEqual(extraLoad * (1 + 1e-9))
      const found = hedgedQuantile(survival, solution, sought(objective))
      let best = survival.quantile(sought(objective))
      const delays = grid(survival, best, 300)
      for (const delay of delays) {
        const send = Math.min(1, extraLoad / survival.of(delay))
        const reaches = (t: number) =>
          survival.of(t) * (1 - send + send * survival.of(t - delay)) <= 1 - sought(objective)
        if (delay >= 0 && delay < best && reaches(best)) best = leastWhere(reaches, delay, best)
      }
      expect(found / best, `distribution ${i}`).toBeLessThan(1.005)
    }
  })

  for (const [extraLoad, oracle] of [
    [0.02, 853.5],
    [0.05, 693.3],
    [0.1, 97.2],
    [0.2, 92.9]
  ] as const) {
    it(`on W1 with 8 % slow reaches the oracle's P99 of ${oracle} at an extra load of ${extraLoad}`, () => {
      const survival = exactly([0.92, 10, 50], [0.08, 500, 1000])
      const solution = solve(survival, { extraLoad, objective: 0.99, hedges: 1 })
      expect(hedgedQuantile(survival, solution, 0.99) / oracle).toBeLessThan(1.01)
      expect(solution.load).toBeCloseTo(extraLoad, 3)
    })
  }

  for (const [name, latency, extraLoad, oracle] of [
    ["W2", w2, 0.1, 15.6],
    ["log-normal(1, 1)", logNormal(1, 1), 0.05, 18.2],
    ["Pareto(1.1, 2)", pareto(1.1, 2), 0.02, 60.1]
  ] as const) {
    it(`on ${name} reaches the oracle's P99 of ${oracle} at an extra load of ${extraLoad}`, () => {
      const survival = survivalOf(draws(latency, 1_000_000, 12))
      const solution = solve(survival, { extraLoad, objective: 0.99, hedges: 1 })
      expect(hedgedQuantile(survival, solution, 0.99) / oracle).toBeLessThan(1.02)
    })
  }

  it("is left to chance where the budget does not pay for every call that is still open", () => {
    const survival = exactly([0.9, 10, 50], [0.1, 500, 1000])
    const { delays, sends } = solve(survival, { extraLoad: 0.05, objective: 0.99, hedges: 1 })
    expect(survival.of(delays[0]!) * sends[0]!).toBeCloseTo(0.05, 6)
    expect(sends[0]).toBeLessThan(1)
  })

  it("is sent in every call that is still open where that is best", () => {
    const survival = exactly([0.92, 10, 50], [0.08, 500, 1000])
    expect(solve(survival, { extraLoad: 0.1, objective: 0.99, hedges: 1 }).sends).toStrictEqual([1])
  })

  it("is not sent where it gains nothing: all answers take the same time", () => {
    const survival = exactly([1, 80, 80.01])
    expect(solve(survival, { extraLoad: 0.2, objective: 0.99, hedges: 1 }).delays).toStrictEqual([])
  })

  it("is not sent where nothing has been seen to finish", () => {
    const histogram = new Histogram()
    for (let i = 0; i < 500; i++) histogram.add(sampleOf(1000, false))
    const survival = new Survival().fill(histogram)
    expect(solve(survival, { extraLoad: 0.2, objective: 0.99, hedges: 1 }).delays).toStrictEqual([])
    expect(solve(new Survival(), { extraLoad: 0.2, objective: 0.99, hedges: 1 }).delays).toStrictEqual([])
  })
})

describe("two hedges", () => {
  it("are within 0.5 % of a brute-force search, on 200 random distributions, and never over the budget", () => {
    const u = random(13)
    for (let i = 0; i < 200; i++) {
      const survival = survivalOf(draws(anyLatency(u), 20_000, 1000 + i))
      const extraLoad = pick(u, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
      const objective = pick(u, 0.99, 0.999)
      const solution = solve(survival, { extraLoad, objective, hedges: 2 })
      expect(loadOf(survival, solution)).toBeLessThanOrEqual(extraLoad * (1 + 1e-9))
      const found = hedgedQuantile(survival, solution, sought(objective))
      let best = survival.quantile(sought(objective))
      for (const delay of grid(survival, best, 20)) {
        for (const second of grid(survival, best, 20)) {
          if (!(delay >= 0 && second >= delay && second < best)) continue
          const cost = survival.of(delay)
          const secondCost = survival.of(second) * survival.of(second - delay)
          for (let send = 0.1; send <= 1.05; send += 0.1) {
            const first = Math.min(send, extraLoad / cost, 1)
            const both = Math.min(first, (extraLoad - first * cost) / secondCost)
            const reaches = (t: number) => {
              const left = survival.of(t - delay)
              const secondLeft = left * survival.of(t - second)
              const miss = 1 - first + (first - both) * left + both * secondLeft
              return survival.of(t) * miss <= 1 - sought(objective)
            }
            if (second < best && reaches(best * 0.999)) best = leastWhere(reaches, second, best)
          }
        }
      }
      expect(found / best, `distribution ${i}`).toBeLessThan(1.005)
    }
  })

  it("on W1 at 11 % do what delays of 80 and 160 ms do, and better: P99.9 of 210", () => {
    const survival = exactly([0.9, 10, 50], [0.1, 500, 1000])
    const { delays, load, sends } = solve(survival, { extraLoad: 0.11, objective: 0.999, hedges: 2 })
    expect(delays).toHaveLength(2)
    expect(load).toBeLessThanOrEqual(0.11)
    expect(hedgedQuantile(survival, { delays, load, sends }, 0.999)).toBeLessThan(210)
    expect(
      hedgedQuantile(survival, solve(survival, { extraLoad: 0.11, objective: 0.999, hedges: 1 }), 0.999)
    ).toBeGreaterThan(800)
  })
})

describe("what a solution does", () => {
  const survival = exactly([0.9, 10, 50], [0.1, 500, 1000])

  it("delay 80, always: 10 % more requests, P99 of 130 at an edge, P99.9 of 877", () => {
    const solution = { delays: [80], sends: [1], load: 0 }
    expect(loadOf(survival, solution)).toBeCloseTo(0.1, 4)
    expect(hedgedQuantile(survival, solution, 0.985)).toBeCloseTo(127.8, 0)
    expect(hedgedQuantile(survival, solution, 0.999)).toBeCloseTo(877, -1)
    expect(missOf(survival, solution, 300)).toBeCloseTo(0.01, 4)
  })

  it("delays 80 and 160, always: 11 % more requests, P99.9 of 210", () => {
    const solution = { delays: [80, 160], sends: [1, 1], load: 0 }
    expect(loadOf(survival, solution)).toBeCloseTo(0.11, 4)
    expect(hedgedQuantile(survival, solution, 0.9989)).toBeLessThan(211)
  })

  it("a hedge at 80 ms wins when it is fast, and sometimes when it is not", () => {
    const bothSlow = (1 - 80 / 500) ** 2 / 2
    expect(winShareOf(survival, { delays: [80], sends: [1], load: 0 })).toBeCloseTo(0.9 + 0.1 * bothSlow, 3)
  })
})

describe("C40: the budget that an objective needs", () => {
  it("is the one at which it is reached, and a little less is not enough", () => {
    const survival = exactly([0.92, 10, 50], [0.08, 500, 1000])
    const problem = { objective: 0.99, hedges: 1 }
    const within = (millis: number) =>
      leastLoad(survival, problem, (solution) => hedgedQuantile(survival, solution, 0.99) <= millis)
    // a twelfth of the calls must be hedged to come below the slow answers
    const needed = within(100)!
    expect(needed).toBeGreaterThan(0.07)
    expect(needed).toBeLessThan(0.085)
    const reached = (extraLoad: number) =>
      hedgedQuantile(survival, solve(survival, { ...problem, extraLoad }), 0.99)
    expect(reached(needed)).toBeLessThanOrEqual(100)
    expect(reached(needed * 0.95)).toBeGreaterThan(100)
    // nothing answers in less than 10 ms
    expect(within(9)).toBe(undefined)
  })
})

it("an objective is reached also when its share is answered at the very end of the time for it", () => {
  const survival = survivalOf(draws(w2, 1000, 3))
  const solution = solve(survival, { extraLoad: 0.1, objective: 0.99, hedges: 1 })
  const reached = hedgedQuantile(survival, solution, 0.99)
  const reachesIn = (within: number) => reaches(survival, { objective: 0.99, within, hedges: 1 }, solution)
  expect([reached - 1e-6, reached, reached + 1e-6].map(reachesIn)).toStrictEqual([false, true, true])
})

describe("what somebody else knows", () => {
  const latencies = draws(w2, 20_000, 5)
  const own = HedgeSchedule.solve(LatencyEstimator.fromSamples(latencies), { extraLoad: 0.1 })

  it("of a distribution is its survival function", () => {
    const sorted = Float64Array.from(latencies).sort()
    const survival = (elapsed: Duration.DurationInput) => {
      const millis = Duration.toMillis(elapsed)
      return sorted.findLastIndex((each) => each <= millis)
    }
    const share = (elapsed: Duration.DurationInput) => 1 - (survival(elapsed) + 1) / sorted.length
    const solved = HedgeSchedule.solve({ samples: sorted.length, survival: share }, { extraLoad: 0.1 })
    expect(solved).toMatchObject({ probabilities: own.probabilities, neededExtraLoad: own.neededExtraLoad })
    expect(Duration.toMillis(solved.delays[0]!) / Duration.toMillis(own.delays[0]!)).toBeCloseTo(1, 3)
    expect(solved.extraLoad).toBeCloseTo(own.extraLoad, 6)
  })

  it("of nobody's answers is that none is ever due", () => {
    for (const nothing of [LatencyEstimator.fromSamples([]), { firsts: [], seconds: [] }]) {
      const { delays, quantile } = HedgeSchedule.solve(nothing, { extraLoad: 0.1 })
      expect([delays, quantile(0.99)]).toStrictEqual([[], Duration.infinity])
    }
  })

  it("of pairs that are independent is what theory says", () => {
    const solved = HedgeSchedule.solve(
      { firsts: latencies, seconds: draws(w2, 20_000, 6) },
      { extraLoad: 0.1 }
    )
    const ratio = Duration.toMillis(solved.quantile(0.99)) / Duration.toMillis(own.quantile(0.99))
    expect(Math.abs(ratio - 1)).toBeLessThan(0.02)
    expect(solved.extraLoad).toBeLessThanOrEqual(0.1 * (1 + 1e-9))
  })

  it("of pairs that are always slow together is that no hedge helps", () => {
    const solved = HedgeSchedule.solve({ firsts: latencies, seconds: latencies }, { extraLoad: 0.1 })
    expect(solved.delays).toStrictEqual([])
  })

  it("of pairs is within 0.5 % of a brute-force search, when half of the slow ones are slow together", () => {
    const u = random(17)
    for (let i = 0; i < 40; i++) {
      const latency = anyLatency(u)
      const [firsts, seconds] = [draws(latency, 4_000, 2 * i), draws(latency, 4_000, 2 * i + 1)]
      const limit = [...firsts].sort((a, b) => a - b)[3_600]!
      firsts.forEach((millis, k) => {
        if (millis > limit && k % 2 === 0) seconds[k] = millis * (0.9 + 0.2 * u())
      })
      const extraLoad = pick(u, 0.02, 0.05, 0.1, 0.2)
      const pairs = new Pairs(firsts, seconds)
      const solution = solve(pairs, { extraLoad, objective: 0.95, hedges: 1 })
      const found = hedgedQuantile(pairs, solution, sought(0.95))
      let best = pairs.quantile(sought(0.95))
      for (const delay of grid(pairs, best, 100)) {
        const send = Math.min(1, extraLoad / pairs.of(delay))
        const hedge = { delays: [delay], sends: [send], load: 0 }
        const reaches = (t: number) => missOf(pairs, hedge, t) <= 1 - sought(0.95)
        if (delay >= 0 && delay < best && reaches(best)) best = leastWhere(reaches, delay, best)
      }
      const bound = solution.delays.length === 0 ? 1.011 : 1.005
      expect(found / best, `distribution ${i}`).toBeLessThan(bound)
    }
  })

  for (const [what, options, hedges] of [
    ["one for an objective of 0.99", {}, 1],
    ["two for one of 0.999", { objective: 0.999 }, 2],
    ["one if two attempts are all", { objective: 0.999, maxAttempts: 2 }, 1],
    ["two if three attempts may be", { maxAttempts: 3 }, 2]
  ] as const) {
    it(`takes as many hedges as it may: ${what}`, () => {
      // of two copies one in 44 is late, of three one in 300
      const often = sometimes(0.15, uniform(500, 1000), uniform(10, 50))
      const distribution = LatencyEstimator.fromSamples(draws(often, 4000, 7))
      const { delays } = HedgeSchedule.solve(distribution, { extraLoad: 0.4, ...options })
      expect(delays).toHaveLength(hedges)
    })
  }

  it("is asked for a quantile between 0 and 1", () =>
    expect(() => own.quantile(99)).toThrowError(
      expect.objectContaining({ _tag: "HedgePolicyError", field: "quantile", value: 99 })
    ))

  it("of pairs that do not match, or of a third attempt, is refused", () => {
    const solving = (firsts: ReadonlyArray<number>, seconds: ReadonlyArray<number>, maxAttempts = 2) =>
      expect(() => HedgeSchedule.solve({ firsts, seconds }, { extraLoad: 0.1, maxAttempts }))
    const refused = (field: string) => expect.objectContaining({ _tag: "HedgePolicyError", field })
    solving([1, 2], [1]).toThrowError(refused("seconds"))
    solving([1, 2], [1]).toThrowError("as many latencies as there are firsts")
    solving([1, -2], [1, 2]).toThrowError(refused("firsts"))
    solving([1, 2], [1, Number.NaN]).toThrowError(refused("seconds"))
    solving([1, 2], [1, 2], 3).toThrowError(refused("maxAttempts"))
  })
})
