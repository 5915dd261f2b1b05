import type { Settings } from "../../src/tail/settings.js"
import type { Summary } from "../../src/tail/summary.js"

export const settings: Settings = {
  target: { _tag: "Url", url: "http://x/", authorization: null },
  load: { calls: 3_000, rate: 500, fanOut: 1 },
  hedging: { delayMs: 80, maxAttempts: 3, extraLoad: 0.2 },
  transport: "undici",
  timeoutMs: null,
  warmUp: 200,
  rounds: 1
}

export const calm = { stuckShare: 0, longestMs: 0, cpuShare: 0.2, machineShare: 0.4 }

export const plain: Summary = {
  p50: 32,
  p95: 750,
  p98_5: 925,
  p99: 950,
  p999: 995,
  count: 3_000,
  failures: 0,
  failureKinds: {},
  requestsPerCall: 1,
  connectionsPerCall: 0.1,
  hedgeRate: 0,
  hedgeWinShare: null,
  loserMeanMs: null,
  afterCancelMeanMs: null,
  suppressed: {},
  learned: null,
  client: calm,
  server: null
}
