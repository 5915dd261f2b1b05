import * as Exit from "effect/Exit"
import type { Fiberless, Started } from "../HedgeAttempt.js"
import type { Attempt } from "./attempt.js"
import type { Host } from "./runtime.js"
import type { AnyExit } from "./task.js"

export type AnyFiberless = Fiberless<unknown, unknown>

/** The execution of an attempt that has no fiber. Once it has ended it keeps nothing of its call: who keeps the attempt does not keep that. */
export class FiberlessRun {
  /** How it ended. */
  exit: AnyExit | undefined = undefined
  private started: Started | undefined = undefined

  private constructor(private onEnd: ((exit: AnyExit) => void) | undefined) {}

  /** Undefined if the effect wants a fiber this time. `onEnd` is told once, also within the launch. */
  static launch(
    effect: AnyFiberless,
    attempt: Attempt,
    host: Host,
    onEnd: (exit: AnyExit) => void
  ): FiberlessRun | undefined {
    const run = new FiberlessRun(onEnd)
    try {
      const started = effect.launch(attempt, host.fiber, (exit) => run.end(exit))
      if (run.exit !== undefined) return run
      if (started === undefined) {
        // what is told all the same is ignored
        run.onEnd = undefined
        return undefined
      }
      run.started = started
    } catch (defect) {
      run.end(Exit.die(defect))
    }
    return run
  }

  /** In a later turn, as a fiber is: the caller goes on first. */
  interruptAs(host: Host): void {
    if (this.exit === undefined) host.yieldTo(() => this.cancel(host))
  }

  private cancel(host: Host): void {
    let exit: AnyExit = Exit.interrupt(host.fiber.id())
    try {
      this.started?.cancel()
    } catch (defect) {
      exit = Exit.die(defect)
    }
    this.end(exit)
  }

  private end(exit: AnyExit): void {
    const { onEnd } = this
    if (onEnd === undefined) return
    this.exit = exit
    this.started = undefined
    this.onEnd = undefined
    onEnd(exit)
  }
}
