/** Somebody who is told when a time has come. */
export interface Waiter {
  due: number
  /** Where it stands among the others; -1 while it does not wait. */
  place: number
  readonly ring: () => void
}

/** Those who wait, the one that is due next first: a binary heap, in which everybody knows their place, so that leaving takes no search. */
export class Waiters {
  private readonly heap: Array<Waiter | undefined> = []
  private count = 0

  get first(): Waiter | undefined {
    return this.heap[0]
  }

  add(waiter: Waiter): void {
    this.rise(waiter, this.count++)
  }

  remove(waiter: Waiter): void {
    const { place } = waiter
    if (place < 0) return
    waiter.place = -1
    this.count -= 1
    const last = this.heap[this.count]!
    this.heap[this.count] = undefined
    if (last === waiter) return
    const above = this.heap[(place - 1) >> 1]
    if (place > 0 && above!.due > last.due) this.rise(last, place)
    else this.sink(last, place)
  }

  private put(waiter: Waiter, place: number): void {
    waiter.place = place
    this.heap[place] = waiter
  }

  private rise(waiter: Waiter, from: number): void {
    let place = from
    while (place > 0) {
      const parent = (place - 1) >> 1
      const above = this.heap[parent]!
      if (above.due <= waiter.due) break
      this.put(above, place)
      place = parent
    }
    this.put(waiter, place)
  }

  private sink(waiter: Waiter, from: number): void {
    let place = from
    while (true) {
      let child = 2 * place + 1
      if (child >= this.count) break
      if (child + 1 < this.count && this.heap[child + 1]!.due < this.heap[child]!.due) child += 1
      const below = this.heap[child]!
      if (below.due >= waiter.due) break
      this.put(below, place)
      place = child
    }
    this.put(waiter, place)
  }
}
