import { describe, expect, it } from "vitest"
import { ofPieces, ofSorted } from "../../src/plan/distribution.js"
import * as Histogram from "../../src/plan/histogram.js"

describe("single values", () => {
  const distribution = ofSorted(Float64Array.of(1, 2, 2, 3, 10))

  it("have percentiles by nearest rank", () => {
    expect([0, 0.2, 0.21, 0.6, 0.61, 0.8, 0.81, 1].map(distribution.quantile)).toEqual([
      1, 1, 2, 2, 3, 3, 10, 10
    ])
  })

  it("are survived by those above", () => {
    expect([-1, 0, 0.5, 1, 2, 9.9, 10].map(distribution.survival)).toEqual([1, 1, 1, 0.8, 0.4, 0.2, 0])
  })

  it("of a clock that counts tens tell its step", () => {
    expect(ofSorted(Float64Array.of(10, 30, 50)).step).toBe(10)
    expect(ofSorted(Float64Array.of(10, 30, 51)).step).toBe(1)
    expect(ofSorted(Float64Array.of(10, 30, 50.5)).step).toBe(0)
  })
})

describe("pieces", () => {
  it("are evenly filled, and may end nowhere", () => {
    const distribution = ofPieces([
      { from: 10, to: Infinity, count: 1 },
      { from: 0, to: 10, count: 9 }
    ])
    expect(distribution.quantile(0.45)).toBe(5)
    expect(distribution.quantile(0.95)).toBe(Infinity)
    expect(distribution.survival(5)).toBeCloseTo(0.55, 9)
    expect(distribution.survival(1e9)).toBeCloseTo(0.1, 9)
    expect([distribution.max, distribution.beyond, distribution.isExact]).toEqual([10, 1, false])
  })

  it("may overlap", () => {
    const distribution = ofPieces([
      { from: 0, to: 4, count: 4 },
      { from: 2, to: 6, count: 4 },
      { from: 3, to: 3, count: 2 }
    ])
    expect(distribution.n).toBe(10)
    expect(distribution.survival(2)).toBeCloseTo(0.8, 9)
    expect(distribution.survival(2.999)).toBeCloseTo(0.6, 2)
    expect(distribution.survival(3)).toBeCloseTo(0.4, 9)
    expect(distribution.quantile(0.5)).toBe(3)
  })

  it("may be single values, counted", () => {
    const distribution = ofPieces([
      { from: 5, to: 5, count: 1 },
      { from: 2, to: 2, count: 3 },
      { from: 5, to: 5, count: 1 }
    ])
    expect([distribution.n, distribution.quantile(0.6), distribution.quantile(0.61)]).toEqual([5, 2, 5])
    expect(distribution.isExact).toBe(true)
  })
})

it("a histogram has any number in a bucket that is at most 0.05 % wide", () => {
  for (let ms = 1e-6; ms < 1e7; ms *= 1.37) {
    const histogram = Histogram.make()
    histogram.add(ms)
    const { from, to, upTo } = histogram.steps()
    expect([from.length, to.length, Array.from(upTo)]).toEqual([1, 1, [1]])
    expect(from[0]!).toBeLessThanOrEqual(ms)
    expect(to[0]!).toBeGreaterThan(ms)
    expect(to[0]! / from[0]! - 1).toBeLessThanOrEqual(0.0005)
  }
})
