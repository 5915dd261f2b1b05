import { expect, it } from "vitest"
import { Rounds } from "../../src/tail/page.js"
import type { ClientReport } from "../../src/tail/protocol.js"
import { medianSummary, percentiles, summarise } from "../../src/tail/summary.js"

const strain = { stuckShare: 0, longestMs: 0, cpuShare: 0.2, machineShare: 0.4 }

const report = (latencies: ReadonlyArray<number | null>): ClientReport => ({
  latencies,
  failures: {},
  sent: latencies.length,
  connections: 1,
  cancelled: [],
  hedges: { hedgedCalls: 0, sent: 0, won: 0, suppressed: {} },
  learned: null,
  trace: null,
  strain
})

it("a curve goes through the percentiles of the report: medians of rounds, of pages, of calls with and without an answer", () => {
  const fanOut = 2
  const rounds = new Rounds(fanOut)
  const reports = [1, 3, 2].map((factor) =>
    report(Array.from({ length: 400 }, (_, i) => (i % 200 === 0 ? null : factor * ((i * 37) % 400))))
  )
  for (const each of reports) rounds.add("plain", each)
  const summary = medianSummary(reports.map((each) => summarise(each, undefined, fanOut)))
  const { n, quantile } = rounds.curve("plain")
  expect(n).toBe(200)
  for (const name of ["p50", "p95", "p98_5", "p99", "p999"] as const) {
    expect(quantile(percentiles[name])).toBe(summary[name])
  }
  expect(summary.p50).toBeLessThan(Number.POSITIVE_INFINITY)
  expect(summary.p999).toBe(Number.POSITIVE_INFINITY)
})
