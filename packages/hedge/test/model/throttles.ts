/** The throttles of design section 5, as values that questions are asked of and events change. */
import type { HedgeOutcome } from "effect-hedge"
import { nanos, type ThrottleSpec } from "./script.js"

/** Tokens are counted in thousandths. */
export type Throttle =
  | { readonly _tag: "Unlimited" }
  | {
      readonly _tag: "LoadBudget"
      readonly extraLoad: number
      readonly burst: number
      readonly balance: number
      readonly calls: ReadonlyArray<number>
    }
  | { readonly _tag: "TokenBucket"; readonly most: number; readonly ratio: number; readonly tokens: number }
  | { readonly _tag: "Concurrency"; readonly most: number; readonly inFlight: number }
  | { readonly _tag: "All"; readonly of: ReadonlyArray<Throttle> }

export const throttleFrom = (spec: ThrottleSpec): Throttle => {
  switch (spec._tag) {
    case "Unlimited":
      return spec
    case "LoadBudget":
      return { ...spec, burst: spec.burst * 1000, balance: spec.burst * 1000, calls: [] }
    case "TokenBucket":
      return {
        _tag: spec._tag,
        most: spec.maxTokens * 1000,
        ratio: spec.tokenRatio,
        tokens: spec.maxTokens * 1000
      }
    case "Concurrency":
      return { ...spec, inFlight: 0 }
    case "All":
      return { _tag: "All", of: spec.of.map(throttleFrom) }
  }
}

type Single = Exclude<Throttle, { readonly _tag: "All" }>

const each = (throttle: Throttle, f: (one: Single) => Single): Throttle =>
  throttle._tag === "All" ? { ...throttle, of: throttle.of.map((one) => each(one, f)) } : f(throttle)

/** Slots of 100 ms; the last 10 s are this one and the 99 before it. */
const slotOf = (at: number): number => Math.floor(at / nanos(100))

/** The balance never exceeds the burst and what the calls of the last 10 s have earned. */
const capped = (budget: Throttle & { _tag: "LoadBudget" }, now: number): number =>
  Math.min(
    budget.balance,
    budget.burst + budget.extraLoad * budget.calls.filter((at) => slotOf(now) - slotOf(at) < 100).length
  )

export const callStarted = (throttle: Throttle, now: number): Throttle =>
  each(throttle, (one) => {
    if (one._tag !== "LoadBudget") return one
    const earned = { ...one, calls: [...one.calls, now], balance: one.balance + one.extraLoad }
    return { ...earned, balance: capped(earned, now) }
  })

export const refuses = (throttle: Throttle, now: number): string | undefined => {
  switch (throttle._tag) {
    case "Unlimited":
      return undefined
    case "LoadBudget":
      return capped(throttle, now) >= 1000 ? undefined : "loadBudget"
    case "TokenBucket":
      return throttle.tokens * 2 > throttle.most ? undefined : "tokenBucket"
    case "Concurrency":
      return throttle.inFlight < throttle.most ? undefined : "concurrency"
    case "All":
      return throttle.of.map((one) => refuses(one, now)).find((name) => name !== undefined)
  }
}

export const hedgeSent = (throttle: Throttle, now: number): Throttle =>
  each(throttle, (one) => {
    if (one._tag === "LoadBudget") return { ...one, balance: capped(one, now) - 1000 }
    if (one._tag === "Concurrency") return { ...one, inFlight: one.inFlight + 1 }
    return one
  })

export const hedgeEnded = (throttle: Throttle): Throttle =>
  each(throttle, (one) => (one._tag === "Concurrency" ? { ...one, inFlight: one.inFlight - 1 } : one))

export const outcomeKnown = (
  throttle: Throttle,
  outcome: HedgeOutcome.HedgeOutcome["_tag"],
  doNotRetry: boolean
): Throttle =>
  each(throttle, (one) => {
    if (one._tag !== "TokenBucket") return one
    if (outcome === "Win") return { ...one, tokens: Math.min(one.most, one.tokens + one.ratio) }
    return outcome === "NonFatal" || doNotRetry ? { ...one, tokens: Math.max(0, one.tokens - 1000) } : one
  })
