import { edges, Histogram } from "./histogram.js"
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

/**
 * Tells when the median has become more than twice, or less than half, of what is usual: when more than half of a block of samples are slower than
 * twice the usual median, or faster than half of it. Where so many are by nature that only a window of them would tell, nothing is told.
 */
class Yardstick {
  private readonly slow: number
  private readonly fast: number
  private readonly block: number
  private since = 0
  private count = 0
  private slower = 0
  private faster = 0

  constructor(median: number, survival: Survival) {
    const slowBlock = blockFor(survival.of(2 * median), survival.samples)
    const fastBlock = blockFor(1 - survival.of(median / 2), survival.samples)
    this.slow = slowBlock <= windowSamples ? 2 * median : Infinity
    // times that lie in the first bucket are not told apart
    this.fast = fastBlock <= windowSamples && median / 2 >= edges[1]! ? median / 2 : 0
    this.block = Math.max(leastBlock, this.slow < Infinity ? slowBlock : 0, this.fast > 0 ? fastBlock : 0)
  }

  /** What a sample completes: a block that is slower or faster than usual, if it does. */
  measure(now: number, millis: number, finished: boolean): "Slower" | "Faster" | undefined {
    if (this.count === 0) this.since = now
    this.count += 1
    if (millis > this.slow) this.slower += 1
    else if (millis < this.fast && finished) this.faster += 1
    const { count, faster, since, slower } = this
    if (count < this.block || (count < mostBlock && now - since < leastBlockMillis)) return undefined
    this.count = 0
    this.slower = 0
    this.faster = 0
    return slower * 2 > count ? "Slower" : faster * 2 > count ? "Faster" : undefined
  }
}

/** The latest latencies of one key: the window that runs and the one before it, read as one. */
export class Windows {
  /** All samples that were ever recorded. */
  recorded = 0
  /** How often the median has grown to more than twice of what was usual. */
  growths = 0
  private current = new Histogram()
  private previous: Histogram | undefined = undefined
  /** Windows that have ended, the older the less. */
  private memory: Histogram | undefined = undefined
  private startedAt = 0
  /** The medians of the windows that have ended, oldest first. The median of them is what is usual. */
  private medians: Array<number> = []
  private yardstick: Yardstick | undefined = undefined

  /** A window that holds less than `least` when its time is over goes on. */
  constructor(private readonly least: { readonly samples: number } = { samples: enoughSamples }) {}

  get samples(): number {
    return this.current.count + (this.previous?.count ?? 0)
  }

  /** Costs no allocation but for the first windows of a key. */
  record(now: number, millis: number, finished: boolean): void {
    const { count } = this.current
    const isOver = now - this.startedAt >= windowMillis
    // a clock that was set back begins anew
    if (count === 0 || now < this.startedAt) this.startedAt = now
    else if (count >= windowSamples || (isOver && count >= this.least.samples)) {
      this.turn()
      this.startedAt = now
    }
    this.current.add(millis, finished)
    this.recorded += 1
    if (this.yardstick !== undefined) {
      const shift = this.yardstick.measure(now, millis, finished)
      if (shift !== undefined) this.shifted(shift)
    } else if (this.current.count >= enoughSamples) this.gauge(scratch.fill(this.current))
  }

  /** The distribution over both windows. */
  read(survival: Survival): Survival {
    return survival.fill(this.current, this.previous)
  }

  /**
   * The same, but what is known of answers that are still open at a time is told by the memory, too: once hedges are sent at that time few of these
   * are seen to their end. How many they are the memory tells as well, as long as no more than chance parts it from the latest windows.
   */
  readBeyond(millis: number, survival: Survival): Survival {
    this.read(survival)
    if (this.memory === undefined) return survival
    const latest = survival.of(millis)
    const chance = standardErrors * Math.sqrt((latest * (1 - latest)) / survival.samples)
    const remembered = scratch.fill(this.current, this.memory)
    return Math.abs(remembered.of(millis) - latest) <= chance
      ? survival.fill(this.current, this.memory)
      : survival.extend(millis, remembered)
  }

  private turn(): void {
    const ended = scratch.fill(this.current)
    this.medians.push(ended.quantile(0.5))
    if (this.medians.length > keptMedians) this.medians.shift()
    this.gauge(ended)
    this.memory ??= new Histogram("wide")
    this.memory.fade(memoryKept, this.current)
    const next = this.previous ?? new Histogram()
    next.clear()
    this.previous = this.current
    this.current = next
  }

  private gauge(survival: Survival): void {
    const usual = this.medians.length === 0 ? survival.quantile(0.5) : medianOf(this.medians)
    this.yardstick = new Yardstick(usual, survival)
  }

  /** What was is no longer true: what comes is learned from the start, and is what is usual. */
  private shifted(shift: "Slower" | "Faster"): void {
    if (shift === "Slower") this.growths += 1
    this.current.clear()
    this.previous = undefined
    this.memory = undefined
    this.medians = []
    this.yardstick = undefined
  }
}
