import { describe, expect, it } from "vitest"
import { rowOf } from "../../src/hol/row.js"
import type { Mode } from "../../src/hol/settings.js"
import { measured } from "./support.js"

const mode: Mode = { connections: "shared", hedgeOn: "own" }

const round = measured(
  {
    outcomes: { latencies: [30, null, 10, null, 20], failures: { Timeout: 1, Unanswered: 1 } },
    streamsAtStart: [40, 40, 40, 39, 39],
    hedges: { hedgedCalls: 3, sent: 3, won: 2, suppressed: {} },
    background: { over30s: 7, broken: {} }
  },
  {
    arrivals: [
      { probe: 0, attempt: 0, streamsBeside: 40 },
      { probe: 0, attempt: 1, streamsBeside: 0 },
      { probe: 1, attempt: 0, streamsBeside: 0 },
      { probe: 2, attempt: 0, streamsBeside: 1 }
    ],
    connections: { opened: 3, open: 2 }
  }
)

describe("a row", () => {
  it("counts probes by what became of them, and those whose primary shared its connection", () => {
    expect(rowOf({ mode, rounds: [round] }, 2_000)).toEqual({
      mode: "shared-hedged-own",
      started: 5,
      ok: 3,
      failed: 1,
      cancelledAtEnd: 1,
      meanMs: (10 + 20 + 30 + 2_000) / 4,
      p95Ms: 2_000,
      sharedConnection: 2,
      activeStreamsAtStart: 39.6,
      hedgesSent: 3,
      hedgesWon: 2,
      connectionsOpened: 3,
      connectionsOpen: 2,
      streamsOver30s: 7
    })
  })

  it("is of all rounds together", () => {
    expect(rowOf({ mode, rounds: [round, round] }, 2_000)).toMatchObject({
      started: 10,
      ok: 6,
      failed: 2,
      cancelledAtEnd: 2,
      sharedConnection: 4,
      activeStreamsAtStart: 39.6,
      connectionsOpened: 6
    })
  })

  it("has no times without a probe that has ended", () => {
    const outcomes = { latencies: [null], failures: { Unanswered: 1 } }
    const none = { ...round, report: { ...round.report, outcomes } }
    expect(rowOf({ mode, rounds: [none] }, 2_000)).toMatchObject({
      cancelledAtEnd: 1,
      meanMs: null,
      p95Ms: null
    })
  })
})
