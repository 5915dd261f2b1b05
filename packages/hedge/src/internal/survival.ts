import { bucketCount, bucketOf, edges, type Histogram } from "./histogram.js"

/** Absorbs rounding where S lies exactly at a tail's probability. */
const slack = 1e-12

/**
 * S(t), the probability that an answer takes longer than t, by the product-limit estimator of Kaplan and Meier: a time at which an attempt was
 * cut off says that its answer would have taken longer, and no more. Between the ends of a bucket S falls evenly.
 *
 * One object can be filled again and again; nothing is allocated.
 *
 * @see https://doi.org/10.1080/01621459.1958.10501452
 */
export class Survival {
  /** S at the lower end of each bucket. */
  readonly at = new Float64Array(bucketCount + 1)
  samples = 0
  finished = 0
  /** S where the last sample lies, if that was cut off: beyond, nothing was seen. There S is taken to fall to 0 at once. */
  unseen = 0
  /** The buckets that hold something lie between these, both included. */
  first = 0
  last = -1

  constructor() {
    this.clear()
  }

  private clear(): void {
    this.at.fill(0)
    this.at[0] = 1
    this.samples = 0
    this.finished = 0
    this.unseen = 0
    this.first = 0
    this.last = -1
  }

  /** Takes the samples of one window or two as those of one. */
  fill(one: Histogram, other?: Histogram): this {
    const { at } = this
    const two = other !== undefined && other.count > 0 ? other : undefined
    this.samples = one.count + (two?.count ?? 0)
    if (this.samples === 0) {
      this.clear()
      return this
    }
    this.first = two === undefined ? one.first : Math.min(one.first, two.first)
    this.last = two === undefined ? one.last : Math.max(one.last, two.last)
    const { finished } = one
    const others = two?.finished
    at.fill(0, this.first, this.last + 1)
    this.addOpen(one)
    if (two !== undefined) this.addOpen(two)
    // what was taken back leaves bounds that are too wide
    while (at[this.last] === 0) this.last--
    let left = 1
    let events = 0
    at.fill(1, 0, this.first)
    for (let i = this.first; i <= this.last; i++) {
      const ended = others === undefined ? finished[i]! : finished[i]! + others[i]!
      const next = left * (1 - ended / at[i]!)
      events += ended
      at[i] = left
      left = next
    }
    at.fill(0, this.last + 1)
    this.finished = events
    this.unseen = left
    return this
  }

  /** Adds how many are still open at the lower end of each bucket. Summed from the end, what is left of many is not the rounding of their sum. */
  private addOpen({ cutOff, finished }: Histogram): void {
    const { at } = this
    let open = 0
    for (let i = this.last; i >= this.first; i--) {
      open += finished[i]! + cutOff[i]!
      at[i]! += open
    }
  }

  /** Takes what lies beyond a time from another: not how many answers take longer, but how much longer those take. */
  extend(millis: number, other: Survival): this {
    const { at } = this
    const from = bucketOf(millis) + 1
    const left = other.at[from]!
    if (from > this.last || !(left > 0)) return this
    const scale = at[from]! / left
    for (let i = from + 1; i <= other.last; i++) at[i] = scale * other.at[i]!
    at.fill(0, other.last + 1)
    this.last = other.last
    this.unseen = scale * other.unseen
    return this
  }

  /** Takes a survival function that somebody else knows, of so many samples that all finished, by its values at the ends of the buckets. */
  sample(of: (millis: number) => number, samples: number): this {
    const { at } = this
    this.clear()
    this.samples = samples
    this.finished = samples
    // what lies at the very end of a bucket lies in the next one, as everywhere
    for (let i = 1; i < bucketCount; i++) at[i] = of(edges[i]! * (1 - 1e-12))
    while (at[this.first + 1] === 1) this.first++
    this.last = bucketCount - 1
    while (!(at[this.last]! > 0)) this.last--
    return this
  }

  /** The probability that a copy which is sent after `delay` takes until later than `t`, given that the first one does. */
  ofCopy(t: number, delay: number): number {
    return this.of(t - delay)
  }

  /** S(t); 1 for t ≤ 0. */
  of(millis: number): number {
    if (!(millis > 0)) return 1
    const i = bucketOf(millis)
    if (i > this.last) return 0
    const from = this.at[i]!
    const to = this.at[i + 1]!
    if (from === to) return from
    return from + ((to - from) * (millis - edges[i]!)) / (edges[i + 1]! - edges[i]!)
  }

  /** The time by which a share `p` has been answered. NaN without samples. */
  quantile(p: number): number {
    if (this.samples === 0) return Number.NaN
    const { at } = this
    const left = 1 - p + slack
    let low = this.first
    let high = this.last
    // the first bucket at whose end no more than `left` is left
    while (low < high) {
      const middle = (low + high) >>> 1
      if (at[middle + 1]! <= left) high = middle
      else low = middle + 1
    }
    const from = at[low]!
    const to = at[low + 1]!
    const share = from > to ? Math.max(0, (from - left) / (from - to)) : 0
    return edges[low]! + share * (edges[low + 1]! - edges[low]!)
  }
}
