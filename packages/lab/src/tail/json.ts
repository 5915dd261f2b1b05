/** The report for programs. */
import type { Result } from "./experiment.js"
import type { Settings } from "./settings.js"
import { busy } from "./strain.js"
import { mapPercentiles, type Summary } from "./summary.js"
import { ratioOf, timeOf } from "./unanswered.js"

/**
 * Times in milliseconds; null for what cannot be known. A percentile that falls on a call without an answer is the time-out, which is the least that
 * it is, or null without one; what is not in the stated shape stands in `workload`, and what a policy has learned in `hedged`.
 */
export const report = (settings: Settings, result: Result) => {
  const { hedged, plain } = result
  const { timeoutMs } = settings
  return {
    workload: { ...workload(settings), warnings: busy(result) },
    plain: side(plain, timeoutMs),
    hedged: {
      ...side(hedged, timeoutMs),
      hedgeRate: round(hedged.hedgeRate),
      hedgeWinShare: round(hedged.hedgeWinShare),
      loserMeanMs: round(hedged.loserMeanMs),
      suppressed: hedged.suppressed,
      ...(hedged.learned === null ? {} : { learned: hedged.learned })
    },
    ratio: mapPercentiles((name) => round(ratioOf(plain, hedged, name, timeoutMs)?.value ?? null))
  }
}

const side = (summary: Summary, timeoutMs: number | null) => ({
  count: summary.count,
  failures: summary.failures,
  ...mapPercentiles((name) => round(timeOf(summary, name, timeoutMs)?.value ?? null)),
  requestsPerCall: round(summary.requestsPerCall),
  connectionsPerCall: round(summary.connectionsPerCall)
})

const workload = (settings: Settings) => ({
  ...(settings.target._tag === "Url"
    ? { url: settings.target.url }
    : {
        latency: settings.target.latency,
        seed: settings.target.seed,
        keepsWorking: settings.target.keepsWorking
      }),
  client: settings.transport,
  requests: settings.load.calls,
  rate: settings.load.rate,
  rounds: settings.rounds,
  warmUp: settings.warmUp,
  fanOut: settings.load.fanOut,
  percentilesOf: settings.load.fanOut === 1 ? "calls" : "pages",
  adaptive: settings.hedging.delayMs === null,
  ...settings.hedging,
  timeoutMs: settings.timeoutMs
})

const round = (value: number | null): number | null =>
  value === null ? null : Math.round(value * 10_000) / 10_000
