import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Fiberless } from "../HedgeAttempt.js"
import type { CallOutcome, DiscardReason, InterruptReason, LaunchReason } from "../HedgeEvent.js"
import type { HedgeOutcome } from "../HedgeOutcome.js"
import type { HedgeState } from "../HedgeSchedule.js"
import type { HedgeThrottle } from "../HedgeThrottle.js"
import type { AdaptiveCall, Learning } from "./adaptive.js"
import { Attempt, CallIdentity } from "./attempt.js"
import { HedgeError } from "./errors.js"
import { FiberlessRun } from "./fiberless.js"
import { refusalOf } from "./gates.js"
import { Learners } from "./learners.js"
import { afterPendingInput } from "./loop.js"
import { addLoser, removeLoser } from "./losers.js"
import { checkOutcome, fromExit, pushbackMillis, withSiblings } from "./outcome.js"
import type { EnginePolicy } from "./policy.js"
import { Reporter } from "./reporter.js"
import { Alarm, flatExit, type Host } from "./runtime.js"
import type { Asker } from "./schedule.js"
import { listOf } from "./shortcut.js"
import { Stagger, type Step } from "./stagger.js"
import { attemptContext, enclosingAttempt, listenersOf, restrictionOf, throttleOf } from "./surroundings.js"
import { type AnyExit, asValue, disposalOf, type Task, type Work } from "./task.js"

const interruptReasons: Record<CallOutcome, InterruptReason> = {
  Win: "Lost",
  NonFatal: "Lost",
  Fatal: "Lost",
  DeadlineExceeded: "DeadlineExceeded",
  Interrupted: "CallerInterrupted",
  Defect: "Defect"
}

/** What the loop is told (R14). */
type Event =
  | { readonly _tag: "Started" }
  | AttemptEnded
  | { readonly _tag: "AlarmRang" }
  | { readonly _tag: "InputRead" }
  | { readonly _tag: "Stepped"; readonly exit: Exit.Exit<Step>; readonly wall: number }
  | { readonly _tag: "Yielded" }
  | { readonly _tag: "DiscardEnded"; readonly exit: Exit.Exit<void> }

class AttemptEnded {
  readonly _tag = "AttemptEnded"
  constructor(
    readonly attempt: Attempt,
    readonly exit: AnyExit
  ) {}
}

const started: Event = { _tag: "Started" }
const alarmRang: Event = { _tag: "AlarmRang" }
const inputRead: Event = { _tag: "InputRead" }
const yielded: Event = { _tag: "Yielded" }

const none: ReadonlyArray<Attempt> = []

const launchesPerTurn = 16

const tellInputRead = (call: Call): void => call.tell(inputRead)

/**
 * One call, from its primary's launch until its last attempt has unwound.
 *
 * It is open until an outcome settles it; then only ends of attempts and discards are handled, until none is left. Everything that
 * happens becomes an event; one loop runs the events one after another, and after each launches what is then due.
 */
export class Call implements Asker {
  readonly identity: CallIdentity
  readonly throttle: HedgeThrottle
  readonly startedAt: number
  readonly deadlineAt: number
  /** In the order of their launch: the primary first. */
  attempts: ReadonlyArray<Attempt> = none
  /** A do-not-retry, or a pushback that is too long, has ended hedging. */
  doNotRetry = false
  /** What the call asks and tells its schedule, if that learns. */
  learners: Learners | undefined = undefined

  result: AnyExit | undefined = undefined
  /** The attempt whose exit, fiber refs and scope the caller gets. */
  winner: Attempt | undefined = undefined
  private settled: CallOutcome | undefined = undefined

  /** Attempts without an outcome, attempts whose fiber has not ended, discards that run. */
  private open = 0
  private running = 0
  private discarding = 0

  private readonly stagger = new Stagger(this)
  private readonly alarm: Alarm
  private readonly report: Reporter | undefined
  /** Launches that NonFatal outcomes ask for. */
  private owed = 0
  private pushbackUntil = Number.NEGATIVE_INFINITY
  private yielding = false

  /** What is told meanwhile. */
  private queue: Array<Event> | undefined = undefined
  private busy = false
  private launches = 0
  private onSettled: (effect: Effect.Effect<void>) => void = () => {}
  onUnwound: (() => void) | undefined = undefined

  constructor(
    readonly host: Host,
    readonly policy: EnginePolicy,
    readonly task: Task
  ) {
    this.throttle = throttleOf(host.context, policy)
    this.startedAt = host.now()
    this.deadlineAt = this.startedAt + policy.deadlineMillis
    this.identity = new CallIdentity(host.clock, this.deadlineAt)
    this.identity.stagger = this.stagger
    this.alarm = new Alarm(host, this)
    const listeners = listenersOf(host.context)
    this.report = listeners.length === 0 ? undefined : new Reporter(this, listeners)
  }

  stateOf(now: number): HedgeState {
    return {
      attempt: this.attempts.length,
      elapsed: Duration.millis(now - this.startedAt),
      inFlight: this.open
    }
  }

  learn(asked: Learning, now?: number): AdaptiveCall {
    // a schedule that is not combined with others learns where its policy says: a layer has an estimator of its own
    const learning = this.policy.learning ?? asked
    const known = this.learners?.of(learning)
    if (known !== undefined) return known
    const begun = learning.begin(this, now ?? this.host.now())
    this.learners = new Learners(learning, begun, this.learners)
    // a schedule that is combined with others begins to learn when it is first asked
    const primary = this.attempts[0]!
    if (primary.outcome !== undefined) begun.onPrimaryEnded(primary.judgedAt, false)
    return begun
  }

  // --- the loop ------------------------------------------------------------------------------------------------------

  start(onSettled: (effect: Effect.Effect<void>) => void): void {
    this.onSettled = onSettled
    this.tell(started)
  }

  onAlarm(): void {
    this.tell(alarmRang)
  }

  tell(event: Event): void {
    if (this.busy) {
      if (this.queue === undefined) this.queue = listOf(event)
      else this.queue.push(event)
      return
    }
    this.busy = true
    this.launches = 0
    let next: Event | undefined = event
    while (this.turn(next)) next = this.queue?.shift()
    this.busy = false
    if (this.settled === undefined) this.alarm.set(this.nextAlarm())
    else if (this.isUnwound) this.unwound()
  }

  /** Runs an event or, without one, launches what is due; `false` when nothing is. User code may throw in it (R12). */
  private turn(event: Event | undefined): boolean {
    try {
      if (event === undefined) return this.settled === undefined && this.advance()
      this.handle(event)
    } catch (defect) {
      this.fail(Cause.die(defect))
    }
    return true
  }

  private handle(event: Event): void {
    if (event._tag === "AttemptEnded") return this.onAttemptEnded(event.attempt, event.exit)
    if (event._tag === "DiscardEnded") return this.onDiscardEnded(event.exit)
    if (this.settled !== undefined) return
    switch (event._tag) {
      case "Started":
        return this.onStarted()
      case "AlarmRang":
        return this.onAlarmRang()
      case "InputRead":
        this.poll()
        return this.stagger.inputRead()
      case "Stepped":
        return this.stagger.stepped(event.exit, event.wall)
      case "Yielded":
        this.yielding = false
        this.launches = 0
    }
  }

  private onStarted(): void {
    this.report?.callStarted()
    const restriction = restrictionOf(this.host.context, this.policy)
    this.launch("Primary", this.startedAt)
    this.throttle.onCall?.(this.startedAt)
    if (restriction === undefined) {
      const { learning } = this.policy
      if (learning !== undefined) this.learn(learning, this.startedAt)
      return
    }
    this.stagger.end()
    this.report?.suppressed(1, restriction, undefined)
  }

  private onAlarmRang(): void {
    this.poll()
    const now = this.host.now()
    if (this.settled !== undefined) return
    if (now >= this.deadlineAt) return this.onDeadline(now)
    for (const attempt of this.attempts) {
      if (attempt.outcome === undefined && this.timeoutOf(attempt) <= now) this.onAttemptTimeout(attempt, now)
    }
    if (this.stagger.passed(now)) afterPendingInput(tellInputRead, this)
  }

  private timeoutOf(attempt: Attempt): number {
    return attempt.startedAt + this.policy.attemptTimeoutMillis
  }

  /** When the next thing is due that nobody will tell of. */
  private nextAlarm(): number {
    let due = Math.min(this.deadlineAt, this.stagger.endsAt())
    const { pushbackUntil } = this
    if (pushbackUntil !== Number.NEGATIVE_INFINITY && pushbackUntil > this.host.now()) {
      due = Math.min(due, pushbackUntil)
    }
    if (this.policy.attemptTimeoutMillis === Infinity) return due
    for (const attempt of this.attempts) {
      if (attempt.outcome === undefined) due = Math.min(due, this.timeoutOf(attempt))
    }
    return due
  }

  /** Before a timer is acted on, attempts that have ended are handled. */
  private poll(): void {
    for (const attempt of this.attempts) {
      const exit = attempt.ended ? undefined : attempt.poll()
      if (exit !== undefined) this.onAttemptEnded(attempt, exit)
    }
  }

  // --- launching -----------------------------------------------------------------------------------------------------

  /** Launches the attempt that is due, if one is and the gates agree; `true` if something was done (R2 to R4). */
  private advance(): boolean {
    const now = this.host.now()
    const { stagger } = this
    if (stagger.state === "Unasked") {
      if (this.attempts.length < this.policy.maxAttempts) stagger.ask(now)
      else stagger.end()
      return true
    }
    if (this.owed === 0 && stagger.state !== "Due") return false
    if (stagger.state === "Done") {
      this.owed = 0
      if (this.open === 0) this.settleWithPrimary()
      return false
    }
    const waits = stagger.state === "Stepping" || this.pushbackUntil > now
    if (this.yielding || (waits && !this.doNotRetry)) return false
    if (this.launches >= launchesPerTurn) {
      this.yielding = true
      this.host.yieldTo(() => this.tell(yielded))
      // a scheduler may have run that at once
      return true
    }
    const refusal = refusalOf(this, this.owed === 0, now)
    if (refusal === undefined) this.sendHedge(now)
    else this.suppress(refusal.reason, refusal.throttle)
    return true
  }

  private sendHedge(now: number): void {
    const reason = this.owed > 0 ? "Failure" : "Stagger"
    this.learners?.onHedge(reason === "Stagger")
    if (this.owed > 0) this.owed -= 1
    this.throttle.take(now)
    this.launch(reason, now)
  }

  private suppress(reason: string, throttle: string | undefined): void {
    this.report?.suppressed(this.attempts.length, reason, throttle)
    if (this.owed > 0) this.owed -= 1
    if (this.open === 0) return this.settleWithPrimary()
    if (this.doNotRetry) this.stagger.end()
    else if (this.stagger.state === "Due") this.stagger.restart(true)
  }

  private launch(reason: LaunchReason, now: number): void {
    const { host, task } = this
    const index = this.attempts.length
    const attempt = new Attempt(this.identity, index, now, enclosingAttempt(host.context))
    // an array of one takes a tenth of the space of an empty one that is pushed to
    if (index === 0) this.attempts = listOf(attempt)
    else (this.attempts as Array<Attempt>).push(attempt)
    this.launches += 1
    this.open += 1
    this.running += 1
    this.stagger.restart(false)
    attempt.span = this.report?.attemptStarted(attempt, reason)
    const work = task.attempt(attempt)
    if (!this.runWithoutFiber(attempt, work)) this.runOnFiber(attempt, work)
    // its own first steps may have ended the call
    if (attempt.interrupted !== undefined) attempt.interruptAs(host)
  }

  /** `false` if it needs a fiber, or wants one this time. */
  private runWithoutFiber(attempt: Attempt, work: Work): boolean {
    if (!(work instanceof Fiberless) || this.task.context !== undefined) return false
    const onEnd = (exit: AnyExit) => this.tell(new AttemptEnded(attempt, exit))
    attempt.run = FiberlessRun.launch(work, attempt, this.host, onEnd)
    return attempt.run !== undefined
  }

  private runOnFiber(attempt: Attempt, work: Work): void {
    const { host, task } = this
    const surroundings = attemptContext(host.context, attempt)
    const context = task.context?.(attempt, surroundings) ?? surroundings
    const effect = work instanceof Fiberless ? asValue(work) : work
    attempt.fiber = host.startAttempt(effect, context, attempt.index)
    attempt.fiber.addObserver((exit) => this.tell(new AttemptEnded(attempt, flatExit(exit))))
  }

  // --- outcomes ------------------------------------------------------------------------------------------------------

  private onAttemptEnded(attempt: Attempt, exit: AnyExit): void {
    if (attempt.ended) return
    attempt.ended = true
    this.running -= 1
    const outcome = this.outcomeOf(attempt, exit)
    // too late: the call has ended, or this attempt timed out before
    if (outcome === undefined) {
      this.report?.attemptEnded(attempt, attempt.outcome ?? "Cancelled", exit)
      return this.discard(attempt, exit, "Late")
    }
    this.judge(attempt, outcome._tag, exit)
    this.report?.attemptEnded(attempt, outcome._tag, exit)
    if (outcome._tag === "NonFatal") this.onNonFatal(attempt)
    else {
      this.winner = attempt
      this.settle(outcome._tag, exit)
    }
    // a success is the result, or, the primary's, may yet become it (R5)
    const kept = exit._tag === "Success" && (attempt === this.winner || attempt.index === 0)
    if (!kept) this.discard(attempt, exit, "Rejected")
  }

  /** What an attempt's exit means, if it still means anything. A throw of those who are asked fails the call (R12). */
  private outcomeOf(attempt: Attempt, exit: AnyExit): HedgeOutcome | undefined {
    try {
      if (attempt.index > 0) this.throttle.onHedgeEnd?.()
      if (this.settled !== undefined || attempt.outcome !== undefined) return undefined
      const { classify } = this.policy
      const outcome = classify === undefined ? fromExit(exit) : checkOutcome(classify(exit as never, attempt))
      const pushback = pushbackMillis(outcome)
      this.throttle.onOutcome?.(outcome._tag, pushback === Infinity)
      if (pushback !== undefined) this.onPushback(pushback)
      return outcome
    } catch (defect) {
      this.fail(Cause.die(defect))
      return undefined
    }
  }

  private onAttemptTimeout(attempt: Attempt, now: number): void {
    this.interrupt(attempt, "AttemptTimeout", now)
    this.throttle.onOutcome?.("NonFatal", false)
    this.judge(attempt, "NonFatal", undefined)
    attempt.exit = Exit.fail(new HedgeError({ reason: "AttemptTimeout", attempts: [attempt.report(now)] }))
    this.onNonFatal(attempt)
  }

  private judge(attempt: Attempt, outcome: HedgeOutcome["_tag"], exit: AnyExit | undefined): void {
    attempt.outcome = outcome
    attempt.exit = exit
    attempt.judgedAt = this.host.now()
    this.open -= 1
    if (attempt.index === 0) this.learners?.onPrimaryEnded(attempt.judgedAt, outcome === "Win")
  }

  /** Until it ends nothing is launched; one that is too long ends hedging (R4). */
  private onPushback(millis: number): void {
    const now = this.host.now()
    this.learners?.onPushback(now, millis)
    if (millis > this.policy.maxPushbackMillis || now + millis >= this.deadlineAt) this.doNotRetry = true
    else this.pushbackUntil = Math.max(this.pushbackUntil, now + millis)
  }

  /** Another attempt is owed, at once or after the pushback (R4). */
  private onNonFatal(attempt: Attempt): void {
    this.stagger.ended(attempt)
    this.owed = this.pushbackUntil > this.host.now() ? 1 : this.owed + 1
  }

  // --- settlement ----------------------------------------------------------------------------------------------------

  fail(cause: Cause.Cause<unknown>): void {
    if (this.settled === undefined) this.settle("Defect", Exit.failCause(cause))
    else this.logFailure(cause)
  }

  /** A listener failed, or an onDiscard or a throttle after the call had ended: that changes nothing any more. */
  logFailure(cause: Cause.Cause<unknown>): void {
    this.host.start(Effect.logError("effect-hedge: a listener, onDiscard or throttle failed", cause))
  }

  private onDeadline(now: number): void {
    const attempts = this.attempts.map((attempt) => attempt.report(now))
    this.settle("DeadlineExceeded", Exit.fail(new HedgeError({ reason: "DeadlineExceeded", attempts })))
  }

  /** Every attempt was NonFatal: the primary's exit is the result (R5). */
  private settleWithPrimary(): void {
    const primary = this.attempts[0]!
    this.winner = primary
    this.settle("NonFatal", withSiblings(this.attempts))
  }

  private settle(outcome: CallOutcome, result: AnyExit | undefined): void {
    if (this.settled !== undefined) return
    this.settled = outcome
    this.identity.stagger = undefined
    this.result = result
    this.stagger.end()
    this.alarm.clear()
    const now = this.host.now()
    this.learners?.onSettled(now, outcome, this.winner?.index)
    // the caller goes on before losers do: to end a request may take longer than to read an answer
    this.onSettled(Effect.void)
    for (const attempt of this.attempts) {
      if (!attempt.ended) this.interrupt(attempt, interruptReasons[outcome], now)
    }
    this.report?.callEnded(outcome, this.winner?.index, result)
    const primary = this.attempts[0]!
    if (primary !== this.winner && primary.exit?._tag === "Success")
      this.discard(primary, primary.exit, "Rejected")
    addLoser(this.policy.losers, this)
  }

  private interrupt(attempt: Attempt, reason: InterruptReason, now: number): void {
    if (attempt.interrupted !== undefined) return
    attempt.interrupted = reason
    attempt.interruptedAt = now
    attempt.interruptAs(this.host)
  }

  /** The caller was interrupted before it took a result: everything ends, and what it would have taken is discarded. */
  abandon(): void {
    if (this.attempts.length === 0) return
    if (this.settled === undefined) this.settle("Interrupted", undefined)
    else if (this.result?._tag === "Success") {
      this.discard(this.winner!, this.result, "CallerInterrupted")
      addLoser(this.policy.losers, this)
    }
  }

  /** Whether every attempt and every discard has ended that was begun. */
  get isUnwound(): boolean {
    return this.running === 0 && this.discarding === 0
  }

  private unwound(): void {
    removeLoser(this.policy.losers, this)
    this.onUnwound?.()
  }

  // --- what cannot be the result (R8) --------------------------------------------------------------------------------

  private discard(attempt: Attempt, exit: AnyExit, reason: DiscardReason): void {
    if (exit._tag === "Success") this.report?.discarded(attempt, reason)
    const disposal = disposalOf(this.policy, this.task, attempt, exit)
    if (disposal === undefined) return
    this.discarding += 1
    this.host.start(disposal).addObserver((ended) => this.tell({ _tag: "DiscardEnded", exit: ended }))
  }

  private onDiscardEnded(exit: Exit.Exit<void>): void {
    this.discarding -= 1
    if (exit._tag === "Failure") this.fail(exit.cause)
  }
}
