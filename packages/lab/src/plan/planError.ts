import { Data } from "effect"

/** A record that cannot be read, or that holds no latency: which, and why. */
export class PlanError extends Data.TaggedError("PlanError")<{
  /** As the user named it; `standard input` for `-`. */
  readonly file: string
  readonly problem: string
}> {
  override get message(): string {
    return `${this.file}: ${this.problem}`
  }
}
