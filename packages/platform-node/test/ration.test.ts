import { describe, expect, it } from "vitest"
import { Ration } from "../src/internal/ration.js"

const taken = (ration: Ration, now: number, tries: number): number => {
  let count = 0
  for (let i = 0; i < tries; i++) if (ration.take(now)) count++
  return count
}

describe("a ration", () => {
  it("gives its burst at once, then so many per second", () => {
    const ration = new Ration(400, 20, 0)
    expect(taken(ration, 0, 1000)).toBe(400)
    expect(taken(ration, 49, 1000)).toBe(0)
    expect(taken(ration, 1000, 1000)).toBe(20)
  })

  it("saves up no more than its burst", () => {
    const ration = new Ration(5, 20, 0)
    expect(taken(ration, 3_600_000, 1000)).toBe(5)
  })

  it("of nothing gives nothing", () => {
    expect(taken(new Ration(0, 0, 0), 1000, 10)).toBe(0)
  })
})
