/** One mode's figures: a row of the table, and of the report for programs. */
import { percentile } from "../tail/summary.js"
import type { Measured, Result } from "./experiment.js"
import { nameOf } from "./settings.js"

export interface Row {
  readonly mode: string
  /** Probes. */
  readonly started: number
  readonly ok: number
  readonly failed: number
  /** Neither answered nor timed out when nobody waited any longer. */
  readonly cancelledAtEnd: number
  /** Of probes that ended by themselves; a failed one counts as the time-out, the least that it cost. Null without any. */
  readonly meanMs: number | null
  readonly p95Ms: number | null
  /** Probes whose primary came in on a connection with background streams on it, of those that came in. */
  readonly sharedConnection: number
  /** Background streams whose first data was in when a probe started, on average. */
  readonly activeStreamsAtStart: number
  readonly hedgesSent: number
  readonly hedgesWon: number
  readonly connectionsOpened: number
  /** When the last probe had ended. */
  readonly connectionsOpen: number
  readonly streamsOver30s: number
}

export const rowOf = ({ mode, rounds }: Result, timeoutMs: number): Row => {
  const total = (count: (measured: Measured) => number) =>
    rounds.reduce((sum, measured) => sum + count(measured), 0)
  const latencies = rounds.flatMap(({ report }) => report.outcomes.latencies)
  const answered = latencies.filter((latency) => latency !== null)
  const cancelledAtEnd = total(({ report }) => report.outcomes.failures.Unanswered ?? 0)
  const failed = latencies.length - answered.length - cancelledAtEnd
  const times = [...answered, ...Array<number>(failed).fill(timeoutMs)].sort((a, b) => a - b)
  return {
    mode: nameOf(mode),
    started: latencies.length,
    ok: answered.length,
    failed,
    cancelledAtEnd,
    meanMs: mean(times),
    p95Ms: round(percentile(times, 0.95)),
    sharedConnection: total(
      ({ arrivals }) =>
        arrivals.filter(({ attempt, streamsBeside }) => attempt === 0 && streamsBeside > 0).length
    ),
    activeStreamsAtStart: mean(rounds.flatMap(({ report }) => report.streamsAtStart)) ?? 0,
    hedgesSent: total(({ report }) => report.hedges.sent),
    hedgesWon: total(({ report }) => report.hedges.won),
    connectionsOpened: total(({ connections }) => connections.opened),
    connectionsOpen: total(({ connections }) => connections.open),
    streamsOver30s: total(({ report }) => report.background.over30s)
  }
}

const mean = (values: ReadonlyArray<number>): number | null =>
  values.length === 0 ? null : round(values.reduce((sum, value) => sum + value, 0) / values.length)

const round = <N extends number | null>(value: N): N =>
  (value === null ? value : Math.round(value * 10) / 10) as N
