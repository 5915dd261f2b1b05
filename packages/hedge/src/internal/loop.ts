/**
 * The event loop: the platform's timers, and how late they are (R11).
 */
import { type Waiter, Waiters } from "./waiters.js"

/** What the platform may offer; read at each use, so that a test may replace it. */
interface Platform {
  readonly setTimeout: <A>(f: (a: A) => void, millis: number, a: A) => unknown
  readonly clearTimeout: (handle: unknown) => void
  readonly setImmediate?: <A>(f: (a: A) => void, a: A) => unknown
  readonly performance: { readonly now: () => number }
}

export const platform = globalThis as unknown as Platform

/** No timer can be set for longer: the platform's would fire at once. */
export const longestTimer = 2 ** 31 - 1

/** Whether the process is kept alive until a timer rings, where the platform knows of that. */
const keepAlive = (timer: unknown, alive: boolean): void => {
  const { ref, unref } = timer as { ref?: () => void; unref?: () => void }
  if (alive) ref?.call(timer)
  else unref?.call(timer)
}

const beatMillis = 5
const toleratedMillis = 3

/**
 * Sums the time in which the event loop was stuck, so that nobody could have seen an answer, and rings those who wait for a delay without that time.
 * One beat, at most every 5 ms, is shared by all who watch or wait; what it is late by beyond 3 ms counts. A timer's own lateness says nothing:
 * the loop may have been stuck in between.
 *
 * When nobody watches any more, the beat ends with its next: to stop and start a timer for each call costs more than all else here. It keeps the
 * process alive for those who wait only.
 */
class LoopMeter {
  private watchers = 0
  private stuck = 0
  private expected = 0
  private timer: unknown = undefined
  /** What set the timer. */
  private setter: unknown = undefined
  private readonly waiters = new Waiters()

  watch(now: number): void {
    this.watchers += 1
    // what was set by fake timers is lost when they are taken away, or cleared while nobody watches
    const isLost =
      platform.setTimeout !== this.setter ||
      (this.watchers === 1 && Math.abs(this.expected - now) > beatMillis)
    if (this.timer === undefined || isLost) this.expect(now)
  }

  unwatch(): void {
    this.watchers -= 1
  }

  /** Rings a watcher when the time without that in which the loop was stuck is its `due`. */
  wait(waiter: Waiter, now: number): void {
    if (this.waiters.isEmpty && this.timer !== undefined) keepAlive(this.timer, true)
    this.waiters.add(waiter)
    if (waiter.due - this.freeMillis(now) < this.expected - now) this.expect(now)
  }

  /** It no longer waits to be rung. */
  leave(waiter: Waiter): void {
    this.waiters.remove(waiter)
    if (this.waiters.isEmpty && this.timer !== undefined) keepAlive(this.timer, false)
  }

  /** The time without that in which the loop was stuck. */
  private freeMillis(now: number): number {
    return now - this.stuckMillis(now)
  }

  /** Grows while somebody watches; the beat that is due now is counted as far as it is late. */
  stuckMillis(now: number): number {
    return this.stuck + Math.max(0, now - this.expected - toleratedMillis)
  }

  private readonly beat = (setter: unknown): void => {
    if (setter !== this.setter) return
    const now = platform.performance.now()
    this.stuck = this.stuckMillis(now)
    this.timer = undefined
    const due: Array<Waiter> = []
    let { first } = this.waiters
    while (first !== undefined && first.due <= now - this.stuck) {
      due.push(first)
      this.waiters.remove(first)
      first = this.waiters.first
    }
    if (this.watchers > 0) this.expect(now)
    for (const waiter of due) waiter.ring()
  }

  private expect(now: number): void {
    const { setTimeout } = platform
    if (this.timer !== undefined && setTimeout === this.setter) platform.clearTimeout(this.timer)
    const { first } = this.waiters
    const millis = first === undefined ? beatMillis : Math.min(beatMillis, first.due - (now - this.stuck))
    this.expected = now + Math.max(0, millis)
    this.setter = setTimeout
    this.timer = setTimeout(this.beat, Math.ceil(millis), setTimeout)
    if (first === undefined) keepAlive(this.timer, false)
  }
}

export const loopMeter = /*#__PURE__*/ new LoopMeter()

/** Runs `f` after the input that is already waiting has been read. */
export const afterPendingInput = <A>(f: (a: A) => void, a: A): void => {
  if (platform.setImmediate === undefined) platform.setTimeout(f, 0, a)
  else platform.setImmediate(f, a)
}
