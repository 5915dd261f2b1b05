import { describe, expect, it } from "vitest"
import { streams } from "../../src/simulate/simulation.js"
import { percentile } from "../../src/simulate/statistics.js"
import * as Workload from "../../src/simulate/workload.js"
import { ideal } from "../../src/tail/oracle.js"
import { quantile } from "../../src/tail/theory.js"

const workloads = [
  Workload.w1(0.08),
  Workload.w2(0.05),
  Workload.stragglers(0.01),
  Workload.pauses(0.02),
  Workload.logNormal(1, 1),
  Workload.pareto(2.5, 2),
  Workload.times(10, Workload.w2(0.05))
]

describe("a workload", () => {
  it.each(workloads)("draws what its survival function and its mean say: $name", (workload) => {
    const random = streams(1).primaries
    const draws = Float64Array.from({ length: 300_000 }, () => Workload.draw(workload, random))
    const mean = draws.reduce((sum, ms) => sum + ms, 0) / draws.length
    expect(Math.abs(mean / Workload.mean(workload) - 1)).toBeLessThan(0.015)
    const survival = Workload.survival(workload)
    draws.sort()
    for (const p of [0.1, 0.5, 0.9, 0.98, 0.995]) {
      const left = survival(percentile(draws, p))
      expect(Math.abs(left / (1 - p) - 1)).toBeLessThan(0.06)
    }
  })

  it("that is slow at times ten is ten times as slow", () => {
    const usual = Workload.survival(Workload.w1(0.08))
    const slower = Workload.survival(Workload.times(10, Workload.w1(0.08)))
    for (const ms of [12, 49, 51, 700, 999]) expect(slower(10 * ms)).toBeCloseTo(usual(ms), 12)
  })
})

describe("the oracle's P99", () => {
  it.each([
    ["W1 with 8 % slow", Workload.w1(0.08), 0.1, 97.2],
    ["W2", Workload.w2(0.05), 0.1, 15.6],
    ["log-normal(1, 1)", Workload.logNormal(1, 1), 0.05, 18.2],
    ["1 % × 20 stragglers", Workload.stragglers(0.01), 0.02, 13.7],
    ["Pareto(1.1, 2)", Workload.pareto(1.1, 2), 0.02, 60.1]
  ])("of %s is what was found before, within 1 %", (_, workload, budget, expected) => {
    const best = ideal(Workload.survival(workload), 0.99, budget, Workload.knots(workload))
    expect(Math.abs(best / expected - 1)).toBeLessThan(0.01)
  })

  it("is not found by one hedge after the time at which the budget pays for all, but that is near", () => {
    const survival = Workload.survival(Workload.w2(0.05))
    const delay = quantile(survival, 0.9)
    const single = quantile((ms) => survival(ms) * survival(ms - delay), 0.99)
    const best = ideal(survival, 0.99, 0.1)
    expect(single / best).toBeGreaterThan(0.999)
    expect(single / best).toBeLessThan(1.02)
  })
})
