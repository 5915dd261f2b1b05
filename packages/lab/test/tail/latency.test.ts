import { describe, expect, it } from "vitest"
import { sampler, survival } from "../../src/tail/latency.js"
import type { Latency } from "../../src/tail/settings.js"

const workloads: ReadonlyArray<Latency> = [
  { _tag: "Uniform", fast: { min: 10, max: 50 }, slow: { min: 500, max: 1_000 }, slowShare: 0.1 },
  { _tag: "LogNormal", mean: 5, sd: 2, slowShare: 0.05, slowFactor: 10 }
]

const draws = (latency: Latency, seed: number, n: number) => {
  const draw = sampler(latency, seed)
  return Array.from({ length: n }, draw)
}

describe.each(workloads)("$_tag", (latency) => {
  it("draws the same sequence from the same seed, and another from another", () => {
    expect(draws(latency, 7, 100)).toEqual(draws(latency, 7, 100))
    expect(draws(latency, 7, 100)).not.toEqual(draws(latency, 8, 100))
  })

  it("draws what its survival function says", () => {
    const sample = draws(latency, 1, 100_000)
    for (const ms of [3, 5, 12, 30, 45, 60, 400, 600, 900]) {
      const share = sample.filter((drawn) => drawn > ms).length / sample.length
      expect(Math.abs(share - survival(latency)(ms))).toBeLessThan(0.005)
    }
  })
})
