import type { Measured } from "../../src/hol/experiment.js"
import type { ClientReport } from "../../src/hol/protocol.js"
import type { Settings } from "../../src/hol/settings.js"

/** What is not given, with nothing to run. */
export const settings: Settings = {
  modes: [],
  background: [],
  bandwidth: { down: 524_288, up: 524_288 },
  window: 524_288,
  lanes: 4,
  hedging: { afterMs: 100, extraLoad: null },
  pace: { _tag: "Every", ms: 100 },
  timeoutMs: 2_000,
  durationMs: 10_000,
  settleMs: 2_000,
  rounds: 1
}

/** What one probe comes to that is answered in 5 ms, beside 40 streams, with what is given instead. */
export const measured = (
  report: Partial<ClientReport>,
  rest: Partial<Omit<Measured, "report">> = {}
): Measured => ({
  report: {
    outcomes: { latencies: [5], failures: {} },
    streamsAtStart: [40],
    hedges: { hedgedCalls: 0, sent: 0, won: 0, suppressed: {} },
    calls: [],
    background: { over30s: 0, broken: {} },
    isComplete: true,
    strain: { stuckShare: 0, longestMs: 0, cpuShare: 0, machineShare: 0 },
    ...report
  },
  arrivals: [],
  connections: { opened: 4, open: 4 },
  ...rest
})
