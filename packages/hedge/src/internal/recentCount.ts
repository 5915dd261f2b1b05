const slotMillis = 100
const slots = 100
const slotsOfHaste = 10

/** Counts events of the last 10 s in slots of 100 ms; the oldest slot is left out as soon as a part of it is older. */
export class RecentCount {
  private readonly counts = new Float64Array(slots)
  private total = 0
  private slot = -1

  add(now: number): void {
    this.advance(now)
    this.counts[this.slot % slots]! += 1
    this.total += 1
  }

  at(now: number): number {
    this.advance(now)
    return this.total
  }

  private advance(now: number): void {
    const slot = Math.floor(now / slotMillis)
    // a call whose alarm has just rung may be a little ahead of the others
    if (slot <= this.slot && this.slot - slot <= slotsOfHaste) return
    // a clock that was set back (another TestClock, say) starts a new count, as does a pause of more than 10 s
    if (this.slot < 0 || slot < this.slot || slot - this.slot >= slots) {
      this.counts.fill(0)
      this.total = 0
    } else {
      for (let passed = this.slot + 1; passed <= slot; passed++) {
        this.total -= this.counts[passed % slots]!
        this.counts[passed % slots] = 0
      }
    }
    this.slot = slot
  }
}
