import { Histogram, sampleOf } from "./histogram.js"
import { Survival } from "./survival.js"

/**
 * What is known of two copies that were sent at the same moment, again and again: how often both were late is counted, and not taken from how
 * often each of them was. Of a third copy nothing is known.
 */
export class Pairs extends Survival {
  /** The first copies' latencies in ascending order, and those of the copies that went with them. */
  private readonly firsts: Float64Array
  private readonly seconds: Float64Array
  /** The seconds, in ascending order, of those whose first took longer than `open`. */
  private open = Number.NaN
  private late = new Float64Array(0)

  constructor(firsts: ArrayLike<number>, seconds: ArrayLike<number>) {
    super()
    const order = Array.from(firsts, (_, i) => i).sort((a, b) => firsts[a]! - firsts[b]!)
    this.firsts = Float64Array.from(order, (i) => firsts[i]!)
    this.seconds = Float64Array.from(order, (i) => seconds[i]!)
    const histogram = new Histogram("wide")
    for (const millis of this.firsts) histogram.add(sampleOf(millis, true))
    this.fill(histogram)
  }

  override ofCopy(t: number, delay: number): number {
    if (t !== this.open) {
      this.open = t
      this.late = this.seconds.slice(countUpTo(this.firsts, t)).sort()
    }
    const { late } = this
    return late.length === 0 ? 0 : 1 - countUpTo(late, t - delay) / late.length
  }
}

/** How many of these, which ascend, are not greater than a limit. */
const countUpTo = (sorted: Float64Array, limit: number): number => {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sorted[middle]! <= limit) low = middle + 1
    else high = middle
  }
  return low
}
