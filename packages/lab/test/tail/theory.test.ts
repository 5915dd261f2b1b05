import { describe, expect, it } from "vitest"
import { knots, survival } from "../../src/tail/latency.js"
import { ideal } from "../../src/tail/oracle.js"
import type { LogNormal, Uniform } from "../../src/tail/settings.js"
import { extraLoad, fixedStarts, pagePercentile, predict, quantile } from "../../src/tail/theory.js"

const w1: Uniform = {
  _tag: "Uniform",
  fast: { min: 10, max: 50 },
  slow: { min: 500, max: 1_000 },
  slowShare: 0.1
}
const w2: LogNormal = { _tag: "LogNormal", mean: 5, sd: 2, slowShare: 0.05, slowFactor: 10 }
const unlimited = { delayMs: 80, maxAttempts: 3, extraLoad: 10 }

describe("latencies", () => {
  it.each([
    [0.5, 32.2],
    [0.95, 750],
    [0.985, 925],
    [0.99, 950],
    [0.999, 995]
  ])("unhedged, percentile %f of W1 is %f ms", (p, expected) => {
    expect(quantile(survival(w1), p)).toBeCloseTo(expected, 1)
  })

  it("unhedged, P99 of W2 is 64.3 ms", () => {
    expect(Math.abs(quantile(survival(w2), 0.99) - 64.3)).toBeLessThan(0.2)
  })

  it("nothing has been answered before any time has passed", () => {
    expect([survival(w1)(0), survival(w1)(-1), survival(w2)(0), survival(w2)(-1)]).toEqual([1, 1, 1, 1])
  })
})

describe("a fixed delay", () => {
  it("of 80 ms with one hedge costs 10 % on W1: P98.5 127.8, P99 130, P99.9 877", () => {
    const { extraLoad, miss } = predict(survival(w1), { ...unlimited, maxAttempts: 2 })
    expect(extraLoad).toBeCloseTo(0.1, 6)
    expect(quantile(miss, 0.985)).toBeCloseTo(127.8, 1)
    expect(quantile(miss, 0.99)).toBeCloseTo(130, 1)
    expect(quantile(miss, 0.999)).toBeCloseTo(876.9, 1)
  })

  it("of 80 ms with two hedges costs 11 % on W1: P99 130, P99.9 210", () => {
    const { extraLoad, miss } = predict(survival(w1), unlimited)
    expect(extraLoad).toBeCloseTo(0.11, 6)
    expect(quantile(miss, 0.99)).toBeCloseTo(130, 1)
    expect(quantile(miss, 0.999)).toBeCloseTo(210, 1)
  })

  it("of 10 ms with one hedge costs 7.2 % on W2 and takes P99 to 16.8", () => {
    const { extraLoad, miss } = predict(survival(w2), { delayMs: 10, maxAttempts: 2, extraLoad: 1 })
    expect(extraLoad).toBeCloseTo(0.072, 3)
    expect(quantile(miss, 0.99)).toBeCloseTo(16.8, 1)
  })

  it("of nothing sends every copy at once", () => {
    expect(extraLoad(survival(w1), fixedStarts({ ...unlimited, delayMs: 0 }))).toBe(2)
  })

  it("sends no copy after the time-out", () => {
    expect(predict(survival(w1), unlimited, 100).extraLoad).toBeCloseTo(0.1, 6)
  })

  it("costs no more than its budget, and leaves the rest of the calls unhedged", () => {
    const { extraLoad, miss } = predict(survival(w1), { ...unlimited, maxAttempts: 2, extraLoad: 0.05 })
    expect(extraLoad).toBeCloseTo(0.05, 6)
    // half of the slow calls are as slow as they were
    expect(miss(400)).toBeCloseTo(0.5 * 0.1 + 0.5 * 0.01, 6)
  })
})

describe("the ideal", () => {
  it.each([
    [0.05, 764.5],
    [0.1, 100],
    [0.11, 99.6],
    [0.2, 90.4]
  ])("P99 of W1 with %f extra load is %f ms", (budget, expected) => {
    expect(Math.abs(ideal(survival(w1), 0.99, budget, knots(w1)) - expected)).toBeLessThan(0.2)
  })

  it("P99 of W2 with 0.1 extra load is 15.5 ms", () => {
    expect(ideal(survival(w2), 0.99, 0.1)).toBeCloseTo(15.5, 1)
  })

  it.each([
    [2, 95.6],
    [3, 90.4]
  ])("P99 of W1 with 0.2 extra load and at most %i copies is %f ms", (maxAttempts, expected) => {
    expect(Math.abs(ideal(survival(w1), 0.99, 0.2, knots(w1), maxAttempts) - expected)).toBeLessThan(0.2)
  })

  it("with budget enough sends every copy at once, however many there may be", () => {
    for (const copies of [2, 3, 4, 6]) {
      const allAtOnce = quantile((ms) => survival(w1)(ms) ** copies, 0.99)
      expect(ideal(survival(w1), 0.99, copies, knots(w1), copies)).toBeCloseTo(allAtOnce, 1)
    }
  })

  it("is never behind a fixed delay of as many copies and as much load", () => {
    const five = { delayMs: 40, maxAttempts: 5, extraLoad: 10 }
    const { extraLoad, miss } = predict(survival(w1), five)
    for (const p of [0.99, 0.999, 0.9999]) {
      expect(ideal(survival(w1), p, extraLoad, knots(w1), 5)).toBeLessThanOrEqual(quantile(miss, p) * 1.01)
    }
  })

  it("is no hedging at all when there is no budget", () => {
    expect(ideal(survival(w1), 0.99, 0, knots(w1))).toBeCloseTo(950, 1)
  })
})

it("a page of 10 calls has its median where a call has its P93.3", () => {
  expect(pagePercentile(0.5, 10)).toBeCloseTo(0.933, 3)
  expect(pagePercentile(0.99, 1)).toBe(0.99)
})
