import type { Tracer } from "effect"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Exit from "effect/Exit"
import type {
  AttemptEnded,
  AttemptStarted,
  CallOutcome,
  DiscardReason,
  HedgeEvent,
  LaunchReason,
  Listener,
  SuppressionReason
} from "../HedgeEvent.js"
import type { Attempt } from "./attempt.js"
import type { Call } from "./call.js"
import { wants } from "./listeners.js"

/**
 * Tells the listeners of a call what happens. A call without listeners has no reporter; an event that none of them wants is not made. (Each event
 * is one literal: to spread what all have in common would cost more than all the rest of a call.)
 */
export class Reporter {
  private readonly callId: string
  private readonly policy: string

  constructor(
    private readonly call: Call,
    private readonly listeners: ReadonlyArray<Listener>
  ) {
    this.callId = call.identity.callId
    this.policy = call.policy.name
  }

  callStarted(): void {
    if (!this.isWanted("CallStarted")) return
    const { callId, policy } = this
    this.tell({
      _tag: "CallStarted",
      callId,
      policy,
      elapsed: Duration.zero,
      caller: this.call.host.fiber
    })
  }

  /** The span that a listener has opened for the attempt, if one did. */
  attemptStarted({ index }: Attempt, reason: LaunchReason): Tracer.AnySpan | undefined {
    if (!this.isWanted("AttemptStarted")) return undefined
    const { callId, policy } = this
    const event: AttemptStarted = {
      _tag: "AttemptStarted",
      callId,
      policy,
      elapsed: this.elapsed(),
      attempt: index,
      reason
    }
    this.tell(event)
    for (const listener of this.listeners) {
      try {
        const span = listener.spanOf?.(event)
        if (span !== undefined) return span
      } catch (defect) {
        this.onDefect(defect)
      }
    }
    return undefined
  }

  attemptEnded(
    { index, interrupted, interruptedAt, startedAt }: Attempt,
    outcome: AttemptEnded["outcome"],
    exit: Exit.Exit<unknown, unknown>
  ): void {
    if (!this.isWanted("AttemptEnded")) return
    const { callId, policy } = this
    const now = this.call.host.now()
    const until = interrupted === undefined ? now : interruptedAt
    this.tell({
      _tag: "AttemptEnded",
      callId,
      policy,
      elapsed: this.elapsed(),
      attempt: index,
      outcome,
      exit,
      ran: Duration.millis(until - startedAt),
      unwind: Duration.millis(now - until),
      interrupted
    })
  }

  suppressed(attempt: number, reason: SuppressionReason, throttle: string | undefined): void {
    if (!this.isWanted("HedgeSuppressed")) return
    const { callId, policy } = this
    this.tell({ _tag: "HedgeSuppressed", callId, policy, elapsed: this.elapsed(), attempt, reason, throttle })
  }

  discarded({ index }: Attempt, reason: DiscardReason): void {
    if (!this.isWanted("Discarded")) return
    const { callId, policy } = this
    this.tell({ _tag: "Discarded", callId, policy, elapsed: this.elapsed(), attempt: index, reason })
  }

  callEnded(
    outcome: CallOutcome,
    winner: number | undefined,
    result: Exit.Exit<unknown, unknown> | undefined
  ): void {
    if (!this.isWanted("CallEnded")) return
    const { callId, policy } = this
    const { attempts, host } = this.call
    this.tell({
      _tag: "CallEnded",
      callId,
      policy,
      elapsed: this.elapsed(),
      outcome,
      winner,
      exit: result ?? Exit.interrupt(host.fiber.id()),
      attempts: attempts.length,
      rejected: rejectedOf(attempts),
      tokens: this.tokens()
    })
  }

  private tokens(): number | undefined {
    const { host, throttle } = this.call
    try {
      const now = host.now()
      const tokens = throttle.tokens?.(now)
      // what is left of a bucket is of no use while it, or another throttle beside it, refuses
      return tokens === undefined || throttle.refusedBy(now) === undefined ? tokens : 0
    } catch (defect) {
      this.onDefect(defect)
      return undefined
    }
  }

  private elapsed(): Duration.Duration {
    return Duration.millis(this.call.host.now() - this.call.startedAt)
  }

  private isWanted(tag: HedgeEvent["_tag"]): boolean {
    for (const listener of this.listeners) {
      if (wants(listener, tag)) return true
    }
    return false
  }

  private tell(event: HedgeEvent): void {
    for (const listener of this.listeners) {
      if (!wants(listener, event._tag)) continue
      try {
        listener.onEvent(event)
      } catch (defect) {
        this.onDefect(defect)
      }
    }
  }

  private onDefect(defect: unknown): void {
    this.call.logFailure(Cause.die(defect))
  }
}

const nothingRejected: ReadonlyMap<number, Exit.Exit<unknown, unknown>> = new Map()

const rejectedOf = (attempts: ReadonlyArray<Attempt>): ReadonlyMap<number, Exit.Exit<unknown, unknown>> => {
  if (!attempts.some(({ outcome }) => outcome === "NonFatal")) return nothingRejected
  const rejected = new Map<number, Exit.Exit<unknown, unknown>>()
  for (const { index, outcome, exit } of attempts) {
    if (outcome === "NonFatal" && exit !== undefined) rejected.set(index, exit)
  }
  return rejected
}
