import { Data } from "effect"

/** An option that makes no sense: which, what was typed, and what is allowed. */
export class OptionError extends Data.TaggedError("OptionError")<{
  /** With or without its dashes; an argument stands in angle brackets. */
  readonly option: string
  /** Undefined for an option without a value. */
  readonly value: string | undefined
  readonly allowed: string
}> {
  override get message(): string {
    const value =
      this.value === undefined ? "" : ` ${/^\S+$/.test(this.value) ? this.value : JSON.stringify(this.value)}`
    return `${/^[-<]/.test(this.option) ? "" : "--"}${this.option}${value}: ${this.allowed}`
  }
}
