import { Cause, Duration, Effect, Exit, type Tracer } from "effect"
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
import { startFiber } from "./runtime.js"
import { listenersOf } from "./surroundings.js"

let calls = 0
let processId: string | undefined

const nextCallId = (): string => {
  processId ??= Math.floor(Math.random() * 2 ** 48).toString(36)
  calls += 1
  return `${processId}-${calls.toString(36)}`
}

type WithoutBase<E> = E extends HedgeEvent ? Omit<E, "callId" | "policy" | "elapsed"> : never

/** Tells the listeners of a call what happens. Without listeners no event is made. */
export class Reporter {
  private readonly listeners: ReadonlyArray<Listener>
  private id: string | undefined = undefined

  constructor(private readonly call: Call) {
    this.listeners = listenersOf(call.caller.currentContext)
  }

  get callId(): string {
    this.id ??= nextCallId()
    return this.id
  }

  callStarted(): void {
    if (this.listeners.length > 0) this.tell({ _tag: "CallStarted", caller: this.call.caller })
  }

  /** The span that a listener has opened for the attempt, if one did. */
  attemptStarted(attempt: Attempt, reason: LaunchReason): Tracer.AnySpan | undefined {
    if (this.listeners.length === 0) return undefined
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
    if (this.listeners.length === 0) return
    const now = this.call.now()
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
    if (this.listeners.length > 0) this.tell({ _tag: "HedgeSuppressed", attempt, reason, throttle })
  }

  discarded(attempt: Attempt, reason: DiscardReason): void {
    if (this.listeners.length > 0) this.tell({ _tag: "Discarded", attempt: attempt.index, reason })
  }

  callEnded(
    outcome: CallOutcome,
    winner: number | undefined,
    result: Exit.Exit<unknown, unknown> | undefined
  ): void {
    if (this.listeners.length === 0) return
    const { attempts, caller, throttle } = this.call
    const exit = result ?? Exit.interrupt(caller.id())
    const rejected = new Map<number, Exit.Exit<unknown, unknown>>()
    for (const { index, outcome, exit } of attempts) {
      if (outcome === "NonFatal" && exit !== undefined) rejected.set(index, exit)
    }
    let tokens: number | undefined
    this.guard(() => {
      tokens = throttle.tokens?.(this.call.now())
    })
    this.tell({ _tag: "CallEnded", outcome, winner, exit, attempts: attempts.length, rejected, tokens })
  }

  /** Something failed that changes nothing for the call any more: it is logged. */
  failure(cause: Cause.Cause<unknown>): void {
    const { caller, flags } = this.call
    startFiber(
      caller,
      caller.currentContext,
      flags,
      Effect.logError("effect-hedge: a listener or onDiscard failed", cause)
    )
  }

  private tell(event: WithoutBase<HedgeEvent>): HedgeEvent {
    const { call } = this
    const elapsed = Duration.millis(call.now() - call.startedAt)
    const full = { ...event, callId: this.callId, policy: call.policy.name, elapsed } as HedgeEvent
    for (const listener of this.listeners) this.guard(() => listener.onEvent(full))
    return full
  }

  private guard(f: () => void): void {
    try {
      f()
    } catch (defect) {
      this.failure(Cause.die(defect))
    }
  }
}
