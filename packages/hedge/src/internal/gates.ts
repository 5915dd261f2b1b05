import * as Context from "effect/Context"
import type { SuppressionReason } from "../HedgeEvent.js"
import type { Call } from "./call.js"
import { aName, isName } from "./check.js"
import type { EnginePolicy } from "./policy.js"
import { Targets } from "./surroundings.js"

export interface Refusal {
  readonly reason: SuppressionReason
  /** The throttle that refused, for `Throttled`. */
  readonly throttle: string | undefined
}

const because = (reason: SuppressionReason, throttle?: string): Refusal => ({ reason, throttle })

/** Unless the policy says it, what the schedule has learned does. */
const leastTimeLeft = ({ learners, policy }: Call): number =>
  learners === undefined || policy.saysMinTimeLeft ? policy.minTimeLeftMillis : learners.leastTimeLeft

/** Whether there is somewhere else to send it: whoever knows the targets says so, and without them nobody knows of an idle one. */
const hasTarget = (call: Call, now: number): boolean => {
  const targets = Context.get(call.host.context, Targets) ?? call.identity.targets
  return targets === undefined
    ? call.policy.target === "any"
    : isTarget(call.policy, targets.leastInFlight(call.stateOf(now)))
}

/** Whether a policy sends a hedge where so many calls are in flight; undefined if there is nowhere to send it. */
export const isTarget = ({ target }: EnginePolicy, inFlight: number | undefined): boolean =>
  inFlight !== undefined && (inFlight === 0 || target === "any")

const checkReason = (reason: string): string => {
  if (isName(reason)) return reason
  throw new TypeError(`a gate answered ${String(reason)}; allowed is a reason, ${aName}, or undefined`)
}

/**
 * Asks the gates of a hedge in their order; the first refusal counts. Whether the call may hedge at all was settled when it started
 * (`Disabled`, `Nested`, `Ineligible`), and attempts left are counted by the call. What a schedule has learned refuses staggered hedges only.
 */
export const refusalOf = (call: Call, staggered: boolean, now: number): Refusal | undefined => {
  const { policy } = call
  // the layer that holds the policy has closed
  if (policy.losers?.closed === true) return because("Disabled")
  if (call.doNotRetry) return because("Pushback")
  if (call.deadlineAt - now < leastTimeLeft(call) || call.deadlineAt <= now) return because("Deadline")
  const learned = staggered ? call.learners?.refusal(now) : undefined
  if (learned !== undefined) return because(learned)
  for (const gate of policy.gates) {
    const reason = gate(call.stateOf(now))
    if (reason !== undefined) return because(checkReason(reason))
  }
  if (!hasTarget(call, now)) return because("NoDistinctTarget")
  const throttle = call.throttle.refusedBy(now)
  return throttle === undefined ? undefined : because("Throttled", throttle)
}
