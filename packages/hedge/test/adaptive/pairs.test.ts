import { describe, expect, it } from "@effect/vitest"
import { Pairs } from "../../src/internal/pairs.js"

describe("of two copies that were sent together, again and again,", () => {
  /** First copies that took 10, 20, 30 and 40 ms, out of order, and what went with them. */
  const pairs = new Pairs([30, 10, 40, 20], [5, 1, 50, 8])

  for (const [late, delay, share] of [
    [0, 0, 1],
    [5, 0, 1 / 2],
    [5, 4, 3 / 4],
    [20, 0, 1 / 2],
    [20, 15, 1 / 2],
    [20, 16, 1],
    [39, 0, 1],
    [40, 0, 0],
    [99, 0, 0]
  ] as const) {
    it(`a share of ${share} of seconds is later than ${late} ms where the first is, if sent after ${delay}`, () => {
      expect(pairs.ofCopy(late, delay)).toBe(share)
    })
  }

  it("the first ones alone are a distribution as any other", () => {
    expect([pairs.samples, pairs.finished, pairs.unseen]).toStrictEqual([4, 4, 0])
    expect([5, 15, 25, 35, 45].map((millis) => pairs.of(millis))).toStrictEqual([1, 0.75, 0.5, 0.25, 0])
  })
})
