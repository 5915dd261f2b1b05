import type { Context } from "effect"
import type { CallOutcome, SuppressionReason } from "../HedgeEvent.js"
import type { Estimators, LatencyEstimator } from "../LatencyEstimator.js"
import type { Entry, Latencies, Path } from "./estimator.js"
import { loopMeter } from "./loop.js"
import type { Solution } from "./solver.js"
import type { Survival } from "./survival.js"
import { Tuned } from "./tuned.js"

/** What a schedule that learns is told to do. */
export interface Spec {
  /** Works out the delays from what is known, for so many hedges. */
  readonly solve: (survival: Survival, hedges: number) => Solution
  /** Whether the last delay holds for all hedges that follow. */
  readonly repeats: boolean
  /** The hedges per call that may be sent, if that is given. */
  readonly extraLoad: number | undefined
  readonly objective: number
  /** The time, in milliseconds, by which the objective's share should be answered. */
  readonly within: number | undefined
  /** Hedges that a call may send, at most. */
  readonly hedges: number
  readonly warmUp: number
  /** The delay until then, in milliseconds. */
  readonly meanwhile: number | undefined
  /** The share of calls that are not hedged, so that the tail stays in sight. */
  readonly holdout: number
  readonly estimator: LatencyEstimator | undefined
}

/** Who begins a call of a schedule that learns. */
export interface Learning {
  readonly begin: (call: CallFacts, now: number) => AdaptiveCall
  /** For a policy of so many attempts. */
  readonly forAttempts: (maxAttempts: number) => Learning
}

/** What a schedule that learns must know of a call; the engine's own are of this shape, so that nothing is made for it. */
export interface CallFacts {
  readonly startedAt: number
  readonly host: { readonly context: Context.Context<never>; readonly live: boolean }
  readonly policy: {
    readonly path: Path | undefined
    readonly maxAttempts: number
    /** Where it learns, unless it says so itself or `LatencyEstimator.Default` does. */
    readonly estimators?: Estimators | undefined
  }
  /** The primary first. */
  readonly attempts: ReadonlyArray<{ readonly interrupted: unknown }>
}

/** One schedule that learns, in one estimator. Everything here is synchronous, and a call costs a lookup and a few additions. */
export class Tuner implements Learning {
  private readonly tuned = new WeakMap<Entry, Tuned>()
  private readonly root: Tuned
  private seed = 0x2545f491

  constructor(
    readonly spec: Spec,
    private readonly latencies: Latencies,
    readonly hedges: number,
    readonly forAttempts: (maxAttempts: number) => Tuner
  ) {
    latencies.need(spec.warmUp)
    this.root = this.of(latencies.root)
  }

  at(path: Path | undefined): Tuned {
    return path === undefined ? this.root : this.of(this.latencies.at(path))
  }

  /** What is known of a key, or of the nearest that it stands under, without a use of it. */
  peek(path: Path | undefined): Tuned {
    return this.of(this.latencies.peek(path))
  }

  get keys(): ReadonlyArray<ReadonlyArray<string>> {
    return this.latencies.keys
  }

  begin({ attempts, host, policy, startedAt }: CallFacts, now: number): AdaptiveCall {
    const own = this.at(policy.path)
    for (let tuned: Tuned | undefined = own; tuned !== undefined; tuned = tuned.parent)
      tuned.load.onCall(startedAt)
    // a combined schedule may ask for the first time when the call is over, and nobody says so any more
    const isOver = attempts[0]?.interrupted !== undefined
    return new AdaptiveCall(this, own, own.current(startedAt), startedAt, now, host.live && !isOver)
  }

  /** The same sequence in each process: a call under `TestClock` is deterministic. (mulberry32) */
  random(): number {
    this.seed = (this.seed + 0x6d2b79f5) | 0
    let t = Math.imul(this.seed ^ (this.seed >>> 15), 1 | this.seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  private of(entry: Entry): Tuned {
    const known = this.tuned.get(entry)
    if (known !== undefined) return known
    const parent = entry.parent === undefined ? undefined : this.of(entry.parent)
    const tuned = new Tuned(entry, parent, this.spec, this.hedges)
    this.tuned.set(entry, tuned)
    return tuned
  }
}

/** What a call asks and tells its schedule, if that learns. */
export class AdaptiveCall {
  /** Hedges that were sent because they were due. */
  private staggered = 0
  private asked = false
  private heldOut = false
  private refused = false
  /** The primary's time is known, or does not count. */
  private recorded = false
  private failed = false
  private readonly stuckBefore: number

  constructor(
    private readonly tuner: Tuner,
    /** The key of the call. */
    private readonly own: Tuned,
    /** The key whose solution the call goes by. */
    private readonly current: Tuned,
    private readonly startedAt: number,
    now: number,
    private readonly live: boolean
  ) {
    if (live) loopMeter.watch(now)
    this.stuckBefore = live ? loopMeter.stuckMillis(now) : 0
  }

  /** The delay after a launch, in milliseconds. While a key warms up every hedge is due at once, and refused. */
  delay(): number {
    const { spec } = this.tuner
    if (!this.asked) {
      this.asked = true
      this.heldOut = spec.holdout > 0 && this.tuner.random() < spec.holdout
    }
    if (this.refused) return Infinity
    const { solution } = this.current
    if (solution === undefined) return spec.meanwhile ?? 0
    const { delays, sends } = solution
    const stage = spec.repeats ? 0 : this.staggered
    if (stage >= delays.length) return Infinity
    if (sends[stage]! < 1 && this.tuner.random() >= sends[stage]!) return Infinity
    return stage === 0 ? delays[0]! : delays[stage]! - delays[stage - 1]!
  }

  /** Why a staggered hedge may not be sent, if it may not. The call's others may not either. */
  refusal(now: number): SuppressionReason | undefined {
    const reason = this.reason(now)
    if (reason !== undefined) this.refused = true
    return reason
  }

  private reason(now: number): SuppressionReason | undefined {
    const { solution, guards } = this.current
    if (solution === undefined && this.tuner.spec.meanwhile === undefined) return "WarmUp"
    if (this.heldOut) return "Holdout"
    return guards.at(now) === undefined ? undefined : "Suspended"
  }

  /** The least time until the deadline with which a hedge may still answer. */
  get leastTimeLeft(): number {
    return this.current.fastest
  }

  onHedge(staggered: boolean): void {
    if (staggered) this.staggered += 1
    for (let tuned: Tuned | undefined = this.own; tuned !== undefined; tuned = tuned.parent)
      tuned.load.onHedge()
  }

  onPushback(now: number, millis: number): void {
    this.current.guards.onPushback(now, millis)
  }

  /** The primary has an outcome. A failure says nothing of latency if it is faster than most answers; else, that an answer took longer. */
  onPrimaryEnded(now: number, answered: boolean): void {
    this.failed = !answered
    const elapsed = this.elapsed(now)
    if (answered || elapsed >= this.current.median) this.record(now, elapsed, answered)
  }

  onSettled(now: number, outcome: CallOutcome, winner: number | undefined): void {
    if (!this.recorded) {
      const elapsed = this.elapsed(now)
      // a caller that has had enough, or a defect in the policy, says nothing of the upstream
      if (outcome !== "Interrupted" && outcome !== "Defect") this.record(now, elapsed, false)
    }
    if (outcome !== "Win" || this.staggered === 0 || this.failed) return
    for (let tuned: Tuned | undefined = this.current; tuned !== undefined; tuned = tuned.parent)
      tuned.guards.onHedged(now, winner !== 0, tuned.winShare)
  }

  private record(now: number, elapsed: number, finished: boolean): void {
    for (let tuned: Tuned | undefined = this.own; tuned !== undefined; tuned = tuned.parent) {
      tuned.entry.windows.record(now, elapsed, finished)
      tuned.guards.onSample(now)
    }
  }

  /** The time that the primary has taken, as the stagger counts it: without that in which the event loop was stuck (R11). */
  private elapsed(now: number): number {
    this.recorded = true
    let stuck = 0
    if (this.live) {
      stuck = loopMeter.stuckMillis(now) - this.stuckBefore
      loopMeter.unwatch()
    }
    return Math.max(0, now - this.startedAt - stuck)
  }
}
