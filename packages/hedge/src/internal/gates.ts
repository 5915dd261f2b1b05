import type { SuppressionReason } from "../HedgeEvent.js"
import type { Call } from "./call.js"
import { aName, isName } from "./check.js"

export interface Refusal {
  readonly reason: SuppressionReason
  /** The throttle that refused, for `Throttled`. */
  readonly throttle: string | undefined
}

const because = (reason: SuppressionReason, throttle?: string): Refusal => ({ reason, throttle })

const checkReason = (reason: string): string => {
  if (isName(reason)) return reason
  throw new TypeError(`a gate answered ${String(reason)}; allowed is a reason, ${aName}, or undefined`)
}

/**
 * Asks the gates of a hedge in their order; the first refusal counts. Whether the call may hedge at all was settled when it started
 * (`Disabled`, `Nested`, `Ineligible`), and attempts left are counted by the call.
 */
export const refusalOf = (call: Call, now: number): Refusal | undefined => {
  const { policy } = call
  // the layer that holds the policy has closed
  if (policy.losers?.closed === true) return because("Disabled")
  if (call.doNotRetry) return because("Pushback")
  if (call.deadlineAt - now < policy.minTimeLeftMillis || call.deadlineAt <= now) return because("Deadline")
  if (policy.gates.length > 0) {
    const state = call.stateOf(now)
    for (const gate of policy.gates) {
      const reason = gate(state)
      if (reason !== undefined) return because(checkReason(reason))
    }
  }
  const throttle = call.throttle.refusedBy(now)
  return throttle === undefined ? undefined : because("Throttled", throttle)
}
