/** Traces: what a script's caller, its server and a listener see. All times are whole nanoseconds since the script began. */
import type { HedgeEvent } from "effect-hedge"

/** What a listener is told. */
export type Told =
  | {
      readonly _tag: "AttemptStarted"
      readonly at: number
      readonly attempt: number
      readonly reason: HedgeEvent.LaunchReason
    }
  | {
      readonly _tag: "AttemptEnded"
      readonly at: number
      readonly attempt: number
      readonly outcome: HedgeEvent.AttemptEnded["outcome"]
      readonly interrupted: HedgeEvent.InterruptReason | undefined
      readonly ran: number
      readonly unwind: number
    }
  | {
      readonly _tag: "HedgeSuppressed"
      readonly at: number
      readonly attempt: number
      readonly reason: string
      readonly throttle: string | undefined
    }
  | {
      readonly _tag: "Discarded"
      readonly at: number
      readonly attempt: number
      readonly reason: HedgeEvent.DiscardReason
    }
  | {
      readonly _tag: "CallEnded"
      readonly at: number
      readonly outcome: HedgeEvent.CallOutcome
      readonly winner: number | undefined
      readonly attempts: number
      /** The exits of the attempts that were NonFatal. */
      readonly rejected: string
    }

/** What the server sees of an attempt, what becomes of the successes, and what is logged. */
export interface Seen {
  readonly at: number
  readonly what: "start" | "answer" | "interruption" | "unwound" | "release" | "log"
  readonly attempt: number
}

/** What the caller gets: an attempt's success, or the parts of a cause from left to right. */
export interface Taken {
  readonly at: number
  readonly exit: string
}

export interface CallTrace {
  readonly told: ReadonlyArray<Told>
  readonly seen: ReadonlyArray<Seen>
  readonly taken: Taken | undefined
}

const time = (at: number): string => (at / 1_000_000).toFixed(6).padStart(13)

const renderTold = ({ _tag, at, ...rest }: Told): string =>
  `${time(at)} ${_tag} ${Object.entries(rest)
    .map(
      ([name, value]) =>
        `${name}=${name === "ran" || name === "unwind" ? time(value as number).trim() : value}`
    )
    .join(" ")}`

/** Attempts that are interrupted together end in the order in which their fibers come to run: here, in that of their indices. */
const inOrder = (told: ReadonlyArray<Told>): ReadonlyArray<Told> => {
  const ordered = [...told]
  for (let end = 1; end < ordered.length; end++) {
    for (let i = end; i > 0 && endInWrongOrder(ordered[i - 1]!, ordered[i]!); i--) {
      ordered.splice(i - 1, 2, ordered[i]!, ordered[i - 1]!)
    }
  }
  return ordered
}

const endInWrongOrder = (first: Told, second: Told): boolean =>
  first._tag === "AttemptEnded" &&
  second._tag === "AttemptEnded" &&
  first.interrupted !== undefined &&
  second.interrupted !== undefined &&
  first.at === second.at &&
  first.attempt > second.attempt

/** Events keep their order; what the server sees is put into one, since its order within an instant is nobody's rule. */
export const render = (traces: ReadonlyArray<CallTrace>): ReadonlyArray<string> =>
  traces.flatMap(({ told, seen, taken }, call) => [
    `call ${call}`,
    ...inOrder(told).map(renderTold),
    ...seen.map(({ at, what, attempt }) => `${time(at)} ${what} of ${attempt}`).sort(),
    taken === undefined ? "the caller waits for ever" : `${time(taken.at)} the caller gets ${taken.exit}`
  ])
