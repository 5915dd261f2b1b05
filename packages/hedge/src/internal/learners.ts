import type { CallOutcome, SuppressionReason } from "../HedgeEvent.js"
import type { AdaptiveCall, Learning } from "./adaptive.js"

/**
 * The schedules of a call that learn: the last that was asked, and those before it. Mostly it is one, but combined schedules may hold
 * several. Each is told what happens; a hedge is sent when none refuses it.
 */
export class Learners {
  constructor(
    private readonly learning: Learning,
    private readonly own: AdaptiveCall,
    private readonly others: Learners | undefined
  ) {}

  of(learning: Learning): AdaptiveCall | undefined {
    return learning === this.learning ? this.own : this.others?.of(learning)
  }

  get leastTimeLeft(): number {
    return Math.max(this.own.leastTimeLeft, this.others?.leastTimeLeft ?? 0)
  }

  refusal(now: number): SuppressionReason | undefined {
    return this.others?.refusal(now) ?? this.own.refusal(now)
  }

  onHedge(staggered: boolean): void {
    this.own.onHedge(staggered)
    this.others?.onHedge(staggered)
  }

  onPushback(now: number, millis: number): void {
    this.own.onPushback(now, millis)
    this.others?.onPushback(now, millis)
  }

  onPrimaryEnded(now: number, answered: boolean): void {
    this.own.onPrimaryEnded(now, answered)
    this.others?.onPrimaryEnded(now, answered)
  }

  onSettled(now: number, outcome: CallOutcome, winner: number | undefined): void {
    this.own.onSettled(now, outcome, winner)
    this.others?.onSettled(now, outcome, winner)
  }
}
