/** The share of keys that were used but once, before others go for them. */
const leastNew = 1 / 8

/**
 * Keeps the values that were used last. Of those that were used but once the oldest goes first, so that keys which never come again do not push out those
 * that do.
 *
 * @see https://doi.org/10.1109/2.268884 "Caching Strategies to Improve Disk System Performance" (segmented LRU)
 */
export class Lru<V> {
  // a map keeps the order in which its keys were set
  private readonly once = new Map<string, V>()
  private readonly often = new Map<string, V>()
  /** The key that was used last, if that was not its first use: it stands where it belongs already. */
  private latest: string | undefined = undefined

  constructor(private readonly most: number) {}

  /** Those that were used once, then the others; of each the one that was used last comes last. */
  get keys(): ReadonlyArray<string> {
    return [...this.once.keys(), ...this.often.keys()]
  }

  /** The value of a key, if it is kept. That is no use of it. */
  peek(key: string): V | undefined {
    return this.often.get(key) ?? this.once.get(key)
  }

  delete(key: string): void {
    this.latest = undefined
    this.often.delete(key)
    this.once.delete(key)
  }

  /** The value of a key, made if it is not kept. */
  get(key: string, make: () => V): V {
    const { often, once } = this
    const known = this.peek(key)
    if (known !== undefined) {
      if (key === this.latest) return known
      this.delete(key)
      often.set(key, known)
      this.latest = key
      return known
    }
    this.latest = undefined
    if (once.size + often.size >= this.most) {
      const from = once.size >= this.most * leastNew ? once : often
      from.delete(from.keys().next().value!)
    }
    const value = make()
    once.set(key, value)
    return value
  }
}
