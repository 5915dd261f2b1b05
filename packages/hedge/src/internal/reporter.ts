import { Cause, Duration, Exit, type Tracer } from "effect"
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

/**
 * Tells the listeners of a call what happens. A call without listeners has no reporter, and makes no event. (Each event is one literal: to
 * spread what all have in common would cost more than all the rest of a call.)
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
    let span: Tracer.AnySpan | undefined
    for (const listener of this.listeners) {
      if (listener.spanOf === undefined) continue
      this.guard(() => {
        span ??= listener.spanOf?.(event)
      })
    }
    return span
  }

  attemptEnded(
    { index, interrupted, interruptedAt, startedAt }: Attempt,
    outcome: AttemptEnded["outcome"],
    exit: Exit.Exit<unknown, unknown>
  ): void {
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
    const { callId, policy } = this
    this.tell({ _tag: "HedgeSuppressed", callId, policy, elapsed: this.elapsed(), attempt, reason, throttle })
  }

  discarded({ index }: Attempt, reason: DiscardReason): void {
    const { callId, policy } = this
    this.tell({ _tag: "Discarded", callId, policy, elapsed: this.elapsed(), attempt: index, reason })
  }

  callEnded(
    outcome: CallOutcome,
    winner: number | undefined,
    result: Exit.Exit<unknown, unknown> | undefined
  ): void {
    const { callId, policy } = this
    const { attempts, host, throttle } = this.call
    let tokens: number | undefined
    this.guard(() => {
      tokens = throttle.tokens?.(host.now())
      // what is left of a bucket is of no use while it, or another throttle beside it, refuses
      if (tokens !== undefined && throttle.refusedBy(host.now()) !== undefined) tokens = 0
    })
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
      tokens
    })
  }

  private elapsed(): Duration.Duration {
    return Duration.millis(this.call.host.now() - this.call.startedAt)
  }

  private tell(event: HedgeEvent): void {
    for (const listener of this.listeners) this.guard(() => listener.onEvent(event))
  }

  private guard(f: () => void): void {
    try {
      f()
    } catch (defect) {
      this.call.logFailure(Cause.die(defect))
    }
  }
}

const rejectedOf = (attempts: ReadonlyArray<Attempt>): ReadonlyMap<number, Exit.Exit<unknown, unknown>> => {
  const rejected = new Map<number, Exit.Exit<unknown, unknown>>()
  for (const { index, outcome, exit } of attempts) {
    if (outcome === "NonFatal" && exit !== undefined) rejected.set(index, exit)
  }
  return rejected
}
