import type { Effect, Exit, Fiber } from "effect"
import * as ScheduleDecision from "effect/ScheduleDecision"
import * as ScheduleIntervals from "effect/ScheduleIntervals"
import type { Attempt } from "./attempt.js"
import type { Call } from "./call.js"
import { longestTimer, loopMeter } from "./loop.js"
import { asking, staggerOf } from "./schedule.js"
import type { Waiter } from "./waiters.js"

/**
 * Where a stagger stands.
 *
 * - `Unasked`: an attempt was launched or a hedge refused, and the schedule has not been asked for the next delay.
 * - `Stepping`: the schedule is working out the delay, on a fiber of its own.
 * - `Queued`: the attempt before is in a queue that a hedge could not pass; the delay begins when it is sent.
 * - `Timing`: the delay is running.
 * - `Reading`: the delay has passed; input that is already waiting is read first (R11).
 * - `Due`: a staggered hedge may be sent.
 * - `Waiting`: only a failure launches the next attempt.
 * - `Done`: no hedge will be sent any more.
 */
type State = "Unasked" | "Stepping" | "Queued" | "Timing" | "Reading" | "Due" | "Waiting" | "Done"

export type Step = readonly [state: unknown, out: unknown, decision: ScheduleDecision.ScheduleDecision]

/** The time between the launch of one attempt and of the next (R2, R3, R11). */
export class Stagger implements Waiter {
  state: State = "Unasked"
  /** When the delay ends under the live clock, by the time of the loop meter. */
  due = Number.NaN
  place = -1
  private afterRefusal = false
  /** Whether the attempt before is in a queue. */
  private queueing = false
  private scheduleState: unknown = undefined
  private steps = 0
  private stepper: Fiber.RuntimeFiber<Step> | undefined = undefined
  private from = Number.NaN
  private delay = Number.NaN

  constructor(private readonly call: Call) {}

  /** The schedule is to be asked anew: an attempt was launched, or a staggered hedge refused. */
  restart(afterRefusal: boolean): void {
    this.leave("Unasked")
    this.afterRefusal = afterRefusal
    if (!afterRefusal) this.queueing = false
  }

  end(): void {
    this.leave("Done")
  }

  /** Asks the schedule, once, for the delay that follows (R2). */
  ask(now: number): void {
    const { call } = this
    this.from = now
    const stagger = staggerOf(call.policy.schedule)
    if (stagger !== undefined) return this.begin(stagger(call))
    const schedule = call.policy.schedule
    const wall = call.host.clock.unsafeCurrentTimeMillis()
    if (this.steps++ === 0) this.scheduleState = schedule.initial
    this.state = "Stepping"
    const state = asking(call.stateOf(now), call)
    const step = schedule.step(wall, state, this.scheduleState) as Effect.Effect<Step>
    const stepper = call.host.start(step)
    this.stepper = stepper
    stepper.addObserver((exit) => call.tell({ _tag: "Stepped", exit, wall }))
  }

  /** The schedule has answered a question that was asked at `wall`. */
  stepped(exit: Exit.Exit<Step>, wall: number): void {
    if (this.state !== "Stepping") return
    this.stepper = undefined
    if (exit._tag === "Failure") return this.call.fail(exit.cause)
    const [state, , decision] = exit.value
    this.scheduleState = state
    if (ScheduleDecision.isDone(decision)) this.state = "Done"
    else this.begin(ScheduleIntervals.start(decision.intervals) - wall)
  }

  /** The attempt before waits where a hedge would have to wait behind it. */
  queued(attempt: Attempt): void {
    if (!this.follows(attempt)) return
    this.queueing = true
    if (this.isRunning) this.leave("Queued")
  }

  /** The attempt before has been sent only now, and could not have been answered: the delay begins anew (R11). */
  sent(attempt: Attempt): void {
    if (!this.follows(attempt)) return
    this.queueing = false
    if (this.isRunning) this.leave("Queued")
    if (this.state !== "Queued") return
    const { host } = this.call
    this.time(host.now())
    // the alarm is set anew after each event
    if (!host.live) this.call.onAlarm()
  }

  /** The attempt before has ended: in a queue, it will not be sent any more. */
  ended(attempt: Attempt): void {
    if (this.queueing) this.sent(attempt)
  }

  private follows(attempt: Attempt): boolean {
    const { attempts } = this.call
    return attempt === attempts[attempts.length - 1]
  }

  private get isRunning(): boolean {
    return this.state === "Timing" || this.state === "Reading"
  }

  /** When the delay ends by the clock; `Infinity` when none is running, or the loop meter rings. */
  endsAt(): number {
    return this.state === "Timing" && !this.call.host.live ? this.from + this.delay : Infinity
  }

  ring(): void {
    if (this.state !== "Timing") return
    this.state = "Reading"
    this.call.onAlarm()
  }

  /** An alarm has rung: `true` if the delay has passed and waiting input is to be read. */
  passed(now: number): boolean {
    if (this.state === "Timing" && now >= this.endsAt()) this.state = "Due"
    return this.state === "Reading"
  }

  /** Waiting input has been read. */
  inputRead(): void {
    if (this.state === "Reading") this.leave("Due")
  }

  private begin(delay: number): void {
    // after a refusal a zero delay would spin: it waits for the next outcome (R3)
    if (!(delay > 0)) this.state = this.afterRefusal ? "Waiting" : "Due"
    else if (delay > longestTimer) this.state = "Waiting"
    else {
      this.delay = delay
      if (this.queueing) this.state = "Queued"
      else this.time(this.from)
    }
  }

  /** Times the delay since `from`. */
  private time(from: number): void {
    const { host } = this.call
    const now = host.now()
    this.from = from
    this.state = "Timing"
    if (host.live) {
      loopMeter.watch(now)
      this.due = from + this.delay - loopMeter.stuckMillis(now)
      loopMeter.wait(this, now)
    } else if (now >= this.endsAt()) {
      // the schedule took longer to answer than its own delay
      this.state = "Due"
    }
  }

  private leave(state: State): void {
    if (this.isRunning && this.call.host.live) {
      loopMeter.leave(this)
      loopMeter.unwatch()
    }
    if (this.stepper !== undefined) {
      this.call.host.interrupt(this.stepper)
      this.stepper = undefined
    }
    this.state = state
  }
}
