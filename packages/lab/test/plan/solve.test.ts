import { describe, expect, it } from "vitest"
import { hedgesOf, loadOf, missOf, quantileOf } from "../../src/plan/choice.js"
import { independent, paired } from "../../src/plan/copies.js"
import { ofSorted } from "../../src/plan/distribution.js"
import { solve } from "../../src/plan/solve.js"
import { sampler, survival } from "../../src/tail/latency.js"
import type { Latency } from "../../src/tail/settings.js"

const w1: Latency = {
  _tag: "Uniform",
  fast: { min: 10, max: 50 },
  slow: { min: 500, max: 1_000 },
  slowShare: 0.08
}
const w2: Latency = { _tag: "LogNormal", mean: 5, sd: 2, slowShare: 0.05, slowFactor: 10 }

const aim = (budget: number, p = 0.99, latest = 1_000) => ({ p, miss: 1 - p, budget, latest })

/** What the solved policy reaches. */
const reached = (copies: Parameters<typeof solve>[0], budget: number, p?: number) => {
  const goal = aim(budget, p)
  return quantileOf(missOf(copies, solve(copies, goal)), goal.p, 3 * goal.latest)
}

describe("the policy", () => {
  it.each([
    // the ideal of facts: no policy does better
    [w1, 0.02, 853.5],
    [w1, 0.05, 693.3],
    [w1, 0.1, 97.2],
    [w2, 0.1, 15.5]
  ] as const)("of %o within %f reaches %f ms", (latency, budget, ideal) => {
    const ms = reached(independent(survival(latency)), budget)
    expect(ms).toBeGreaterThan(ideal * 0.994)
    expect(ms).toBeLessThan(ideal * 1.01)
  })

  it.each([w1, w2])("sends what its budget allows, and no more: %o", (latency) => {
    const copies = independent(survival(latency))
    for (const budget of [0.01, 0.05, 0.2]) {
      const { attempts, delayMs, probability } = solve(copies, aim(budget))
      expect(loadOf(hedgesOf(copies, delayMs, attempts), probability)).toBeLessThanOrEqual(budget + 1e-9)
    }
  })

  it("is as good as any of a fine grid, to half a per cent", () => {
    for (let seed = 1; seed <= 10; seed++) {
      const draw = sampler(
        { _tag: "LogNormal", mean: 10, sd: 3 * seed, slowShare: 0.02 * seed, slowFactor: 8 },
        seed
      )
      const distribution = ofSorted(Float64Array.from({ length: 2_000 }, draw).sort())
      const copies = independent(distribution.survival)
      const goal = aim(0.03 * seed, 0.99, distribution.max)
      const found = quantileOf(missOf(copies, solve(copies, goal)), 0.99, 3 * distribution.max)
      let best = Infinity
      for (let i = 0; i < 2_000; i++) {
        const delayMs = (distribution.quantile(1 - goal.budget) * i) / 2_000
        const probability = Math.min(1, goal.budget / copies.survival(delayMs))
        const missing = missOf(copies, { delayMs, probability, attempts: 2 })
        best = Math.min(best, quantileOf(missing, 0.99, 2 * distribution.max))
      }
      expect(found).toBeLessThanOrEqual(best * 1.005)
    }
  })

  it("has a third attempt where two cannot do it", () => {
    const copies = independent(survival(w1))
    expect(solve(copies, aim(0.2, 0.999)).attempts).toBe(3)
    expect(reached(copies, 0.2, 0.999)).toBeLessThan(170)
  })

  it("sends no hedge where all latencies are the same", () => {
    const copies = independent(ofSorted(new Float64Array(1_000).fill(5)).survival)
    expect(solve(copies, aim(0.1, 0.99, 5)).attempts).toBe(1)
  })
})

describe("pairs", () => {
  const firsts = Float64Array.from({ length: 5_000 }, sampler(w1, 1))

  it("that are slow together gain nothing from a hedge", () => {
    const copies = paired(firsts, firsts)
    expect(reached(copies, 0.1)).toBeGreaterThan(930)
  })

  it("that are independent gain what theory says", () => {
    const copies = paired(firsts, Float64Array.from({ length: 5_000 }, sampler(w1, 2)))
    expect(Math.abs(reached(copies, 0.1) - 97.2)).toBeLessThan(2)
  })
})
