import { type Effect, type Exit, type Fiber, ScheduleDecision, ScheduleIntervals } from "effect"
import type { Call } from "./call.js"
import { longestTimer, loopMeter } from "./runtime.js"
import { asking, staggerOf } from "./schedule.js"

/**
 * Where a stagger stands.
 *
 * - `Unasked`: an attempt was launched or a hedge refused, and the schedule has not been asked for the next delay.
 * - `Stepping`: the schedule is working out the delay, on a fiber of its own.
 * - `Timing`: the delay is running.
 * - `Reading`: the delay has passed; input that is already waiting is read first (R11).
 * - `Due`: a staggered hedge may be sent.
 * - `Waiting`: only a failure launches the next attempt.
 * - `Done`: no hedge will be sent any more.
 */
type State = "Unasked" | "Stepping" | "Timing" | "Reading" | "Due" | "Waiting" | "Done"

export type Step = readonly [state: unknown, out: unknown, decision: ScheduleDecision.ScheduleDecision]

/** The time between the launch of one attempt and of the next (R2, R3, R11). */
export class Stagger {
  state: State = "Unasked"
  private afterRefusal = false
  private scheduleState: unknown = undefined
  private steps = 0
  private stepper: Fiber.RuntimeFiber<Step> | undefined = undefined
  private from = 0
  private delay = 0
  private stuckBefore = 0

  constructor(private readonly call: Call) {}

  /** The schedule is to be asked anew: an attempt was launched, or a staggered hedge refused. */
  restart(afterRefusal: boolean): void {
    this.leave("Unasked")
    this.afterRefusal = afterRefusal
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

  /** When the delay ends, as far as is known now; `Infinity` when none is running. */
  endsAt(now: number): number {
    return this.state === "Timing" ? this.from + this.delay + this.stuckSince(now) : Infinity
  }

  /** The alarm has rung: `true` if the delay has passed and waiting input is to be read. */
  passed(now: number): boolean {
    if (this.state !== "Timing" || this.remaining(now) > 0) return false
    this.state = this.call.host.live ? "Reading" : "Due"
    return this.state === "Reading"
  }

  /** Waiting input has been read. If that took long, an answer may have come in meanwhile: the delay goes on. */
  inputRead(now: number): void {
    if (this.state !== "Reading") return
    if (this.remaining(now) > 0) this.state = "Timing"
    else this.leave("Due")
  }

  private begin(delay: number): void {
    // after a refusal a zero delay would spin: it waits for the next outcome (R3)
    if (!(delay > 0)) this.state = this.afterRefusal ? "Waiting" : "Due"
    else if (delay > longestTimer) this.state = "Waiting"
    else {
      this.state = "Timing"
      this.delay = delay
      if (this.call.host.live) {
        loopMeter.watch()
        this.stuckBefore = loopMeter.stuckMillis(this.from)
      } else if (this.remaining(this.call.host.now()) <= 0) {
        // the schedule took longer to answer than its own delay
        this.state = "Due"
      }
    }
  }

  /** What is left of the delay, counting only time in which an answer could have been seen (R11). */
  private remaining(now: number): number {
    return this.from + this.delay + this.stuckSince(now) - now
  }

  private stuckSince(now: number): number {
    return this.call.host.live ? loopMeter.stuckMillis(now) - this.stuckBefore : 0
  }

  private leave(state: State): void {
    if ((this.state === "Timing" || this.state === "Reading") && this.call.host.live) loopMeter.unwatch()
    if (this.stepper !== undefined) {
      this.call.host.interrupt(this.stepper)
      this.stepper = undefined
    }
    this.state = state
  }
}
