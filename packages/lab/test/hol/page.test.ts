import { expect, it } from "vitest"
import { page } from "../../src/hol/page.js"
import type { HedgeOn } from "../../src/hol/settings.js"
import { rows } from "../../src/hol/table.js"
import type { Call } from "../../src/html/call.js"
import { measured, settings } from "./support.js"

const hedgedProbe: Call = {
  number: 7,
  dueMs: 600,
  tookMs: 104,
  attempts: [
    { startMs: 0, endMs: 104, end: "CutOff" },
    { startMs: 100, endMs: 104, end: "Won" }
  ]
}

/** Probes that took so long, and as many again that got no answer. */
const result = (hedgeOn: HedgeOn | null, latency: number) => {
  const latencies = Array.from({ length: 20 }, (_, i) => (i < 10 ? latency : null))
  const sent = hedgeOn === null ? 0 : 3
  const round = measured({
    outcomes: { latencies, failures: { Timeout: 10 } },
    hedges: { hedgedCalls: sent, sent, won: 2, suppressed: {} },
    calls: hedgeOn === null ? [] : [{ title: "The slowest", calls: [hedgedProbe] }]
  })
  return { mode: { connections: "lanes", hedgeOn } as const, rounds: [round] }
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

it("draws hedged probes attempt by attempt, and of plain modes nothing", () => {
  expect(blocks("Probes")).toMatchObject([
    {
      caption: "Some probes attempt by attempt, lanes-hedged",
      figures: {
        rows: [
          ["call", "chosen as", "due at", "took", "attempts"],
          [
            "7",
            "The slowest",
            "600 ms",
            "104 ms",
            "primary, 0 ms to 104 ms, was cut off; hedge 1, 100 ms to 104 ms, answered the call"
          ]
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
