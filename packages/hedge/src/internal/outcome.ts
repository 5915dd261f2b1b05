import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Exit from "effect/Exit"
import type { HedgeOutcome, Pushback } from "../HedgeOutcome.js"
import { decode } from "./check.js"

export const win: HedgeOutcome = { _tag: "Win" }
const plainNonFatal: HedgeOutcome = { _tag: "NonFatal" }
const plainFatal: HedgeOutcome = { _tag: "Fatal" }

export const nonFatal = (pushback?: Pushback): HedgeOutcome =>
  pushback === undefined ? plainNonFatal : { _tag: "NonFatal", pushback }

export const fatal = (pushback?: Pushback): HedgeOutcome =>
  pushback === undefined ? plainFatal : { _tag: "Fatal", pushback }

export const fromExit = (exit: Exit.Exit<unknown, unknown>): HedgeOutcome =>
  exit._tag === "Success" || Cause.isEmpty(exit.cause)
    ? win
    : Cause.isFailure(exit.cause)
      ? plainNonFatal
      : plainFatal

/** What a user's classify answered, if it is an answer. */
export const checkOutcome = (outcome: HedgeOutcome): HedgeOutcome => {
  const tag = (outcome as HedgeOutcome | undefined)?._tag
  if (tag === "Win" || tag === "NonFatal" || tag === "Fatal") return outcome
  throw new TypeError(
    `classify answered ${String(tag)}; allowed is an outcome whose _tag is Win, NonFatal or Fatal`
  )
}

/** A pushback in milliseconds: `undefined` without one, `Infinity` for do-not-retry and for what cannot be read. */
export const pushbackMillis = (outcome: HedgeOutcome): number | undefined => {
  if (outcome._tag === "Win" || outcome.pushback === undefined) return undefined
  const pushback = outcome.pushback
  if (pushback === "DoNotRetry") return Infinity
  const duration = decode(pushback)
  return duration === undefined ? Infinity : Duration.toMillis(duration)
}

const holdsOnlyFailures = (cause: Cause.Cause<unknown>): boolean =>
  Cause.isFailure(cause) && !Cause.isDie(cause) && !Cause.isInterrupted(cause)

/**
 * The exit of a call whose attempts were all NonFatal: the primary's (R5). The siblings' causes stand beside it only if all hold nothing but
 * typed failures: a defect beside one would turn `catchAll` off, a failure beside a defect would let `catchTag` recover it.
 */
export const withSiblings = (
  attempts: ReadonlyArray<{ readonly exit: Exit.Exit<unknown, unknown> | undefined }>
): Exit.Exit<unknown, unknown> => {
  const primary = attempts[0]!.exit!
  if (primary._tag === "Success") return primary
  const causes = attempts.flatMap(({ exit }) => (exit?._tag === "Failure" ? [exit.cause] : []))
  return causes.length > 1 && causes.every(holdsOnlyFailures)
    ? Exit.failCause(causes.reduce((left, right) => Cause.parallel(left, right)))
    : primary
}
