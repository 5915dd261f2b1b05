/** What holds of every trace, said without the model: each line is a promise to users, and how a trace would break it. */
import { attemptOf, type CallSpec, nanos, type Script, slip, type ThrottleSpec } from "./script.js"
import type { CallTrace, Seen } from "./trace.js"

type Holds = (spec: CallSpec, trace: CallTrace, call: number) => boolean

const times = (trace: CallTrace, what: Seen["what"], attempt: number): ReadonlyArray<number> =>
  trace.seen.filter((one) => one.what === what && one.attempt === attempt).map(({ at }) => at)

const started = ({ seen }: CallTrace): ReadonlyArray<Seen> => seen.filter(({ what }) => what === "start")

const endOf = ({ told }: CallTrace) => told.find(({ _tag }) => _tag === "CallEnded")

const everyAttempt = (trace: CallTrace, holds: (attempt: number) => boolean): boolean =>
  started(trace).every(({ attempt }) => holds(attempt))

const discards = ({ told }: CallTrace, attempt: number): number =>
  told.filter((event) => event._tag === "Discarded" && event.attempt === attempt).length

const ofEachCall: Readonly<Record<string, Holds>> = {
  "the primary starts at once": ({ startsAt }, trace, call) =>
    times(trace, "start", 0)[0] === nanos(startsAt) + slip(call, "Start", 0),

  "no attempt starts twice, and none beyond maxAttempts": ({ maxAttempts }, trace) =>
    started(trace).length <= maxAttempts &&
    everyAttempt(trace, (attempt) => times(trace, "start", attempt).length === 1),

  "where hedging is off, one attempt is all": ({ off }, trace) =>
    off === undefined || started(trace).length === 1,

  "a call ends once, and nothing is launched or suppressed afterwards": (_, { told }) => {
    const end = told.findIndex(({ _tag }) => _tag === "CallEnded")
    const after = end < 0 ? [] : told.slice(end + 1)
    return after.every(({ _tag }) => _tag === "AttemptEnded" || _tag === "Discarded")
  },

  "a success is taken or discarded, never both, never twice": (spec, trace, call) =>
    everyAttempt(trace, (attempt) => {
      const succeeded =
        attemptOf(spec, attempt).exit === "Success" && times(trace, "answer", attempt).length > 0
      const taken = trace.taken?.exit === `Success ${call}.${attempt}` ? 1 : 0
      const fates = taken + discards(trace, attempt)
      // while the caller waits, the result and a primary's answer that may become it have no fate yet
      return succeeded ? fates === 1 || (fates === 0 && trace.taken === undefined) : fates === 0
    }),

  "what is discarded is released once": ({ onDiscard }, trace) =>
    onDiscard === "None" ||
    everyAttempt(trace, (attempt) => times(trace, "release", attempt).length === discards(trace, attempt)),

  "an attempt is interrupted at most once, and then ends": (spec, trace) =>
    everyAttempt(trace, (attempt) => {
      const interruptions = times(trace, "interruption", attempt)
      return (
        interruptions.length <= 1 &&
        interruptions.length === times(trace, "unwound", attempt).length &&
        (interruptions.length === 0 ||
          times(trace, "answer", attempt).length === 0 ||
          attemptOf(spec, attempt).stubborn)
      )
    }),

  "when a call has ended, its attempts have, or are interrupted, or cannot be": (spec, trace) => {
    const end = endOf(trace)
    return (
      end === undefined ||
      everyAttempt(
        trace,
        (attempt) =>
          attemptOf(spec, attempt).stubborn ||
          times(trace, "answer", attempt).length > 0 ||
          times(trace, "interruption", attempt)[0]! <= end.at
      )
    )
  },

  "the caller does not wait for losers unless it wants to, or is interrupted": ({ awaitLosers }, trace) =>
    awaitLosers ||
    trace.taken?.exit === "Interrupt" ||
    trace.taken?.at === endOf(trace)?.at ||
    waitsForEver(trace),

  "no call lasts longer than its deadline": ({ deadline }, trace) => {
    const end = endOf(trace)
    const start = times(trace, "start", 0)[0]!
    return deadline === undefined || (end !== undefined && end.at <= start + nanos(deadline))
  },

  "an uninterruptible caller gets what it called for": ({ interruptible }, trace) =>
    interruptible ||
    !trace.told.some((event) => event._tag === "CallEnded" && event.outcome === "Interrupted")
}

/** An interrupted caller waits for its attempts, and some never end. */
const waitsForEver = ({ told, taken }: CallTrace): boolean =>
  taken === undefined && told.some((event) => event._tag === "CallEnded" && event.outcome === "Interrupted")

/** When hedges start and end, by time; at one instant ends count first. */
const mostAtOnce = (traces: ReadonlyArray<CallTrace>): number => {
  const changes = traces.flatMap((trace) =>
    started(trace)
      .filter(({ attempt }) => attempt > 0)
      .flatMap(({ at, attempt }) => {
        const ends = [...times(trace, "answer", attempt), ...times(trace, "unwound", attempt)]
        return [{ at, by: 1 }, ...ends.map((end) => ({ at: end, by: -1 }))]
      })
  )
  let [now, most] = [0, 0]
  for (const { by } of changes.sort((a, b) => a.at - b.at || a.by - b.by)) {
    now += by
    most = Math.max(most, now)
  }
  return most
}

const keepsTo = (throttle: ThrottleSpec, traces: ReadonlyArray<CallTrace>): boolean => {
  switch (throttle._tag) {
    case "LoadBudget": {
      const hedges = traces.flatMap(started).filter(({ attempt }) => attempt > 0).length
      return hedges * 1000 <= throttle.burst * 1000 + throttle.extraLoad * traces.length
    }
    case "Concurrency":
      return mostAtOnce(traces) <= throttle.most
    case "All":
      return throttle.of.every((one) => keepsTo(one, traces))
    default:
      return true
  }
}

/** The promises that the traces of a script break. */
export const broken = (script: Script, traces: ReadonlyArray<CallTrace>): ReadonlyArray<string> => [
  ...traces.flatMap((trace, call) =>
    Object.entries(ofEachCall)
      .filter(([, holds]) => !holds(script.calls[call]!, trace, call))
      .map(([promise]) => `call ${call}: ${promise}`)
  ),
  ...(keepsTo(script.throttle, traces) ? [] : ["hedges stay within the throttle"])
]
