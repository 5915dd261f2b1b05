/** What was simulated, for programs and for people. */
import { grid } from "../grid.js"
import { type Row, type Side, warmUpOf } from "./experiment.js"
import type { Load, Settings } from "./settings.js"
import type { Line } from "./suite/line.js"
import { mean } from "./workload.js"

const round = (value: number): number => Math.round(value * 10_000) / 10_000
const rounded = (value: number | null): number | null => (value === null ? null : round(value))

/** Times in milliseconds; null for what there is not. */
export const json = ({ calls, cluster, hedging, seed, workload }: Settings, rows: ReadonlyArray<Row>) => ({
  workload: { ...workload, meanMs: round(mean(workload)) },
  cluster: {
    ...cluster,
    servers: cluster.servers === Infinity ? null : cluster.servers,
    slowdown: cluster.slowdown ?? null
  },
  calls,
  warmUp: warmUpOf(calls),
  seed,
  hedging,
  rows: rows.map(({ learned, load, recoveredAfterMs, side, suppressed, winShare, ...figures }) => ({
    utilisation: load.utilisation,
    rate: round(load.rate),
    side,
    ...Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, round(value)])),
    winShare: rounded(winShare),
    suppressed,
    status: learned?.status ?? null,
    delayMs: rounded(learned?.delayMs ?? null),
    estimatedUnhedgedP99: rounded(learned?.unhedgedP99 ?? null),
    recoveredAfterMs
  }))
})

export const sides: Readonly<Record<Side, string>> = {
  unhedged: "unhedged",
  hedged: "hedged",
  idle: "hedged, to idle servers"
}

export const table = (settings: Settings, rows: ReadonlyArray<Row>): string =>
  [heading(settings).join("\n"), grid(tableRows(settings, rows)), notes(settings).join("\n")].join("\n\n")

/** The first row is the head; two cells of each row say what the others are of. */
export const tableRows = (
  settings: Settings,
  rows: ReadonlyArray<Row>
): ReadonlyArray<ReadonlyArray<string>> => [header(settings), ...rows.map((row) => cells(settings, row))]

/** What was simulated, a line at a time. */
export const heading = ({ calls, cluster, hedging, seed, workload }: Settings): ReadonlyArray<string> => {
  const { cancellation, slowdown } = cluster
  const servers =
    cluster.servers === Infinity
      ? "a server for each request"
      : `${cluster.servers} servers, first come, first served, picked by ${cluster.balancer}; ${cancelled[cancellation]}`
  const slow =
    slowdown === undefined
      ? []
      : [
          `${slowdown.servers >= cluster.servers ? "all servers" : `${slowdown.servers} of them`} ${slowdown.factor} × slower from ${seconds(slowdown.from)} to ${seconds(slowdown.to)}`
        ]
  const policy =
    hedging._tag === "Fixed"
      ? `a hedge after ${hedging.delayMs} ms`
      : `a hedge when the policy has learned to, for the P${100 * hedging.objective}`
  return [
    `${count(calls)} calls at each load, ${workload.name} of ${ms(mean(workload))} on average (seed ${seed})`,
    servers,
    ...slow,
    `hedged: ${policy}, at most ${percent(hedging.extraLoad)} extra load`
  ]
}

const cancelled = {
  all: "cancelled copies stop",
  queued: "cancelled copies stop unless begun",
  none: "cancelled copies run on"
}

const header = ({ cluster, hedging }: Settings): ReadonlyArray<string> => [
  "load",
  "calls",
  ...["P50", "P95", "P99", "P99.9", "P99 ratio", "requests per call", "hedges that won"],
  ...(hedging._tag === "Adaptive" ? ["delay", "status"] : []),
  ...(cluster.slowdown === undefined ? [] : ["back after"])
]

export const loadName = ({ rate, utilisation }: Load): string =>
  utilisation === null ? `${count(rate)}/s` : percent(utilisation)

const cells = ({ cluster, hedging }: Settings, row: Row): ReadonlyArray<string> => [
  loadName(row.load),
  sides[row.side],
  ...[row.p50, row.p95, row.p99, row.p999].map(ms),
  row.ratio.toFixed(3),
  row.requestsPerCall.toFixed(3),
  row.winShare === null ? none : percent(row.winShare, 1),
  ...(hedging._tag === "Adaptive"
    ? [
        row.learned === undefined || row.learned.delayMs === null ? none : ms(row.learned.delayMs),
        row.learned?.status ?? none
      ]
    : []),
  ...(cluster.slowdown === undefined || row.recoveredAfterMs === null ? [] : [seconds(row.recoveredAfterMs)])
]

export const notes = ({ calls, cluster, hedging }: Settings): ReadonlyArray<string> => [
  `Percentiles are nearest-rank. The first ${count(warmUpOf(calls))} calls and those that were held out are in none.`,
  ...(hedging._tag === "Adaptive" ? ["Delay and status are those at the end."] : []),
  ...(cluster.slowdown === undefined
    ? []
    : ["Calls are back once their median, a second's at a time, stays below twice what it was before."])
]

/** The suite's, for people. */
export const suiteTable = (lines: ReadonlyArray<Line>): string => grid(suiteRows(lines))

/** The first row is the head. */
export const suiteRows = (lines: ReadonlyArray<Line>): ReadonlyArray<ReadonlyArray<string>> => [
  ["", "value", "at most", ""],
  ...lines.map(({ name, ok, target, value }) => [name, figure(value), figure(target), ok ? "ok" : "MISSED"])
]

const none = "–"
const figure = (value: number): string => String(round(value))
const count = (n: number): string => Math.round(n).toLocaleString("en-US")
const ms = (value: number): string => `${value.toFixed(1)} ms`
const seconds = (millis: number): string => `${Number((millis / 1000).toFixed(1))} s`
const percent = (value: number, digits = 2): string => `${Number((value * 100).toFixed(digits))} %`
