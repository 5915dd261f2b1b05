import { edges, Histogram, sampleOf } from "./histogram.js"
import { Survival } from "./survival.js"

/** A window ends after so many samples, or so much time, whichever is first. */
export const windowSamples = 10_000
export const windowMillis = 60_000
/** With fewer samples than these nothing is said of a tail. */
export const enoughSamples = 200

const keptMedians = 10
/** What is kept of the memory at the end of each window: it holds as much as the last 20 windows do. */
const memoryKept = 0.95

/** A shift is looked for in blocks of samples. One that is over within a second is none. */
const leastBlock = 64
const leastBlockMillis = 1000
const mostBlock = 1000

/** What differs by no more than so many of them, chance may have made. */
const standardErrors = 2

/** Nothing here outlives a call of these functions, so all windows share it. */
const scratch = new Survival()

const medianOf = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >>> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The size of a block of which chance does not make half what is a share by nature: half is five standard errors above it. */
const blockFor = (seen: number, samples: number): number => {
  // what a sample shows may be two standard errors too small
  const share = seen + 1 / Math.sqrt(samples)
  const distance = 0.5 - share
  return distance > 0 ? (25 * share * (1 - share)) / distance ** 2 : Infinity
}

/** How latencies have changed: more than half of them are slower than twice what is usual, or faster than half of it. */
type Shift = "Slower" | "Faster"

/**
 * Tells when the median has become more than twice, or less than half, of what is usual: when more than half of a block of samples are slower than
 * twice the usual median, or faster than half of it. Where so many are by nature that only a window of them would tell, nothing is told.
 */
class Yardstick {
  private readonly slow: number
  private readonly fast: number
  private readonly block: number
  /** The samples of the block, and of one that is complete until the next begins. */
  private readonly samples: Uint16Array
  private since = 0
  private count = 0
  private slower = 0
  private faster = 0
  private complete = 0

  constructor(median: number, survival: Survival) {
    const slowBlock = blockFor(survival.of(2 * median), survival.samples)
    const fastBlock = blockFor(1 - survival.of(median / 2), survival.samples)
    this.slow = slowBlock <= windowSamples ? 2 * median : Infinity
    // times that lie in the first bucket are not told apart
    this.fast = fastBlock <= windowSamples && median / 2 >= edges[1]! ? median / 2 : 0
    this.block = Math.max(leastBlock, this.slow < Infinity ? slowBlock : 0, this.fast > 0 ? fastBlock : 0)
    this.samples = new Uint16Array(Math.max(mostBlock, Math.ceil(this.block)))
  }

  /** What the block is that a sample completes, if it completes one. */
  measure(now: number, millis: number, finished: boolean, sample: number): Shift | "Usual" | undefined {
    if (this.count === 0) this.since = now
    this.samples[this.count] = sample
    this.count += 1
    if (millis > this.slow) this.slower += 1
    else if (millis < this.fast && finished) this.faster += 1
    const { count, faster, since, slower } = this
    if (count < this.block || (count < mostBlock && now - since < leastBlockMillis)) return undefined
    this.complete = count
    this.count = 0
    this.slower = 0
    this.faster = 0
    return slower * 2 > count ? "Slower" : faster * 2 > count ? "Faster" : "Usual"
  }

  /** Takes the block that has just been completed back. */
  takeBack(from: Histogram): void {
    for (let i = 0; i < this.complete; i++) from.remove(this.samples[i]!)
  }
}

/** The window that runs, the one before it, and what is left of older ones. */
class History {
  current = new Histogram()
  previous: Histogram | undefined = undefined
  /** Windows that have ended, the older the less. */
  memory: Histogram | undefined = undefined
  private startedAt = 0
  /** The medians of the windows that have ended, oldest first. */
  private readonly medians: Array<number> = []

  /** Records a sample, and tells whether it is the first of another window. A window that holds less than `least` when its time is over goes on. */
  record(now: number, sample: number, least: number): boolean {
    const { count } = this.current
    const isOver = count >= windowSamples || (now - this.startedAt >= windowMillis && count >= least)
    const isNext = isOver && now >= this.startedAt
    if (isNext) this.turn()
    // a clock that was set back begins anew
    if (isNext || count === 0 || now < this.startedAt) this.startedAt = now
    this.current.add(sample)
    return isNext
  }

  /** The median of the windows' medians; that of the one that runs, as long as it is the first. */
  get usual(): number {
    return this.medians.length === 0 ? scratch.fill(this.current).quantile(0.5) : medianOf(this.medians)
  }

  private turn(): void {
    this.medians.push(scratch.fill(this.current).quantile(0.5))
    if (this.medians.length > keptMedians) this.medians.shift()
    this.memory ??= new Histogram("wide")
    this.memory.fade(memoryKept, this.current)
    const next = this.previous ?? new Histogram()
    next.clear()
    this.previous = this.current
    this.current = next
  }
}

/** A change of the latencies that may pass: what was known before is set aside for a window. */
interface Change {
  readonly shift: Shift
  readonly before: History
  since: number
}

/** The latest latencies of one key: the window that runs and the one before it, read as one. */
export class Windows {
  /** All samples that were ever recorded. */
  recorded = 0
  /** How often all that is read has become another. */
  changes = 0
  private history = new History()
  private yardstick: Yardstick | undefined = undefined
  /** The size of a first window at which it is known better what is usual. */
  private gaugeAt = enoughSamples
  private change: Change | undefined = undefined

  /** A window that holds less than `least` when its time is over goes on. */
  constructor(private readonly least: { readonly samples: number } = { samples: enoughSamples }) {}

  get samples(): number {
    return this.history.current.count + (this.history.previous?.count ?? 0)
  }

  /** Whether the median is more than twice of what is usual. After a window that is what is usual. */
  isGrown(now: number): boolean {
    if (this.change === undefined) return false
    this.change.since = Math.min(this.change.since, now)
    if (now - this.change.since >= windowMillis) this.accept()
    return this.change?.shift === "Slower"
  }

  /** Costs no allocation but for the first windows of a key. */
  record(now: number, millis: number, finished: boolean): void {
    const sample = sampleOf(millis, finished)
    if (this.history.record(now, sample, this.least.samples)) {
      this.accept()
      this.gauge(this.history.previous!)
    }
    this.recorded += 1
    if (this.yardstick !== undefined) {
      const block = this.yardstick.measure(now, millis, finished, sample)
      if (block !== undefined) this.onBlock(now, block)
    } else if (this.history.current.count >= enoughSamples) this.gauge(this.history.current)
  }

  /** The distribution over both windows. */
  read(survival: Survival): Survival {
    return survival.fill(this.history.current, this.history.previous)
  }

  /**
   * The same, but what is known of answers that are still open at a time is told by the memory, too: once hedges are sent at that time few of these
   * are seen to their end. How many they are the memory tells as well, as long as no more than chance parts it from the latest windows.
   */
  readBeyond(millis: number, survival: Survival): Survival {
    const { current, memory } = this.history
    this.read(survival)
    const latest = survival.of(millis)
    const chance = standardErrors * Math.sqrt((latest * (1 - latest)) / survival.samples)
    const remembered = scratch.fill(current, memory)
    return Math.abs(remembered.of(millis) - latest) <= chance
      ? survival.fill(current, memory)
      : survival.extend(millis, remembered)
  }

  private onBlock(now: number, block: Shift | "Usual"): void {
    if (this.change !== undefined) {
      if (block !== this.change.shift) this.restore(this.change.before)
    } else if (block !== "Usual") this.setAside(now, block)
    else if (this.history.previous === undefined && this.history.current.count >= this.gaugeAt)
      this.gauge(this.history.current)
  }

  /**
   * What was known is no longer true, but for the block that says so: what comes is learned from the start. It is held against the same
   * yardstick, since it may pass.
   */
  private setAside(now: number, shift: Shift): void {
    this.yardstick!.takeBack(this.history.current)
    this.change = { shift, before: this.history, since: now }
    this.history = new History()
    this.changes += 1
  }

  /** What was known is true again. */
  private restore(before: History): void {
    this.history = before
    this.change = undefined
    this.changes += 1
  }

  /** What has changed stays so: it is what is usual. */
  private accept(): void {
    this.change = undefined
    this.yardstick = undefined
  }

  private gauge(latest: Histogram): void {
    const { usual } = this.history
    this.yardstick = new Yardstick(usual, scratch.fill(latest))
    this.gaugeAt = 2 * latest.count
  }
}
