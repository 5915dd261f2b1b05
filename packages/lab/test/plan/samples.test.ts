import { describe, expect, it } from "vitest"
import * as Samples from "../../src/plan/samples.js"
import { sampler } from "../../src/tail/latency.js"

const draw = sampler({ _tag: "LogNormal", mean: 5, sd: 2, slowShare: 0.05, slowFactor: 10 }, 1)
const values = Array.from({ length: 20_000 }, draw)

const collect = (limit?: number) => {
  const samples = Samples.make(limit)
  values.forEach((ms, i) => samples.add(ms, i % 4 === 0 ? "a" : "b", undefined, undefined))
  return samples.finish()
}

describe("samples", () => {
  it("beyond the limit are counted, and percentiles stay as they were, to 0.05 %", () => {
    const kept = collect()
    const counted = collect(1_000)
    expect(counted.all.ordered!.values).toHaveLength(1_000)
    const groups = [
      [kept.all, counted.all],
      ...kept.byKey.map((group, i) => [group, counted.byKey[i]!] as const)
    ] as const
    for (const [exact, coarse] of groups) {
      expect(coarse.key).toBe(exact.key)
      expect(coarse.distribution.n).toBe(exact.distribution.n)
      for (const p of [0.5, 0.95, 0.99, 0.999]) {
        const ratio = coarse.distribution.quantile(p) / exact.distribution.quantile(p)
        expect(Math.abs(ratio - 1)).toBeLessThanOrEqual(0.0005)
      }
    }
  })

  it("are in the order of time, those of one time as they came", () => {
    const samples = Samples.make()
    for (const [ms, at] of [
      [1, 3],
      [2, 1],
      [3, 3],
      [4, 2]
    ] as const)
      samples.add(ms, undefined, at, ms + 10)
    const { ordered } = samples.finish().all
    expect(Array.from(ordered!.values)).toEqual([2, 4, 1, 3])
    expect(Array.from(ordered!.seconds!)).toEqual([12, 14, 11, 13])
    expect(ordered!.isTimed).toBe(true)
  })

  it("are in the order of the record if one has no time", () => {
    const samples = Samples.make()
    for (const [ms, at] of [
      [1, 3],
      [2, 1],
      [3, undefined]
    ] as const)
      samples.add(ms, undefined, at, undefined)
    const { ordered } = samples.finish().all
    expect(Array.from(ordered!.values)).toEqual([1, 2, 3])
    expect(ordered!.isTimed).toBe(false)
  })

  it("of more keys than there is room for come under one", () => {
    const samples = Samples.make()
    for (let i = 0; i < 20_000; i++) samples.add(1, `key ${i}`, undefined, undefined)
    const { byKey, keyCount } = samples.finish()
    expect([byKey.length, keyCount]).toEqual([50, 10_001])
    expect(byKey[0]!.key).toBe(Samples.otherKeys)
  })
})
