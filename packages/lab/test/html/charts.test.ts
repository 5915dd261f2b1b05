/** What the charts are told to draw, and what they say beside the drawing. */
import { describe, expect, it } from "vitest"
import { type Call, evenly, largest } from "../../src/html/call.js"
import * as Cdf from "../../src/html/cdf.js"
import { draw } from "../../src/html/draw.js"
import * as Looks from "../../src/html/looks.js"
import * as OverTime from "../../src/html/overTime.js"
import * as Sweep from "../../src/html/sweep.js"
import * as Ticks from "../../src/html/ticks.js"
import * as Timeline from "../../src/html/timeline.js"

const upTo = (n: number) => Float64Array.from({ length: n }, (_, i) => i + 1)

const curve = (sorted: Float64Array, name = "plain"): Cdf.Curve => ({
  name,
  look: Looks.plain,
  n: sorted.length,
  quantile: Cdf.ofSorted(sorted)
})

describe("the share of calls answered by a time", () => {
  it("lists the percentiles that there are calls enough to tell", () => {
    const { figures } = Cdf.chart({
      caption: "",
      curves: [curve(upTo(1_000), "plain"), curve(upTo(100), "hedged")],
      percentiles: [0.5, 0.99, 0.999, 0.9999]
    })[0]!
    expect(figures.rows).toEqual([
      ["percentile", "plain", "hedged"],
      ["P50", "500 ms", "50 ms"],
      ["P99", "990 ms", "99 ms"],
      ["P99.9", "999 ms", "–"]
    ])
  })

  it("ends below the share of the calls that nobody answered", () => {
    const sorted = upTo(100).fill(Number.POSITIVE_INFINITY, 90)
    const { figures, spec } = Cdf.chart({
      caption: "",
      curves: [curve(sorted)],
      percentiles: [0.5, 0.99]
    })[0]!
    expect(figures.rows.map(([name]) => name)).toEqual(["percentile", "P50"])
    const line = spec(960).data!.find(({ name }) => name === "line0") as unknown as {
      readonly values: ReadonlyArray<{ readonly x: number; readonly y: number }>
    }
    const { x, y } = line.values.at(-1)!
    expect(x).toBe(90)
    expect(1 - 10 ** -y).toBeLessThanOrEqual(0.9)
    expect(1 - 10 ** -y).toBeGreaterThan(0.89)
  })

  it("is drawn from bounds that are unknown, from zero and from nothing", async () => {
    const nothing = curve(new Float64Array(0))
    const zeros = curve(new Float64Array(10))
    const unbounded = {
      ...curve(upTo(100)),
      bounds: { low: () => 0, high: () => Number.POSITIVE_INFINITY }
    }
    const { alternative, spec } = Cdf.chart({
      caption: "",
      curves: [nothing, zeros, unbounded],
      percentiles: [0.5]
    })[0]!
    expect(alternative).toContain("plain: nothing is known.")
    expect((await draw(spec(328))).text).not.toMatch(/NaN|Infinity|undefined/)
  })
})

describe("an axis of times", () => {
  it("goes by 1, 2 and 5, and begins and ends there", () => {
    expect(Ticks.around([12, 940])).toEqual([10, 1_000])
    expect(Ticks.around([0, 0.03, 0.3, Number.POSITIVE_INFINITY])).toEqual([0.02, 0.5])
    expect(Ticks.between(10, 1_000, 10)).toEqual([10, 20, 50, 100, 200, 500, 1_000])
  })

  it("has a length, whatever the times", () => {
    expect(Ticks.around([10])).toEqual([10, 20])
    expect(Ticks.around([0])).toEqual([1, 10])
  })

  it("has powers of ten alone, or some of those, where it is short", () => {
    expect(Ticks.between(10, 1_000, 5)).toEqual([10, 100, 1_000])
    expect(Ticks.between(0.001, 1e6, 5)).toEqual([0.001, 0.1, 10, 1_000, 100_000])
  })
})

describe("the calls that are shown", () => {
  it("are the largest, the largest first, of equal ones the first", () => {
    expect(largest(3, [5, 9, 1, 9, Number.POSITIVE_INFINITY])).toEqual([4, 1, 3])
  })

  it("are evenly spaced, neither the first nor the last", () => {
    expect(
      evenly(
        4,
        Array.from({ length: 100 }, (_, i) => i)
      )
    ).toEqual([12, 37, 62, 87])
    expect(evenly(4, [1, 2])).toEqual([1, 2])
  })
})

describe("the timeline", () => {
  const call: Call = {
    number: 1_234,
    dueMs: 2_466,
    tookMs: 130,
    attempts: [
      { startMs: 0, endMs: 130, end: "CutOff" },
      { startMs: 80, endMs: 90, end: "Failed" },
      { startMs: 90, endMs: 130, end: "Won" }
    ]
  }

  it("says in words what became of each attempt", () => {
    const { figures, legend } = Timeline.chart({
      caption: "",
      groups: [{ title: "The slowest", calls: [call, { ...call, number: 2, tookMs: null, attempts: [] }] }]
    })[0]!
    expect(figures.rows.slice(1)).toEqual([
      [
        "1,234",
        "The slowest",
        "2,466 ms",
        "130 ms",
        "primary, 0 ms to 130 ms, was cut off; hedge 1, 80 ms to 90 ms, failed; hedge 2, 90 ms to 130 ms, answered the call"
      ],
      ["2", "The slowest", "2,466 ms", "no answer", ""]
    ])
    expect(legend.map(({ label }) => label)).toEqual([
      "attempt that answered the call",
      "attempt that was cut off",
      "attempt that failed"
    ])
    expect(new Set(legend.map(({ look }) => look.shape)).size).toBe(3)
  })
})

describe("the extra load", () => {
  it("is that of the calls of each stretch of time", () => {
    const startedAt = Array.from({ length: 200 }, (_, i) => i)
    const hedges = startedAt.map((at) => (at >= 150 ? 1 : 0))
    expect(OverTime.stretches(startedAt, hedges, 200)).toEqual([
      { fromMs: 0, toMs: 50, extraLoad: 0 },
      { fromMs: 50, toMs: 100, extraLoad: 0 },
      { fromMs: 100, toMs: 150, extraLoad: 0 },
      { fromMs: 150, toMs: 200, extraLoad: 1 }
    ])
  })

  it("is left out where calls are too few to have one over time", () => {
    expect(OverTime.stretches([0, 1], [0, 1], 2)).toEqual([])
    expect(OverTime.launches(10, [])).toEqual([])
  })

  it("of calls that were due at once is by when hedges were sent, and of all calls", () => {
    const stretches = OverTime.launches(10, [30, 60, 60])
    expect(stretches.reduce((sum, { extraLoad }) => sum + extraLoad, 0)).toBeCloseTo(0.3)
    expect(stretches.at(-1)).toMatchObject({ toMs: 60, extraLoad: 0.2 })
  })

  it("of calls that were due at once may be of more hedges than a function takes arguments", () => {
    const hedges = Array.from({ length: 300_000 }, (_, i) => i / 1_000)
    expect(OverTime.launches(20_000, hedges).at(-1)).toMatchObject({ toMs: 299.999 })
  })
})

it("a chart of nothing is none", () => {
  expect(Cdf.chart({ caption: "", curves: [curve(upTo(9))], percentiles: [0.5] })).toEqual([])
  expect(Timeline.chart({ caption: "", groups: [{ title: "The slowest", calls: [] }] })).toEqual([])
  const series = { name: "hedged", look: Looks.hedged }
  expect(OverTime.chart({ caption: "", series: [{ ...series, stretches: [] }], budget: 0.1 })).toEqual([])
  const sweep = { caption: "", axis: "load", label: "P99" }
  expect(
    Sweep.chart({ ...sweep, settings: ["a", "b"], series: [{ ...series, values: [null, null] }] })
  ).toEqual([])
  expect(Sweep.chart({ ...sweep, settings: ["a"], series: [{ ...series, values: [1] }] })).toEqual([])
})
