import type { HedgeAttempt, HedgePolicy, HedgeSchedule } from "effect-hedge"
import type { Lane } from "./lane.js"
import type { Transfer } from "./transfer.js"

/** The requests that the attempts of a call have made, so that a hedge goes down another lane than theirs. */
export class CallLanes implements HedgePolicy.HedgeTargets {
  private readonly transfers: Array<Transfer> = []

  /** `others`: what somebody else has said of the call's targets. */
  private constructor(private readonly others: HedgePolicy.HedgeTargets | undefined) {}

  static of(attempt: HedgeAttempt.HedgeAttempt): CallLanes {
    const { targets } = attempt
    if (targets instanceof CallLanes) return targets
    const lanes = new CallLanes(targets)
    attempt.targets = lanes
    return lanes
  }

  add(transfer: Transfer): void {
    const { transfers } = this
    // of the requests that an attempt makes one after another the last counts
    for (let i = 0; i < transfers.length; i++) {
      const other = transfers[i]!
      if (other.attempt !== transfer.attempt || !other.settled) continue
      transfers[i] = transfer
      return
    }
    transfers.push(transfer)
  }

  /** Whether another attempt of the call has taken the lane. */
  excludes(lane: Lane, attempt: number | undefined): boolean {
    for (const other of this.transfers) {
      if (other.lane === lane && other.attempt !== attempt) return true
    }
    return false
  }

  leastInFlight(state: HedgeSchedule.HedgeState): number | undefined {
    if (this.others !== undefined) return this.others.leastInFlight(state)
    const last = this.transfers.at(-1)
    return last === undefined ? Infinity : last.group.leastInFlight(this)
  }
}
