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
