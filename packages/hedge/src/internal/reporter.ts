import { Cause, Duration, Exit, type Tracer } from "effect"
import type {
  AttemptEnded,
  CallOutcome,
  DiscardReason,
  HedgeEvent,
  LaunchReason,
  Listener,
  SuppressionReason
} from "../HedgeEvent.js"
import type { Attempt } from "./attempt.js"
import type { Call } from "./call.js"

type WithoutBase<E> = E extends HedgeEvent ? Omit<E, "callId" | "policy" | "elapsed"> : never

/** Tells the listeners of a call what happens. A call without listeners has no reporter, and makes no event. */
export class Reporter {
  constructor(
    private readonly call: Call,
    private readonly listeners: ReadonlyArray<Listener>
  ) {}

  callStarted(): void {
    this.tell({ _tag: "CallStarted", caller: this.call.host.fiber })
  }

  /** The span that a listener has opened for the attempt, if one did. */
  attemptStarted(attempt: Attempt, reason: LaunchReason): Tracer.AnySpan | undefined {
    const event = this.tell({ _tag: "AttemptStarted", attempt: attempt.index, reason })
    let span: Tracer.AnySpan | undefined
    for (const listener of this.listeners) {
      this.guard(() => {
        span ??= listener.spanOf?.(event as never)
      })
    }
    return span
  }

  attemptEnded(attempt: Attempt, outcome: AttemptEnded["outcome"], exit: Exit.Exit<unknown, unknown>): void {
    const now = this.call.host.now()
    const until = attempt.interrupted === undefined ? now : attempt.interruptedAt
    this.tell({
      _tag: "AttemptEnded",
      attempt: attempt.index,
      outcome,
      exit,
      ran: Duration.millis(until - attempt.startedAt),
      unwind: Duration.millis(now - until),
      interrupted: attempt.interrupted
    })
  }

  suppressed(attempt: number, reason: SuppressionReason, throttle: string | undefined): void {
    this.tell({ _tag: "HedgeSuppressed", attempt, reason, throttle })
  }

  discarded(attempt: Attempt, reason: DiscardReason): void {
    this.tell({ _tag: "Discarded", attempt: attempt.index, reason })
  }

  callEnded(
    outcome: CallOutcome,
    winner: number | undefined,
    result: Exit.Exit<unknown, unknown> | undefined
  ): void {
    const { attempts, host, throttle } = this.call
    const exit = result ?? Exit.interrupt(host.fiber.id())
    const rejected = new Map<number, Exit.Exit<unknown, unknown>>()
    for (const { index, outcome, exit } of attempts) {
      if (outcome === "NonFatal" && exit !== undefined) rejected.set(index, exit)
    }
    let tokens: number | undefined
    this.guard(() => {
      tokens = throttle.tokens?.(host.now())
    })
    this.tell({ _tag: "CallEnded", outcome, winner, exit, attempts: attempts.length, rejected, tokens })
  }

  private tell(event: WithoutBase<HedgeEvent>): HedgeEvent {
    const { call } = this
    const elapsed = Duration.millis(call.host.now() - call.startedAt)
    const full = { ...event, callId: call.identity.callId, policy: call.policy.name, elapsed } as HedgeEvent
    for (const listener of this.listeners) this.guard(() => listener.onEvent(full))
    return full
  }

  private guard(f: () => void): void {
    try {
      f()
    } catch (defect) {
      this.call.logFailure(Cause.die(defect))
    }
  }
}
