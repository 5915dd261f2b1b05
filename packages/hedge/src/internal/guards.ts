import type { Guard } from "../HedgePolicy.js"
import { type Windows, windowMillis, windowSamples } from "./windows.js"

/** Wins that independence predicts, before the wins that were are held against them, and after which both are counted anew. */
const leastExpected = 25
const mostExpected = 100
/** Hedges that win less often than this share of what is predicted do nothing. Under load queues make copies alike, and they still help. */
const leastEfficacy = 1 / 3

/**
 * Suspends hedging where it would harm or does nothing: when the primary's median has grown past twice what is usual, when an upstream pushes
 * back, and when hedges win far less often than they would if copies were independent.
 *
 * Growth and lack of effect suspend for one window. What is seen meanwhile is what is usual then, so that a lasting shift becomes the new normal.
 */
export class Guards {
  private suspendedBy: Guard | undefined = undefined
  private since = 0
  private samples = 0
  private pushbackUntil = Number.NEGATIVE_INFINITY
  private growths = 0
  private expected = 0
  private won = 0

  constructor(private readonly windows: Windows) {}

  /** The guard that suspends hedging now, if one does. */
  at(now: number): Guard | undefined {
    if (this.pushbackUntil - now > windowMillis) this.pushbackUntil = now
    if (this.suspendedBy !== undefined && this.age(now) >= windowMillis) this.resume()
    return this.suspendedBy ?? (now < this.pushbackUntil ? "Pushback" : undefined)
  }

  /** A primary has been recorded. */
  onSample(now: number): void {
    if (this.windows.growths !== this.growths) {
      this.growths = this.windows.growths
      return this.suspend("MedianGrowth", now)
    }
    if (this.suspendedBy === undefined) return
    this.samples += 1
    if (this.samples >= windowSamples || this.age(now) >= windowMillis) this.resume()
  }

  /** A call that had a hedge has its answer; `share` is how likely a hedge was to give it. */
  onHedged(now: number, won: boolean, share: number): void {
    if (this.suspendedBy !== undefined) return
    this.expected += share
    if (won) this.won += 1
    if (this.expected < leastExpected) return
    if (this.won < leastEfficacy * this.expected) this.suspend("Efficacy", now)
    else if (this.expected >= mostExpected) this.forgetWins()
  }

  /** An upstream asks for a pause, of which no more counts than a window. */
  onPushback(now: number, millis: number): void {
    this.pushbackUntil = Math.max(this.pushbackUntil, now + Math.min(millis, windowMillis))
  }

  /** How long hedging has been suspended. A clock that was set back begins anew. */
  private age(now: number): number {
    this.since = Math.min(this.since, now)
    return now - this.since
  }

  private suspend(guard: Guard, now: number): void {
    this.suspendedBy = guard
    this.since = now
    this.samples = 0
    this.forgetWins()
  }

  private resume(): void {
    this.suspendedBy = undefined
  }

  private forgetWins(): void {
    this.expected = 0
    this.won = 0
  }
}
