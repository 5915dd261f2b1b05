import { describe, expect, it } from "vitest"
import { medianOf } from "../../src/median.js"
import type { ClientReport, ServerReport } from "../../src/tail/protocol.js"
import type { Strain } from "../../src/tail/strain.js"
import { medianSummary, pages, percentile, summarise } from "../../src/tail/summary.js"

const strain: Strain = { stuckShare: 0, longestMs: 0, cpuShare: 0.2, machineShare: 0.4 }

const client: ClientReport = {
  latencies: [30, 10, null, 20],
  failures: { Timeout: 1 },
  sent: 6,
  connections: 2,
  cancelled: [
    [0, 100, 40],
    [4, 200, 60]
  ],
  hedges: { hedgedCalls: 2, sent: 2, won: 1, suppressed: { Throttled: 3 } },
  learned: null,
  trace: null,
  strain
}

const server: ServerReport = {
  received: 7,
  completed: 5,
  cancelled: 2,
  cancelledMs: 90,
  connections: 3,
  stopped: [
    [0, 101],
    [1, 150],
    [4, 205]
  ],
  strain
}

describe("percentiles", () => {
  it("are the nearest rank", () => {
    const hundred = Array.from({ length: 100 }, (_, index) => index + 1)
    expect([0.5, 0.95, 0.985, 0.99, 0.999].map((p) => percentile(hundred, p))).toEqual([50, 95, 99, 99, 100])
  })

  it("do not slip a rank by rounding", () => {
    const thousand = Array.from({ length: 1_000 }, (_, index) => index + 1)
    expect([0.5, 0.95, 0.985, 0.99, 0.999].map((p) => percentile(thousand, p))).toEqual([
      500, 950, 985, 990, 999
    ])
  })

  it("are unknown of nothing", () => {
    expect(percentile([], 0.5)).toBeNull()
  })
})

describe("a page", () => {
  it("is as late as its latest call", () => {
    expect(pages([1, 5, 3, 2], 2)).toEqual([5, 3])
  })

  it("with a failed call never comes", () => {
    expect(pages([1, null, 3, 2], 2)).toEqual([Infinity, 3])
  })
})

describe("a summary", () => {
  it("counts failures, which are later than every answer", () => {
    const summary = summarise(client, server, 1)
    expect(summary).toMatchObject({
      count: 4,
      failures: 1,
      failureKinds: { Timeout: 1 },
      p50: 20,
      p95: Infinity,
      p999: Infinity
    })
  })

  it("takes what the server counted", () => {
    expect(summarise(client, server, 1)).toMatchObject({
      requestsPerCall: 7 / 4,
      connectionsPerCall: 3 / 4,
      hedgeRate: 0.5,
      hedgeWinShare: 0.5,
      loserMeanMs: 45,
      afterCancelMeanMs: 3,
      suppressed: { Throttled: 3 }
    })
  })

  it("takes what the client counted from a server that does not count, and leaves unknown what only a server knows", () => {
    expect(summarise(client, undefined, 1)).toMatchObject({
      requestsPerCall: 6 / 4,
      connectionsPerCall: 2 / 4,
      loserMeanMs: 50,
      afterCancelMeanMs: null
    })
  })

  it("has no share of hedges that won when none was sent", () => {
    const hedges = { hedgedCalls: 0, sent: 0, won: 0, suppressed: {} }
    expect(summarise({ ...client, hedges }, server, 1)).toMatchObject({ hedgeRate: 0, hedgeWinShare: null })
  })
})

describe("rounds", () => {
  const [one, two, three] = [10, 30, 20].map((p50) => ({ ...summarise(client, server, 1), p50 }))

  it("are told by their medians, and their calls and failures by totals", () => {
    expect(medianSummary([one!, two!, three!])).toMatchObject({
      p50: 20,
      count: 12,
      failures: 3,
      failureKinds: { Timeout: 3 },
      suppressed: { Throttled: 3 }
    })
  })

  it("have an unknown median if one of them is unknown", () => {
    expect(medianOf([1, null, 3])).toBeNull()
    expect(medianOf([4, 1, 3, 2])).toBe(2.5)
  })
})
