/** Somebody who is told when a time has come. */
export interface Waiter {
  /** Does not change while it waits. */
  due: number
  /** Where it stands among the others; -1 while it does not wait. */
  place: number
  readonly ring: () => void
}

/**
 * Those who wait, the one that is due next first: a binary heap. Nearly all leave before their time, so who leaves only leaves a gap behind; gaps are closed
 * when they come first, or when they are more than those who wait. The times are kept beside the waiters, so that to compare two takes a look at neither.
 */
export class Waiters {
  private readonly dues: Array<number> = []
  private readonly waiters: Array<Waiter | undefined> = []
  /** Places that are taken, gaps included, and those who wait. */
  private taken = 0
  private waiting = 0

  get isEmpty(): boolean {
    return this.waiting === 0
  }

  get first(): Waiter | undefined {
    while (this.taken > 0 && this.waiters[0] === undefined) {
      this.taken -= 1
      this.move(this.taken, 0)
      this.sink(0)
    }
    return this.waiters[0]
  }

  add(waiter: Waiter): void {
    const { due } = waiter
    let place = this.taken
    this.taken += 1
    this.waiting += 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (this.dues[parent]! <= due) break
      this.move(parent, place)
      place = parent
    }
    this.put(due, waiter, place)
  }

  remove(waiter: Waiter): void {
    const { place } = waiter
    if (place < 0) return
    waiter.place = -1
    this.waiters[place] = undefined
    this.waiting -= 1
    if (this.taken > 2 * this.waiting) this.closeGaps()
  }

  private put(due: number, waiter: Waiter | undefined, place: number): void {
    this.dues[place] = due
    this.waiters[place] = waiter
    if (waiter !== undefined) waiter.place = place
  }

  /** Leaves a gap where it was. */
  private move(from: number, to: number): void {
    const waiter = this.waiters[from]
    this.waiters[from] = undefined
    this.put(this.dues[from]!, waiter, to)
  }

  private sink(from: number): void {
    const { dues, taken } = this
    const due = dues[from]!
    const waiter = this.waiters[from]
    let place = from
    while (true) {
      let child = 2 * place + 1
      if (child >= taken) break
      if (child + 1 < taken && dues[child + 1]! < dues[child]!) child += 1
      if (dues[child]! >= due) break
      this.move(child, place)
      place = child
    }
    this.put(due, waiter, place)
  }

  private closeGaps(): void {
    const { taken } = this
    this.taken = 0
    for (let place = 0; place < taken; place++) {
      if (this.waiters[place] !== undefined) this.move(place, this.taken++)
    }
    for (let place = (this.taken >> 1) - 1; place >= 0; place--) this.sink(place)
  }
}
