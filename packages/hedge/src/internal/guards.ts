import type { Guard } from "../HedgePolicy.js"
import { type Windows, windowMillis, windowSamples } from "./windows.js"

/** Wins that independence predicts, before the wins that were are held against them, and after which both are counted anew. */
const leastExpected = 25
const mostExpected = 100
/** Hedges that win less often than this share of what is predicted do nothing. Under load queues make copies alike, and they still help. */
const leastEfficacy = 1 / 3
/** The least that a suspension lasts, in windows. */
const leastLength = 1 / 16

/**
 * Suspends hedging where it would harm or does nothing: when the primary's median has grown past twice what is usual, when an upstream pushes
 * back, and when hedges win far less often than they would if copies were independent.
 *
 * Growth suspends until the median is back, and for no longer than a window, which then is what is usual. Without hedges nobody sees whether they
 * would win again, so lack of effect suspends for a while, and hedges try again. Either lasts a sixteenth of a window at least, and twice as long as the last time
 * if that is less than a window ago, up to a whole one: what hedging itself brings about is not tried again every other second.
 */
export class Guards {
  private suspendedBy: Guard | undefined = undefined
  /** When hedging was last suspended or resumed, and the samples since. */
  private since = Number.NEGATIVE_INFINITY
  private samples = 0
  private length = leastLength
  private pushbackUntil = Number.NEGATIVE_INFINITY
  private expected = 0
  private won = 0

  constructor(private readonly windows: Windows) {}

  /** The guard that suspends hedging now, if one does. */
  at(now: number): Guard | undefined {
    if (this.pushbackUntil - now > windowMillis) this.pushbackUntil = now
    if (this.windows.isGrown(now)) {
      if (this.suspendedBy !== "MedianGrowth") this.suspend("MedianGrowth", now)
    } else if (this.suspendedBy !== undefined && this.age(now) >= this.length) this.resume(now)
    return this.suspendedBy ?? (now < this.pushbackUntil ? "Pushback" : undefined)
  }

  /** A primary has been recorded. */
  onSample(now: number): void {
    this.samples += 1
    this.at(now)
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

  /** How many windows ago hedging was last suspended or resumed. A clock that was set back begins anew. */
  private age(now: number): number {
    this.since = Math.min(this.since, now)
    return Math.max(this.samples / windowSamples, (now - this.since) / windowMillis)
  }

  private suspend(guard: Guard, now: number): void {
    this.length = this.age(now) < 1 ? Math.min(1, 2 * this.length) : leastLength
    this.suspendedBy = guard
    this.begin(now)
    this.forgetWins()
  }

  private resume(now: number): void {
    this.suspendedBy = undefined
    this.begin(now)
  }

  private begin(now: number): void {
    this.since = now
    this.samples = 0
  }

  private forgetWins(): void {
    this.expected = 0
    this.won = 0
  }
}
