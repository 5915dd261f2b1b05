/** The report for people. */
import { grid } from "../grid.js"
import type { Result } from "./experiment.js"
import type { Forecast } from "./forecast.js"
import type { Learned } from "./protocol.js"
import type { Latency, Settings } from "./settings.js"
import { busy } from "./strain.js"
import type { Percentile, Summary } from "./summary.js"
import { type Bounded, ratioOf, timeOf } from "./unanswered.js"

type Row = ReadonlyArray<string>

/** What a cell says where there is nothing to say, and where nothing can be known. */
const none = "–"
const unknown = "unknown"

export const render = (settings: Settings, result: Result, forecast: Forecast | undefined): string =>
  [
    heading(settings).join("\n"),
    grid(rows(settings, result, forecast)),
    notes(settings, result, forecast).join("\n"),
    ...warnings(result)
  ].join("\n\n")

/** What was measured, a line at a time. */
export const heading = ({
  hedging,
  load,
  rounds,
  target,
  timeoutMs,
  transport
}: Settings): ReadonlyArray<string> => {
  const calls =
    load.fanOut === 1
      ? plural(load.calls, "call")
      : `${plural(load.calls / load.fanOut, "page")} of ${load.fanOut} calls`
  const pace =
    load.rate === null ? `${calls} at once, ${rounds} times` : `${calls}, ${count(load.rate)} calls a second`
  const server =
    target._tag === "Url"
      ? target.url
      : `a server that takes ${describe(target.latency)} (seed ${target.seed})`
  const limit = timeoutMs === null ? "" : `, time-out ${timeoutMs} ms`
  const when =
    hedging.delayMs === null
      ? "another copy after a delay that is learned"
      : `another copy every ${hedging.delayMs} ms`
  return [
    `${pace}, ${transport === "lanes" ? "over lanes " : ""}to ${server}`,
    `hedged: ${when}, at most ${hedging.maxAttempts} in all, at most ${percent(hedging.extraLoad)} extra load${limit}`
  ]
}

const describe = (latency: Latency): string => {
  switch (latency._tag) {
    case "Uniform": {
      const { fast, slow, slowShare } = latency
      return `${fast.min}–${fast.max} ms, ${percent(slowShare)} of the time ${slow.min}–${slow.max} ms`
    }
    case "LogNormal": {
      const { mean, sd, slowFactor, slowShare } = latency
      return `log-normal ${mean} ± ${sd} ms, ${percent(slowShare)} of the time ${slowFactor} × that`
    }
  }
}

/** The first row is the head. */
export const rows = (
  { load, timeoutMs }: Settings,
  { hedged, plain }: Result,
  forecast: Forecast | undefined
): ReadonlyArray<Row> => {
  const measured = (summary: Summary, name: Percentile) =>
    bounded(timeOf(summary, name, timeoutMs), ms) ?? (summary[name] === null ? none : "no answer")
  const expected = (value: number) =>
    timeoutMs !== null && value > timeoutMs ? `≥ ${ms(timeoutMs)}` : ms(value)
  const unit = load.fanOut === 1 ? "" : " of a page"
  const times = (label: string, name: Percentile): Row => [
    `${label}${unit}`,
    measured(plain, name),
    measured(hedged, name),
    bounded(ratioOf(plain, hedged, name, timeoutMs), (ratio) => ratio.toFixed(3)) ?? none,
    ...(forecast === undefined
      ? []
      : [expected(forecast.plain[name]), expected(forecast.hedged[name]), expected(forecast.ideal[name])])
  ]
  const both = (label: string, f: (summary: Summary) => string, ...theory: Row): Row => [
    label,
    f(plain),
    f(hedged),
    "",
    ...theory
  ]
  const theoryOfRequests =
    forecast === undefined ? [] : ["1.00", forecast.hedgedRequestsPerCall.toFixed(2), none]
  return [
    ["", "plain", "hedged", "ratio", ...(forecast === undefined ? [] : ["theory: plain", "hedged", "ideal"])],
    both("calls", (summary) => count(summary.count)),
    both("failures", (summary) => count(summary.failures)),
    ...(timeoutMs === null
      ? []
      : [both("of them timed out", (summary) => count(summary.failureKinds.Timeout ?? 0))]),
    times("P50", "p50"),
    times("P95", "p95"),
    times("P98.5", "p98_5"),
    times("P99", "p99"),
    times("P99.9", "p999"),
    both("requests per call", (summary) => figure(summary.requestsPerCall), ...theoryOfRequests),
    both("connections per call", (summary) => figure(summary.connectionsPerCall)),
    ["calls that sent a hedge", none, share(hedged.hedgeRate)],
    ["hedges that won", none, share(hedged.hedgeWinShare)],
    ["hedges suppressed", none, listing(hedged.suppressed)],
    ...(hedged.learned === null ? [] : learnedRows(hedged.learned)),
    ["cancelled copies had run for", none, ms(hedged.loserMeanMs)],
    [
      "server worked on after a cancel",
      none,
      hedged.afterCancelMeanMs === null ? afterCancelUnknown(hedged) : ms(hedged.afterCancelMeanMs)
    ]
  ]
}

const learnedRows = (learned: Learned): ReadonlyArray<Row> => [
  ["delay it settled on", none, settled(learned)],
  ["learned from", none, `${count(learned.samples)} answers`],
  ["P99 by its own estimate", ms(learned.p99.unhedged), ms(learned.p99.hedged)]
]

const settled = ({ delayMs, probability, status, suspendedBy }: Learned): string => {
  switch (status) {
    case "WarmUp":
      return "none yet"
    case "NoGain":
      return "none: nothing to gain"
    case "Suspended":
      return `suspended (${suspendedBy})`
    case "Active":
      return probability < 1 ? `${ms(delayMs)} in ${percent(probability)} of calls` : ms(delayMs)
  }
}

/** Without a cancelled copy there is nothing to know. */
const afterCancelUnknown = (summary: Summary): string => (summary.loserMeanMs === null ? none : unknown)

/** If something was too busy, figures tell of the machine, too. */
const warnings = (result: Result): ReadonlyArray<string> => {
  const lines = busy(result).map((words) => `! busy: ${words}`)
  return lines.length === 0
    ? []
    : [[...lines, "So the figures tell of this machine's lack of time as well as of hedging."].join("\n")]
}

export const notes = (
  settings: Settings,
  { hedged, plain }: Result,
  forecast: Forecast | undefined
): ReadonlyArray<string> => {
  const failed = [
    ["plain", plain.failureKinds],
    ["hedged", hedged.failureKinds]
  ] as const
  return [
    "Times count from when a call was due to when its answer had been read. Percentiles are nearest-rank, of all calls.",
    `Extra load: ${percent(settings.hedging.extraLoad)} of calls, and 10 hedges in advance; and none while many copies fail, by a token bucket like gRPC's. What either refuses is Throttled.`,
    ...(settings.rounds > 1
      ? [
          `Medians of ${settings.rounds} rounds, each by fresh processes, the order alternated; calls and failures are totals.`
        ]
      : []),
    ...(settings.warmUp > 0
      ? [
          `Each side sent ${count(settings.warmUp)} calls before, at the same rate, which are in no figure${settings.hedging.delayMs === null ? ", but the policy learned from them" : ""}.`
        ]
      : []),
    ...failed.flatMap(([name, kinds]) =>
      Object.keys(kinds).length === 0
        ? []
        : [
            `Failures, ${name}: ${listing(kinds)}. They are later than any answer${settings.timeoutMs === null ? "" : ": a percentile that falls on one is the time-out or more (≥)"}.`
          ]
    ),
    forecast === undefined
      ? "Theory: unknown, since the server's distribution is."
      : "Theory: every copy independent, clients and network free. Ideal: each percentile by the policy that is best for it, within the extra load and the copies."
  ]
}

const listing = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, n]) => `${name} ${count(n)}`)
    .join(", ") || "0"

const bounded = (known: Bounded | null, format: (value: number) => string): string | undefined =>
  known === null ? undefined : `${known.bound === undefined ? "" : `${known.bound} `}${format(known.value)}`

const plural = (n: number, word: string): string => `${count(n)} ${word}${n === 1 ? "" : "s"}`

const count = (n: number): string => n.toLocaleString("en-US")
const ms = (value: number | null): string => (value === null ? none : `${value.toFixed(1)} ms`)
const figure = (value: number | null): string => (value === null ? none : value.toFixed(2))
const percent = (value: number): string => `${Number((value * 100).toFixed(2))} %`
const share = (value: number | null): string => (value === null ? none : `${(value * 100).toFixed(1)} %`)
