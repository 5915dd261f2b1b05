import type { HttpClientError, HttpClientRequest } from "@effect/platform"
import { Cause, Exit, type Fiber } from "effect"
import type { HedgeAttempt } from "effect-hedge"
import type { LaneResponse } from "./response.js"
import { answerOf, interrupted } from "./sending.js"
import type { RequestSpan } from "./trace.js"
import type { Transfer } from "./transfer.js"

type Sent = Exit.Exit<LaneResponse, HttpClientError.HttpClientError>

const resolved = Promise.resolve()

/** A request that is sent without a fiber. */
export class Launched implements HedgeAttempt.Started {
  transfer!: Transfer
  private isCancelled = false

  constructor(
    private readonly request: HttpClientRequest.HttpClientRequest,
    private readonly span: RequestSpan | undefined,
    private readonly caller: Fiber.RuntimeFiber<unknown, unknown>,
    private readonly resume: (exit: Sent) => void
  ) {}

  /** What has come with the head is read first. */
  onHead(): void {
    if (!this.isCancelled) void resolved.then(() => this.tell())
  }

  private tell(): void {
    if (!this.isCancelled) this.resume(this.spanned(answerOf(this.request, this.transfer)))
  }

  /** A tracer that throws is a defect of the attempt, beside its failure if it has failed: as `Effect.onExit` has it. */
  private spanned(exit: Sent): Sent {
    try {
      this.span?.end(exit)
      return exit
    } catch (defect) {
      const died = Cause.die(defect)
      return Exit.failCause(exit._tag === "Success" ? died : Cause.sequential(exit.cause, died))
    }
  }

  cancel(): void {
    this.isCancelled = true
    this.transfer.cancel(interrupted)
    this.span?.end(Exit.interrupt(this.caller.id()))
  }
}
