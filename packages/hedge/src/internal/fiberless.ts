import * as Exit from "effect/Exit"
import type { Fiberless, Started } from "../HedgeAttempt.js"
import type { Attempt } from "./attempt.js"
import type { Host } from "./runtime.js"
import type { AnyExit } from "./task.js"

export type AnyFiberless = Fiberless<unknown, unknown>

/** The execution of an attempt that has no fiber. */
export class FiberlessRun {
  /** How it ended. */
  exit: AnyExit | undefined = undefined
  private started: Started | undefined = undefined

  private constructor(
    private readonly host: Host,
    private readonly onEnd: (exit: AnyExit) => void
  ) {}

  /** Undefined if the effect wants a fiber this time. `onEnd` is told once, also within the launch. */
  static launch(
    effect: AnyFiberless,
    attempt: Attempt,
    host: Host,
    onEnd: (exit: AnyExit) => void
  ): FiberlessRun | undefined {
    const run = new FiberlessRun(host, onEnd)
    try {
      run.started = effect.launch(attempt, host.fiber, (exit) => run.end(exit))
      if (run.started === undefined && run.exit === undefined) return undefined
    } catch (defect) {
      run.end(Exit.die(defect))
    }
    return run
  }

  /** In a later turn, as a fiber is: the caller goes on first. */
  interrupt(): void {
    if (this.exit === undefined) this.host.yieldTo(() => this.cancel())
  }

  private cancel(): void {
    if (this.exit !== undefined) return
    let exit: AnyExit = Exit.interrupt(this.host.fiber.id())
    try {
      this.started!.cancel()
    } catch (defect) {
      exit = Exit.die(defect)
    }
    this.end(exit)
  }

  private end(exit: AnyExit): void {
    if (this.exit !== undefined) return
    this.exit = exit
    this.started = undefined
    this.onEnd(exit)
  }
}
