import type { Clock, Fiber, Tracer } from "effect"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { AttemptReport } from "../Hedge.js"
import type { HedgeAttempt } from "../HedgeAttempt.js"
import type { InterruptReason } from "../HedgeEvent.js"
import type { HedgeOutcome } from "../HedgeOutcome.js"
import type { HedgeTargets } from "../HedgePolicy.js"
import type { FiberlessRun } from "./fiberless.js"
import { flatExit, type Host, nowMillis } from "./runtime.js"
import type { AnyExit } from "./task.js"

/** The attempt around an effect, found in its context. */
export class EnclosingAttempt extends /*#__PURE__*/ Context.Reference<EnclosingAttempt>()(
  "effect-hedge/HedgeAttempt",
  {
    defaultValue: (): Attempt | undefined => undefined
  }
) {}

export const current: Effect.Effect<Option.Option<HedgeAttempt>> = /*#__PURE__*/ Effect.map(
  EnclosingAttempt,
  (attempt) => Option.fromNullable(attempt)
)

export const fromContext = (context: Context.Context<never>): HedgeAttempt | undefined =>
  Context.get(context, EnclosingAttempt)

type Told = (attempt: Attempt) => void

let calls = 0
let processId: string | undefined

/** What an attempt knows of its call; it must not keep the call itself alive. */
export class CallIdentity {
  private id: string | undefined = undefined
  /** Where the call's next attempts may go, if an attempt has said so. */
  targets: HedgeTargets | undefined = undefined
  /** What an attempt tells that is not sent at once, as long as a hedge may follow. */
  stagger: { readonly queued: Told; readonly sent: Told } | undefined = undefined

  constructor(
    readonly clock: Clock.Clock,
    readonly deadlineAt: number
  ) {}

  /** Made when somebody asks for it. */
  get callId(): string {
    if (this.id === undefined) {
      processId ??= Math.floor(Math.random() * 2 ** 48).toString(36)
      calls += 1
      this.id = `${processId}-${calls.toString(36)}`
    }
    return this.id
  }
}

/**
 * One execution of a call, from its launch until its fiber has ended.
 *
 * Here and in what else a call is made of, a time that is not known yet is `NaN` or infinite, never 0: V8 would take the field for a small integer,
 * give up the shape with the first time that is written, and mend every object that is in flight, which cost a burst of 1,000 cold calls 17 µs each.
 */
export class Attempt implements HedgeAttempt {
  /** One of these runs it. */
  fiber: Fiber.RuntimeFiber<AnyExit> | undefined = undefined
  run: FiberlessRun | undefined = undefined
  /** What its exit meant to the call; `undefined` while it is open. */
  outcome: HedgeOutcome["_tag"] | undefined = undefined
  /** The exit that was judged. It stands for the attempt even if the fiber ends otherwise, after a timeout. */
  exit: AnyExit | undefined = undefined
  judgedAt = Number.NaN
  /** Whether the fiber has ended, and the call knows. */
  ended = false
  interruptedAt = Number.NaN
  interrupted: InterruptReason | undefined = undefined

  span: Tracer.AnySpan | undefined = undefined

  /** The hedge that it is, or runs somewhere inside of. */
  readonly hedge: Attempt | undefined

  constructor(
    private readonly identity: CallIdentity,
    readonly index: number,
    readonly startedAt: number,
    enclosing: Attempt | undefined
  ) {
    this.hedge = index > 0 ? this : enclosing?.hedge
  }

  /** How its execution ended, if it did. */
  poll(): AnyExit | undefined {
    if (this.run !== undefined) return this.run.exit
    const exit = this.fiber!.unsafePoll()
    return exit === null ? undefined : flatExit(exit)
  }

  interruptAs(host: Host): void {
    if (this.fiber !== undefined) host.interrupt(this.fiber)
    else this.run?.interruptAs(host)
  }

  get callId(): string {
    return this.identity.callId
  }

  get clock(): Clock.Clock {
    return this.identity.clock
  }

  get targets(): HedgeTargets | undefined {
    return this.identity.targets
  }

  set targets(targets: HedgeTargets | undefined) {
    this.identity.targets = targets
  }

  queued(): void {
    this.identity.stagger?.queued(this)
  }

  sent(): void {
    this.identity.stagger?.sent(this)
  }

  get timeLeft(): Effect.Effect<Option.Option<Duration.Duration>> {
    return Effect.sync(() => this.unsafeTimeLeft())
  }

  unsafeTimeLeft(): Option.Option<Duration.Duration> {
    const { clock, deadlineAt } = this.identity
    return deadlineAt === Infinity
      ? Option.none()
      : Option.some(Duration.millis(Math.max(0, deadlineAt - nowMillis(clock))))
  }

  report(now: number): AttemptReport {
    return {
      index: this.index,
      status:
        this.outcome === undefined
          ? "Running"
          : this.interrupted === "AttemptTimeout"
            ? "TimedOut"
            : "NonFatal",
      elapsed: Duration.millis((this.outcome === undefined ? now : this.judgedAt) - this.startedAt)
    }
  }
}
