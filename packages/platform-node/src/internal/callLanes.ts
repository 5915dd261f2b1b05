import type { HedgeAttempt, HedgePolicy, HedgeSchedule } from "effect-hedge"
import type { Lane } from "./lane.js"
import type { Transfer } from "./transfer.js"

/**
 * The requests that the attempts of a call have made, so that a hedge goes down another lane than theirs. They are chained, the last first: an array's
 * literal would be born old (`npm run bench`, rows of lanes) and keep them.
 */
export class CallLanes implements HedgePolicy.HedgeTargets {
  private last: Transfer | undefined = undefined

  /** `others`: what somebody else has said of the call's targets. */
  private constructor(private readonly others: HedgePolicy.HedgeTargets | undefined) {}

  static of(attempt: HedgeAttempt.HedgeAttempt): CallLanes {
    const { targets } = attempt
    if (targets instanceof CallLanes) return targets
    const lanes = new CallLanes(targets)
    attempt.targets = lanes
    return lanes
  }

  /** Whether hedges may go where the lanes do not. */
  get reachesOthers(): boolean {
    return this.others !== undefined
  }

  add(transfer: Transfer): void {
    transfer.before = this.last
    this.last = transfer
    // of the requests that an attempt makes one after another the last counts
    for (let at = transfer; at.before !== undefined; ) {
      const { before } = at
      if (before.attempt === transfer.attempt && before.settled) at.before = before.before
      else at = before
    }
  }

  /** Whether another attempt of the call has taken the lane; only one whose request has not ended counts where there are `few` lanes. */
  excludes(lane: Lane, attempt: number | undefined, few: boolean): boolean {
    for (let at = this.last; at !== undefined; at = at.before) {
      if (at.lane === lane && at.attempt !== attempt && !(few && at.settled)) return true
    }
    return false
  }

  leastInFlight(state: HedgeSchedule.HedgeState): number | undefined {
    if (this.others !== undefined) return this.others.leastInFlight(state)
    return this.last === undefined ? Infinity : this.last.group.leastInFlight(this)
  }
}
