import { describe, expect, it } from "vitest"
import { bounds } from "../../src/plan/interval.js"

describe("bounds on a probability", () => {
  it.each([
    // from tables of the exact interval
    [0, 10, 0, 0.3085],
    [1, 10, 0.0025, 0.445],
    [5, 10, 0.1871, 0.8129],
    [10, 10, 0.6915, 1],
    [10, 1_000, 0.0048, 0.0183],
    [2_000, 200_000, 0.009568, 0.010445]
  ])("%d of %d lies from %f to %f", (count, n, low, high) => {
    const [least, most] = bounds(n).of(count)
    expect(least).toBeCloseTo(low, 4)
    expect(most).toBeCloseTo(high, 4)
  })

  it("nothing seen in n leaves 1 − 0.025^(1/n)", () => {
    expect(bounds(368).of(0)[1]).toBeCloseTo(1 - 0.025 ** (1 / 368), 9)
  })
})
