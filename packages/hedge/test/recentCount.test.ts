import { describe, expect, it } from "vitest"
import { RecentCount } from "../src/internal/recentCount.js"

/** What is counted at a time, after events at others. */
const counted = (at: number, ...events: ReadonlyArray<number>): number => {
  const count = new RecentCount()
  for (const event of events) count.add(event)
  return count.at(at)
}

describe("a count of the last 10 s", () => {
  it("has nothing at first, at any time", () => {
    expect(counted(0)).toBe(0)
    expect(counted(123_456)).toBe(0)
  })

  it("counts what happened in the last hundred tenths of a second", () => {
    expect(counted(9_999, 0, 0, 50)).toBe(3)
    expect(counted(10_000, 0, 0, 50, 100)).toBe(1)
    expect(counted(10_099, 0, 0, 50, 100)).toBe(1)
    expect(counted(10_100, 0, 0, 50, 100)).toBe(0)
  })

  it("forgets all after a pause, and counts on", () => {
    expect(counted(40_000, 0, 100, 40_000)).toBe(1)
    expect(counted(10_000, 0, 99)).toBe(0)
    expect(counted(20_000, 5_000, 15_000)).toBe(1)
  })

  it("takes one that is up to a second ahead for the present", () => {
    expect(counted(0, 1_000, 0, 0)).toBe(3)
    expect(counted(0, 1_099, 0)).toBe(2)
  })

  it("starts anew with a clock that was set back further", () => {
    expect(counted(0, 1_100, 0)).toBe(1)
    expect(counted(100, 60_000, 0, 100)).toBe(2)
  })
})
