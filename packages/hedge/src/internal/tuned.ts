import type { Spec } from "./adaptive.js"
import type { Entry } from "./estimator.js"
import { Guards } from "./guards.js"
import { type Solution, winShareOf } from "./solver.js"
import { Survival } from "./survival.js"
import { windowMillis, windowSamples } from "./windows.js"

/** Samples that must be new before it is worth to solve anew. */
const leastFresh = 20

/**
 * Where not even the median is known, because almost every primary was cut off, a key still warms up: a delay for the meantime stays in force, though
 * it may be all that gives answers, where the primary's replica is down.
 */
const mostUnseen = 0.5

/** What is read is done with before anything else is. */
const scratch = new Survival()

/** Hedges per call over the last two windows. */
class Load {
  private since = Number.NEGATIVE_INFINITY
  private calls = 0
  private hedges = 0
  private earlierCalls = 0
  private earlierHedges = 0

  onCall(now: number): void {
    if (this.calls >= windowSamples || Math.abs(now - this.since) >= windowMillis) {
      this.earlierCalls = this.calls
      this.earlierHedges = this.hedges
      this.calls = 0
      this.hedges = 0
      this.since = now
    }
    this.calls += 1
  }

  onHedge(): void {
    this.hedges += 1
  }

  get perCall(): number {
    const calls = this.calls + this.earlierCalls
    return calls === 0 ? 0 : (this.hedges + this.earlierHedges) / calls
  }
}

/** A key under one schedule: what to do in its calls, worked out anew as it becomes older. */
export class Tuned {
  readonly load = new Load()
  readonly guards: Guards
  /** Undefined while the key warms up. */
  solution: Solution | undefined = undefined
  /** What the solution's first hedge wins, if copies are independent. */
  winShare = 0
  median = Infinity
  /** The time by which one primary in 20 has been answered: with less left a hedge is in vain. */
  fastest = 0
  private solvedAt = Number.NEGATIVE_INFINITY
  private solvedRecorded = 0
  private solvedChanges = 0

  constructor(
    readonly entry: Entry,
    readonly parent: Tuned | undefined,
    private readonly spec: Spec,
    private readonly hedges: number
  ) {
    this.guards = new Guards(entry.windows)
  }

  /** The key whose solution holds: a young one borrows that of the key that it stands under. */
  current(now: number): Tuned {
    this.refresh(now)
    return this.solution === undefined && this.parent !== undefined ? this.parent.current(now) : this
  }

  /**
   * Solves anew when a second has passed and a twentieth of the samples is new, sooner when a tenth is, and at once when all are others. While the
   * median has grown the solution waits for it to come back. Where there is none, since too little has been seen, each twentieth is tried.
   */
  private refresh(now: number): void {
    if (this.guards.at(now) === "MedianGrowth") return
    const { changes, recorded, samples } = this.entry.windows
    const fresh = recorded - this.solvedRecorded
    const areOthers = changes !== this.solvedChanges
    const isDue =
      this.solution === undefined
        ? samples >= this.spec.warmUp && (areOthers || fresh * 20 >= samples)
        : areOthers ||
          (fresh >= leastFresh &&
            fresh * 20 >= samples &&
            (fresh * 10 >= samples || Math.abs(now - this.solvedAt) >= 1000))
    if (isDue) this.solve(now)
  }

  private solve(now: number): void {
    const { spec } = this
    const { windows } = this.entry
    const survival = windows.read(scratch)
    this.solvedAt = now
    this.solvedRecorded = windows.recorded
    this.solvedChanges = windows.changes
    if (survival.samples < spec.warmUp || survival.unseen > mostUnseen) {
      this.solution = undefined
      return
    }
    this.solution = spec.solve(survival, this.hedges)
    this.winShare = winShareOf(survival, this.solution)
    this.median = survival.quantile(0.5)
    this.fastest = survival.quantile(0.05)
  }
}
