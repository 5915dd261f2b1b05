/** The report for programs. */
import type { Result } from "./experiment.js"
import type { Settings } from "./settings.js"
import { mapPercentiles, type Percentiles, type Summary } from "./summary.js"

/** Times in milliseconds; null for what cannot be known. */
export const report = (settings: Settings, { hedged, plain }: Result) => ({
  workload: workload(settings),
  plain: side(plain),
  hedged: {
    ...side(hedged),
    hedgeRate: round(hedged.hedgeRate),
    hedgeWinShare: round(hedged.hedgeWinShare),
    loserMeanMs: round(hedged.loserMeanMs),
    suppressed: hedged.suppressed
  },
  ratio: ratios(plain, hedged)
})

export const ratios = (plain: Percentiles, hedged: Percentiles): Percentiles =>
  mapPercentiles((name) => {
    const over = plain[name]
    const of = hedged[name]
    return over === null || of === null || over === 0 ? null : round(of / over)
  })

const side = (summary: Summary) => ({
  count: summary.count,
  failures: summary.failures,
  ...mapPercentiles((name) => round(summary[name])),
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
  requests: settings.load.calls,
  rate: settings.load.rate,
  rounds: settings.rounds,
  warmUp: settings.warmUp,
  fanOut: settings.load.fanOut,
  percentilesOf: settings.load.fanOut === 1 ? "calls" : "pages",
  ...settings.hedging,
  timeoutMs: settings.timeoutMs
})

const round = (value: number | null): number | null =>
  value === null ? null : Math.round(value * 10_000) / 10_000
