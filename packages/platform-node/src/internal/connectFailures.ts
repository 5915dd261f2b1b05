/** The wait after the second failure in a row, in milliseconds; each later one doubles it. */
const shortest = 50
const longest = 1000

/**
 * When the next connection may be opened: at once after a first failure, then later and later, until one succeeds; and as long as the last one
 * failed, one at a time. (The wait is that of gRPC's connection back-off, on the scale of a call instead of that of a channel.)
 */
export class ConnectFailures {
  /** Failures in a row. Those of connections that were opened together count as one. */
  inRow = 0
  last: Error | undefined = undefined
  /** How long was to be waited after the last. */
  backOff = 0
  private at = -Infinity
  private ripeAt = -Infinity

  add(error: Error, openedAt: number, now: number): void {
    this.last = error
    if (openedAt < this.at) return
    this.at = now
    this.inRow++
    this.backOff = this.inRow === 1 ? 0 : Math.min(longest, shortest * 2 ** (this.inRow - 2))
    this.ripeAt = now + this.backOff
  }

  reset(): void {
    this.inRow = 0
    this.backOff = 0
    this.last = undefined
    this.endBackOff()
  }

  endBackOff(): void {
    this.ripeAt = -Infinity
  }

  isOver(now: number): boolean {
    return now >= this.ripeAt
  }
}
