import { expect, it } from "vitest"
import type { Measured } from "../../src/hol/experiment.js"
import { page } from "../../src/hol/page.js"
import type { HedgeOn } from "../../src/hol/settings.js"
import { rows } from "../../src/hol/table.js"
import { settings } from "./support.js"

/** Probes that took so long, and as many again that got no answer. */
const result = (hedgeOn: HedgeOn | null, latency: number) => {
  const latencies = Array.from({ length: 20 }, (_, i) => (i < 10 ? latency : null))
  const sent = hedgeOn === null ? 0 : 3
  const measured: Measured = {
    report: {
      outcomes: { latencies, failures: { Timeout: 10 } },
      streamsAtStart: [40],
      hedges: { hedgedCalls: sent, sent, won: 2, suppressed: {} },
      background: { over30s: 0, broken: {} },
      isComplete: true,
      strain: { stuckShare: 0, longestMs: 0, cpuShare: 0, machineShare: 0 }
    },
    arrivals: [],
    connections: { opened: 4, open: 4 }
  }
  return { mode: { connections: "lanes", hedgeOn } as const, rounds: [measured] }
}

const results = [result(null, 50), result("same", 5)]
const shown = page(settings, results)
const blocks = (heading: string) => shown.sections.find((section) => section.heading === heading)!.blocks

it("the page has the figures of the table", () => {
  expect(blocks("Figures")[0]).toMatchObject({ rows: rows(settings, results) })
})

it("draws plain modes and hedged ones apart; probes without an answer are later than every time", () => {
  const charts = blocks("Latencies")
  expect(charts).toMatchObject([
    {
      figures: {
        rows: [
          ["percentile", "lanes"],
          ["P50", "50 ms"]
        ]
      }
    },
    {
      figures: {
        rows: [
          ["percentile", "lanes-hedged"],
          ["P50", "5 ms"]
        ]
      }
    }
  ])
})

it("says who answered soonest, and how many hedges won", () => {
  expect(shown.verdict.join("\n")).toMatch(/10 of 20 answered; .*\n.*lanes-hedged: 2 of 3 hedges won\.$/)
})

it("says of what there is reason to doubt", () => {
  expect(shown.warnings).toContain("lanes: failed probes: Timeout 10")
})
