import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import type { AttemptReport } from "../Hedge.js"

const render = (value: unknown): string => {
  if (typeof value === "string") return JSON.stringify(value)
  if (typeof value === "function") return "a function"
  if (Duration.isDuration(value)) return Duration.format(value)
  try {
    return typeof value === "object" ? (JSON.stringify(value) ?? String(value)) : String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}

export class HedgePolicyError extends /*#__PURE__*/ Data.TaggedError("HedgePolicyError")<{
  readonly field: string
  readonly value: unknown
  readonly allowed: string
}> {
  override get message(): string {
    return `${this.field} is ${render(this.value)}; allowed is ${this.allowed}`
  }
}

export class HedgeError extends /*#__PURE__*/ Data.TaggedError("HedgeError")<{
  readonly reason: "DeadlineExceeded" | "AttemptTimeout"
  readonly attempts: ReadonlyArray<AttemptReport>
}> {
  override get message(): string {
    const what = this.reason === "DeadlineExceeded" ? "The call's deadline passed" : "The attempt timed out"
    const attempts = this.attempts.map(
      (attempt) => `attempt ${attempt.index} ${attempt.status} after ${Duration.format(attempt.elapsed)}`
    )
    return `${what}: ${attempts.join(", ")}`
  }
}
