/** Things to do at times: a binary heap, with those of one time in the order in which they were added. */
export class Agenda {
  /** The time, in milliseconds, of what was done last. */
  now = 0
  private readonly times: Array<number> = []
  private readonly orders: Array<number> = []
  private readonly acts: Array<() => void> = []
  private added = 0

  at(time: number, act: () => void): void {
    let i = this.acts.length
    const order = this.added++
    for (; i > 0; i = (i - 1) >> 1) {
      const parent = (i - 1) >> 1
      if (this.times[parent]! <= time) break
      this.put(i, parent)
    }
    this.set(i, time, order, act)
  }

  after(millis: number, act: () => void): void {
    this.at(this.now + millis, act)
  }

  /** Does everything, and what is added meanwhile. */
  run(): void {
    while (this.acts.length > 0) {
      const act = this.acts[0]!
      this.now = this.times[0]!
      this.removeFirst()
      act()
    }
  }

  private removeFirst(): void {
    const time = this.times.pop()!
    const order = this.orders.pop()!
    const act = this.acts.pop()!
    const { length } = this.acts
    if (length === 0) return
    let i = 0
    for (let child = 1; child < length; child = 2 * i + 1) {
      if (child + 1 < length && this.isBefore(child + 1, this.times[child]!, this.orders[child]!)) child += 1
      if (!this.isBefore(child, time, order)) break
      this.put(i, child)
      i = child
    }
    this.set(i, time, order, act)
  }

  private isBefore(i: number, time: number, order: number): boolean {
    return this.times[i]! < time || (this.times[i] === time && this.orders[i]! < order)
  }

  private put(to: number, from: number): void {
    this.set(to, this.times[from]!, this.orders[from]!, this.acts[from]!)
  }

  private set(i: number, time: number, order: number, act: () => void): void {
    this.times[i] = time
    this.orders[i] = order
    this.acts[i] = act
  }
}
