import { vi } from "vitest"

interface Task {
  readonly due: number
  readonly order: number
  readonly run: () => void
}

/** As Node's timers, it keeps the process alive unless told otherwise. */
class Timer implements Task {
  held = true

  constructor(
    private readonly loop: FakeLoop,
    readonly due: number,
    readonly order: number,
    readonly run: () => void
  ) {}

  ref(): void {
    this.held = true
  }

  unref(): void {
    this.held = false
  }

  isOf(loop: FakeLoop): boolean {
    return loop === this.loop
  }
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
  private timers: ReadonlyArray<Timer> = []
  private inputs: ReadonlyArray<Task> = []
  private immediates: Array<() => void> = []

  /** The timers that were ever set. */
  timersSet = 0

  /** By how much a timer rings too late, on a loop that is idle. */
  lateness: () => number = () => 0

  constructor(options?: { readonly immediate?: boolean }) {
    vi.stubGlobal(
      "setTimeout",
      (run: (...args: Array<unknown>) => void, millis: number, ...args: Array<unknown>) => {
        // as Node does: no fractions, and at least a millisecond
        const after = millis >= 1 && millis <= 2 ** 31 - 1 ? Math.trunc(millis) : 1
        const due = this.now + after + this.lateness()
        const timer = new Timer(this, due, this.order++, () => run(...args))
        this.timers = [...this.timers, timer].sort(byDue)
        this.timersSet += 1
        return timer
      }
    )
    vi.stubGlobal("clearTimeout", (timer: Timer | undefined) => {
      if (timer?.isOf(this) === false) throw new Error("a timer of another loop")
      this.timers = this.timers.filter((other) => other !== timer)
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

  /** The timers that are set and keep the process alive. */
  get holding(): number {
    return this.timers.filter((timer) => timer.held).length
  }

  /** Takes all timers away, as `vi.clearAllTimers` does. */
  clearTimers(): void {
    this.timers = []
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
    const [first] = this[queue]
    if (first === undefined || first.due > until) return undefined
    if (queue === "timers") this.timers = this.timers.slice(1)
    else this.inputs = this.inputs.slice(1)
    return first
  }
}
