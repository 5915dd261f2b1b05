import * as Context from "effect/Context"
import type { LaunchReason, SuppressionReason } from "../HedgeEvent.js"
import type { HedgeOutcome } from "../HedgeOutcome.js"
import type { Decisions, HedgePolicy } from "../HedgePolicy.js"
import { Default, type HedgeThrottle } from "../HedgeThrottle.js"
import type { AdaptiveCall, CallFacts, Learning } from "./adaptive.js"
import { check, refuse, time } from "./check.js"
import { isTarget } from "./gates.js"
import { checkPolicy, type EnginePolicy } from "./policy.js"
import { type Asker, staggerOf } from "./schedule.js"

const host = { context: Context.empty(), live: false }

class PolicyDecisions implements Decisions, Asker, CallFacts {
  readonly host = host
  readonly attempts = []
  private readonly throttle: HedgeThrottle
  private readonly stagger: (asker: Asker) => number
  private adaptive: AdaptiveCall | undefined = undefined
  private launched = 1
  private afterRefusal = false

  constructor(
    readonly policy: EnginePolicy,
    readonly startedAt: number
  ) {
    this.stagger =
      staggerOf(policy.schedule) ??
      refuse("schedule", policy.schedule, "a schedule of HedgeSchedule, which is answered synchronously")
    this.throttle = policy.throttle ?? Context.get(host.context, Default)
    this.throttle.onCall?.(startedAt)
    if (policy.learning !== undefined) this.learn(policy.learning)
  }

  learn(learning: Learning): AdaptiveCall {
    this.adaptive ??= learning.begin(this, this.startedAt)
    return this.adaptive
  }

  delay(): number {
    if (this.launched >= this.policy.maxAttempts) return Infinity
    const millis = this.stagger(this)
    return this.afterRefusal && !(millis > 0) ? Infinity : millis
  }

  refusal(
    now: number,
    reason: LaunchReason,
    leastInFlight?: () => number | undefined
  ): SuppressionReason | undefined {
    this.afterRefusal = true
    const learned = reason === "Stagger" ? this.adaptive?.refusal(now) : undefined
    if (learned !== undefined) return learned
    if (leastInFlight !== undefined && !isTarget(this.policy, leastInFlight())) return "NoDistinctTarget"
    return this.throttle.refusedBy(now) === undefined ? undefined : "Throttled"
  }

  hedged(now: number, reason: LaunchReason): void {
    this.afterRefusal = false
    this.launched += 1
    this.adaptive?.onHedge(reason === "Stagger")
    this.throttle.take(now)
  }

  ended(now: number, attempt: number, outcome: HedgeOutcome["_tag"]): void {
    this.throttle.onOutcome?.(outcome, false)
    if (attempt === 0) this.adaptive?.onPrimaryEnded(now, outcome === "Win")
  }

  settled(now: number, winner: number | undefined): void {
    this.adaptive?.onSettled(now, winner === undefined ? "NonFatal" : "Win", winner)
  }

  hedgeUnwound(): void {
    this.throttle.onHedgeEnd?.()
  }
}

export const unsafeBegin = (policy: HedgePolicy<never, never, unknown, unknown>, now: number): Decisions =>
  new PolicyDecisions(checkPolicy(policy), check("now", now, time))
