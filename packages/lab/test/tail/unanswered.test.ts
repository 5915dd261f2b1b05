import { describe, expect, it } from "vitest"
import { mapPercentiles, type Percentiles } from "../../src/tail/summary.js"
import { ratioOf, timeOf } from "../../src/tail/unanswered.js"

const side = (times: Partial<Percentiles>): Percentiles => ({ ...mapPercentiles(() => 10), ...times })

describe("a percentile that falls on a call without an answer", () => {
  const late = side({ p99: Infinity })

  it("is at least the time-out", () => {
    expect(timeOf(late, "p99", 300)).toEqual({ value: 300, bound: "≥" })
  })

  it("is at least what any answer took", () => {
    expect(timeOf(side({ p95: 320, p99: Infinity }), "p99", 300)).toEqual({ value: 320, bound: "≥" })
  })

  it("is unknown without a time-out, as is one of nothing", () => {
    expect(timeOf(late, "p99", null)).toBeNull()
    expect(timeOf(side({ p99: null }), "p99", 300)).toBeNull()
  })
})

it("an answered one is what it is", () => {
  expect(timeOf(side({}), "p99", 300)).toEqual({ value: 10, bound: undefined })
})

describe("a ratio", () => {
  it.each([
    [200, 100, 0.5, undefined],
    [Infinity, 150, 0.5, "≤"],
    [200, Infinity, 1.5, "≥"]
  ] as const)("of plain %d ms and hedged %d ms, with a time-out of 300 ms", (plain, hedged, value, bound) => {
    expect(ratioOf(side({ p99: plain }), side({ p99: hedged }), "p99", 300)).toEqual({ value, bound })
  })

  it.each([
    [Infinity, Infinity],
    [null, 5],
    [0, 5]
  ])("of %s ms and %s ms is unknown", (plain, hedged) => {
    expect(ratioOf(side({ p99: plain }), side({ p99: hedged }), "p99", 300)).toBeNull()
  })
})
