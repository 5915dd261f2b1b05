import { vi } from "vitest"

interface Task {
  readonly due: number
  readonly order: number
  readonly run: () => void
}

const realSetImmediate = globalThis.setImmediate

/** Runs everything that is a promise's callback by now. */
const microtasks = (): Promise<void> => new Promise((resolve) => realSetImmediate(resolve))

const byDue = (a: Task, b: Task): number => a.due - b.due || a.order - b.order

/**
 * An event loop whose time is simulated, with the phases of Node's: timers, input, immediates. It stands in for the platform's timers and
 * its `performance.now`, so that what an engine does on a busy loop can be tested without a clock on the wall.
 */
export class FakeLoop {
  now = 1000
  private order = 0
  private timers: ReadonlyArray<Task> = []
  private inputs: ReadonlyArray<Task> = []
  private immediates: Array<() => void> = []

  /** By how much a timer rings too late, on a loop that is idle. */
  lateness: () => number = () => 0

  constructor(options?: { readonly immediate?: boolean }) {
    vi.stubGlobal(
      "setTimeout",
      (run: (...args: Array<unknown>) => void, millis: number, ...args: Array<unknown>) => {
        // as Node does: no fractions, and at least a millisecond
        const after = millis >= 1 && millis <= 2 ** 31 - 1 ? Math.trunc(millis) : 1
        const task = { due: this.now + after + this.lateness(), order: this.order++, run: () => run(...args) }
        this.timers = [...this.timers, task].sort(byDue)
        return task
      }
    )
    vi.stubGlobal("clearTimeout", (task: unknown) => {
      this.timers = this.timers.filter((other) => other !== task)
    })
    vi.stubGlobal(
      "setImmediate",
      options?.immediate === false
        ? undefined
        : (run: (...args: Array<unknown>) => void, ...args: Array<unknown>) => {
            this.immediates.push(() => run(...args))
          }
    )
    vi.stubGlobal("performance", { now: () => this.now })
  }

  /** The timers that are set. */
  get pending(): number {
    return this.timers.length
  }

  /** Input that arrives after some time, whether or not anybody looks. */
  input(after: number, run: () => void): void {
    this.inputs = [...this.inputs, { due: this.now + after, order: this.order++, run }].sort(byDue)
  }

  /** Something keeps the loop busy. */
  block(millis: number): void {
    this.now += millis
  }

  /** Turns the loop for so many milliseconds. */
  async run(millis: number): Promise<void> {
    const end = this.now + millis
    await microtasks()
    while (this.now <= end) {
      await this.phase("timers", () => this.now)
      const readFrom = this.now
      await this.phase("inputs", () => readFrom)
      const immediates = this.immediates
      this.immediates = []
      for (const immediate of immediates) {
        immediate()
        await microtasks()
      }
      const next = Math.min(this.timers[0]?.due ?? Infinity, this.inputs[0]?.due ?? Infinity, end)
      if (this.immediates.length > 0) this.now += 0.01
      else if (next > this.now) this.now = next
      else if (this.now >= end) return
    }
  }

  restore(): void {
    vi.unstubAllGlobals()
  }

  /** Runs what is due by `until`: what comes in while the loop reads is read in its next turn. */
  private async phase(queue: "timers" | "inputs", until: () => number): Promise<void> {
    for (let task = this.take(queue, until()); task !== undefined; task = this.take(queue, until())) {
      task.run()
      await microtasks()
    }
  }

  private take(queue: "timers" | "inputs", until: number): Task | undefined {
    const [first, ...rest] = this[queue]
    if (first === undefined || first.due > until) return undefined
    this[queue] = rest
    return first
  }
}
