/** A token bucket: so many at once, then so many per second. Times are milliseconds of a clock that never goes back. */
export class Ration {
  private tokens: number
  private countedAt: number

  constructor(
    private readonly burst: number,
    private readonly perSecond: number,
    now: number
  ) {
    this.tokens = burst
    this.countedAt = now
  }

  /** Takes one, if there is one. */
  take(now: number): boolean {
    this.tokens = Math.min(this.burst, this.tokens + ((now - this.countedAt) / 1000) * this.perSecond)
    this.countedAt = now
    if (this.tokens < 1) return false
    this.tokens--
    return true
  }
}
