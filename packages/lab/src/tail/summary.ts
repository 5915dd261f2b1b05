/** What was counted on one side, as figures. */
import { medianOf } from "../median.js"
import type { ClientReport, Learned, ServerReport } from "./protocol.js"
import { medianStrain, type Strain } from "./strain.js"

/** The percentiles of the report, and what they are called in it. */
export const percentiles = { p50: 0.5, p95: 0.95, p98_5: 0.985, p99: 0.99, p999: 0.999 } as const
export type Percentile = keyof typeof percentiles
export type Percentiles = Readonly<Record<Percentile, number | null>>

/**
 * Null stands for what cannot be known. Times are in milliseconds; a percentile is infinite if it falls on a call that failed, since nobody had an
 * answer to that by any time.
 */
export interface Summary extends Percentiles {
  readonly count: number
  readonly failures: number
  readonly failureKinds: Readonly<Record<string, number>>
  readonly requestsPerCall: number | null
  readonly connectionsPerCall: number | null
  /** Calls that sent a hedge, of all calls. */
  readonly hedgeRate: number | null
  /** Hedges whose answer was the call's, of all hedges. */
  readonly hedgeWinShare: number | null
  /** How long a cancelled copy had been worked on, on average. */
  readonly loserMeanMs: number | null
  /** How long the server went on with a copy after the client had cancelled it, on average. */
  readonly afterCancelMeanMs: number | null
  readonly suppressed: Readonly<Record<string, number>>
  /** What the policy knew in the end; null unless it learns. */
  readonly learned: Learned | null
  readonly client: Strain
  /** Null for a server that is not ours. */
  readonly server: Strain | null
}

/** @param server what its server counted, if it is one that counts. */
export const summarise = (
  client: ClientReport,
  server: ServerReport | undefined,
  fanOut: number
): Summary => {
  const count = client.latencies.length
  const { hedgedCalls, sent, suppressed, won } = client.hedges
  return {
    ...percentilesOf(pages(client.latencies, fanOut)),
    count,
    failures: sum(Object.values(client.failures)),
    failureKinds: client.failures,
    requestsPerCall: (server?.received ?? client.sent) / count,
    connectionsPerCall: (server?.connections ?? client.connections) / count,
    hedgeRate: hedgedCalls / count,
    hedgeWinShare: share(won, sent),
    loserMeanMs:
      server === undefined
        ? mean(client.cancelled.map(([, , ran]) => ran))
        : share(server.cancelledMs, server.cancelled),
    afterCancelMeanMs: server === undefined ? null : mean(afterCancel(client, server)),
    suppressed,
    learned: client.learned,
    client: client.strain,
    server: server?.strain ?? null
  }
}

/** Nearest rank: the least value that at least this share of them does not exceed. */
export const percentile = (sorted: ReadonlyArray<number>, p: number): number | null =>
  // what rounding adds to p × n must not move it to the next rank
  sorted[Math.max(0, Math.ceil(p * sorted.length - 1e-9) - 1)] ?? null

export const percentilesOf = (latencies: ReadonlyArray<number>): Percentiles => {
  const sorted = [...latencies].sort((a, b) => a - b)
  return mapPercentiles((name) => percentile(sorted, percentiles[name]))
}

export const mapPercentiles = <A>(f: (name: Percentile) => A): Readonly<Record<Percentile, A>> => ({
  p50: f("p50"),
  p95: f("p95"),
  p98_5: f("p98_5"),
  p99: f("p99"),
  p999: f("p999")
})

/** A page is as late as the latest of its `fanOut` calls; one with a failed call never comes, so that failures make no tail look better. */
export const pages = (latencies: ReadonlyArray<number | null>, fanOut: number): ReadonlyArray<number> => {
  const slowest: Array<number> = []
  for (let first = 0; first < latencies.length; first += fanOut) {
    const page = latencies.slice(first, first + fanOut)
    slowest.push(page.reduce<number>((latest, latency) => Math.max(latest, latency ?? Infinity), 0))
  }
  return slowest
}

/** How much later the server stopped working on each copy that the client cancelled and the server had received. */
const afterCancel = (client: ClientReport, server: ServerReport): ReadonlyArray<number> => {
  const stopped = new Map(server.stopped)
  return client.cancelled.flatMap(([copy, at]) => {
    const stoppedAt = stopped.get(copy)
    return stoppedAt === undefined ? [] : [Math.max(0, stoppedAt - at)]
  })
}

/** Of several rounds: counts and failures of all of them, the median of everything else. */
export const medianSummary = (rounds: ReadonlyArray<Summary>): Summary => {
  const median = (f: (round: Summary) => number | null) => medianOf(rounds.map(f))
  return {
    ...mapPercentiles((name) => median((round) => round[name])),
    count: sum(rounds.map((round) => round.count)),
    failures: sum(rounds.map((round) => round.failures)),
    failureKinds: combine(
      rounds.map((round) => round.failureKinds),
      sum
    ),
    requestsPerCall: median((round) => round.requestsPerCall),
    connectionsPerCall: median((round) => round.connectionsPerCall),
    hedgeRate: median((round) => round.hedgeRate),
    hedgeWinShare: median((round) => round.hedgeWinShare),
    loserMeanMs: median((round) => round.loserMeanMs),
    afterCancelMeanMs: median((round) => round.afterCancelMeanMs),
    suppressed: combine(
      rounds.map((round) => round.suppressed),
      (values) => medianOf(values) ?? 0
    ),
    learned: rounds[rounds.length - 1]?.learned ?? null,
    client: medianStrain(rounds.map((round) => round.client)),
    server: rounds.every(({ server }) => server === null)
      ? null
      : medianStrain(rounds.flatMap(({ server }) => server ?? []))
  }
}

const combine = (
  counts: ReadonlyArray<Readonly<Record<string, number>>>,
  f: (values: ReadonlyArray<number>) => number
): Record<string, number> => {
  const names = new Set(counts.flatMap((count) => Object.keys(count)))
  return Object.fromEntries(Array.from(names, (name) => [name, f(counts.map((count) => count[name] ?? 0))]))
}

const sum = (values: ReadonlyArray<number>): number => values.reduce((total, value) => total + value, 0)

const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole)

const mean = (values: ReadonlyArray<number>): number | null => share(sum(values), values.length)
