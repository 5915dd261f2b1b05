/** Keeps the values that were used last. A map keeps the order in which its keys were set. */
export class Lru<V> {
  private readonly values = new Map<string, V>()

  constructor(private readonly most: number) {}

  get size(): number {
    return this.values.size
  }

  /** From the one that was not used for longest to the one that was used last. */
  get keys(): ReadonlyArray<string> {
    return [...this.values.keys()]
  }

  /** The value of a key, if it is kept. That is no use of it. */
  peek(key: string): V | undefined {
    return this.values.get(key)
  }

  delete(key: string): void {
    this.values.delete(key)
  }

  /** The value of a key, made if it is not kept. */
  get(key: string, make: () => V): V {
    const { values } = this
    const known = values.get(key)
    const value = known ?? make()
    if (known !== undefined) values.delete(key)
    else if (values.size >= this.most) values.delete(values.keys().next().value!)
    values.set(key, value)
    return value
  }
}
