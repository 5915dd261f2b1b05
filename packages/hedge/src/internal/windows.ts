import { Histogram } from "./histogram.js"
import { Survival } from "./survival.js"

/** A window ends after so many samples, or so much time, whichever is first. */
export const windowSamples = 10_000
export const windowMillis = 60_000
/** A window that holds fewer when its time is over goes on: quantiles of a handful of samples say nothing. */
export const leastSamples = 200

const keptMedians = 10

/** Nothing here outlives a call of these functions, so all windows share it. */
const scratch = new Survival()

/** What the last finished window says of the one that runs: where its median is, and how many answers took twice as long, and half. */
interface Yardstick {
  readonly median: number
  readonly aboveDouble: number
  readonly aboveHalf: number
}

const medianOf = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >>> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The latest latencies of one key: the window that runs and the one before it, read as one. */
export class Windows {
  private current = new Histogram()
  private previous: Histogram | undefined = undefined
  private yardstick: Yardstick | undefined = undefined
  private startedAt = 0
  /** The medians of the windows that have ended, oldest first. */
  private medians: Array<number> = []

  get samples(): number {
    return this.current.count + (this.previous?.count ?? 0)
  }

  /** Costs no allocation. */
  record(now: number, millis: number, finished: boolean): void {
    const { count } = this.current
    const isOver = now - this.startedAt >= windowMillis
    // a clock that was set back begins anew
    if (count === 0 || now < this.startedAt) this.startedAt = now
    else if (count >= windowSamples || (isOver && count >= leastSamples)) {
      this.turn()
      this.startedAt = now
    }
    this.current.add(millis, finished)
  }

  /** The distribution over both windows; over the one that runs alone, once it shows that the earlier one is no longer true. */
  read(survival: Survival): Survival {
    if (this.hasShifted()) this.forgetPrevious()
    return survival.fill(this.current, this.previous)
  }

  /** The median of the medians of the last 10 windows; undefined before the first has ended. */
  get usualMedian(): number | undefined {
    return this.medians.length === 0 ? undefined : medianOf(this.medians)
  }

  /** Forgets what is held, and starts a window. */
  restart(): void {
    this.current.clear()
    this.forgetPrevious()
  }

  /** What is held now becomes what is usual. */
  renew(): void {
    if (this.samples > 0) this.medians = [this.read(scratch).quantile(0.5)]
  }

  private turn(): void {
    const ended = scratch.fill(this.current)
    const median = ended.quantile(0.5)
    this.yardstick = { median, aboveDouble: ended.of(2 * median), aboveHalf: ended.of(median / 2) }
    this.medians.push(median)
    if (this.medians.length > keptMedians) this.medians.shift()
    const next = this.previous ?? new Histogram()
    next.clear()
    this.previous = this.current
    this.current = next
  }

  /**
   * Whether the median of the window that runs is more than twice the earlier one's, or less than half, and chance does not explain it: four
   * standard errors of a share, so that two modes of equal weight do not pass for a shift.
   */
  private hasShifted(): boolean {
    const { current, yardstick } = this
    if (yardstick === undefined || current.count < leastSamples) return false
    const running = scratch.fill(current)
    const margin = 2 / Math.sqrt(current.count)
    const { aboveDouble, aboveHalf, median } = yardstick
    const slower = running.of(2 * median)
    const faster = running.of(median / 2)
    return (slower > 0.5 && slower > aboveDouble + margin) || (faster < 0.5 && faster < aboveHalf - margin)
  }

  private forgetPrevious(): void {
    this.previous = undefined
    this.yardstick = undefined
  }
}
