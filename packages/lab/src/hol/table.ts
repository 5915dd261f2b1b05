/** The report for people. */

import { grid } from "../grid.js"
import { ofProcess } from "../tail/strain.js"
import type { Result } from "./experiment.js"
import { type Row, rowOf } from "./row.js"
import { type Mode, nameOf, type Settings, type Stream } from "./settings.js"

export const render = (settings: Settings, results: ReadonlyArray<Result>): string => {
  const said = remarks(results)
  return [
    heading(settings).join("\n"),
    grid(rows(settings, results)),
    notes(settings).join("\n"),
    ...(said.length === 0 ? [] : [said.join("\n")])
  ].join("\n\n")
}

export const rows = (settings: Settings, results: ReadonlyArray<Result>) => [
  header,
  ...results.map((result) => cells(result, rowOf(result, settings.timeoutMs)))
]

export const heading = ({
  background,
  bandwidth,
  durationMs,
  pace,
  rounds,
  timeoutMs,
  window
}: Settings): ReadonlyArray<string> => {
  const probes =
    pace._tag === "Every"
      ? `a probe every ${pace.ms} ms`
      : `one probe at a time, with a pause of ${pace.pauseMs} ms`
  const often = rounds === 1 ? "" : `, ${rounds} times`
  const ways =
    bandwidth.down === bandwidth.up
      ? `${kilobytes(bandwidth.down)}/s`
      : `${kilobytes(bandwidth.down)}/s down and ${kilobytes(bandwidth.up)}/s up`
  return [
    `${probes} for ${durationMs / 1_000} s${often}, time-out ${timeoutMs} ms, beside ${inWords(background)}`,
    `${ways} for each connection, HTTP/2 windows of ${kilobytes(window)}`
  ]
}

const inWords = (background: ReadonlyArray<Stream>): string => {
  const bulk = background.filter(({ _tag }) => _tag === "Bulk").length
  const events = background.filter((stream) => stream._tag === "Events")
  const rate = events[0]?.bytesPerSecond ?? 0
  return [
    ...(bulk === 0 ? [] : [`${bulk} downloads`]),
    ...(events.length === 0 ? [] : [`${events.length} event streams of ${kilobytes(rate)}/s`])
  ].join(" and ")
}

const kilobytes = (bytes: number): string => `${Number((bytes / 1_024).toFixed(1))} KB`

const header = [
  "mode",
  "ok/started",
  "mean",
  "P95",
  "beside streams",
  "streams",
  "hedges won/sent",
  "connections",
  "open",
  "over 30 s"
]

const cells = ({ mode }: Result, row: Row): ReadonlyArray<string> => [
  row.mode,
  `${row.ok}/${row.started}`,
  ms(row.meanMs),
  ms(row.p95Ms),
  `${row.sharedConnection}`,
  row.activeStreamsAtStart.toFixed(1),
  hedges(mode, row),
  `${row.connectionsOpened}`,
  `${row.connectionsOpen}`,
  `${row.streamsOver30s}`
]

const hedges = ({ hedgeOn }: Mode, { hedgesSent, hedgesWon }: Row): string => {
  if (hedgesSent > 0) return `${hedgesWon}/${hedgesSent}`
  return hedgeOn === null ? none : "none sent"
}

const none = "–"
const ms = (value: number | null): string => (value === null ? none : `${value.toFixed(1)} ms`)

export const notes = ({ hedging, modes }: Settings): ReadonlyArray<string> => [
  ...(modes.some(({ hedgeOn }) => hedgeOn !== null)
    ? [
        `Hedged: another copy after ${hedging.afterMs} ms, ${hedging.extraLoad === null ? "as many as are due" : `at most ${Number((hedging.extraLoad * 100).toFixed(2))} % of probes and 10 in advance`}.`
      ]
    : []),
  "Times are of probes that ended by themselves; one that failed counts as the time-out. Probes in flight at the end are waited for.",
  "Beside streams: probes whose connection had background streams on it when they came in. Streams: those with data when a probe started, on average.",
  "Connections: opened in all, and open at the end. Over 30 s: background streams that went on so long."
]

/** What has to be known of a figure that surprises. */
export const remarks = (results: ReadonlyArray<Result>): ReadonlyArray<string> =>
  results.flatMap(({ mode, rounds }) =>
    rounds.flatMap(({ report }) => [
      ...named(`${nameOf(mode)}: failed probes`, report.outcomes.failures),
      ...named(`${nameOf(mode)}: hedges that were not sent`, report.hedges.suppressed),
      ...named(`${nameOf(mode)}: background streams that broke off`, report.background.broken),
      ...(report.isComplete ? [] : [`! ${nameOf(mode)}: not all background streams had data within 20 s`]),
      ...ofProcess(`the client of ${nameOf(mode)}`, report.strain).map((words) => `! busy: ${words}`)
    ])
  )

const named = (what: string, counts: Readonly<Record<string, number>>): ReadonlyArray<string> => {
  const all = Object.entries(counts).map(([name, count]) => `${name} ${count}`)
  return all.length === 0 ? [] : [`${what}: ${all.join(", ")}`]
}
