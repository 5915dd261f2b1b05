/** Keeps the values that were used last. A map keeps the order in which its keys were set. */
export class Lru<V> {
  private readonly values = new Map<string, V>()

  constructor(private readonly most: number) {}

  get size(): number {
    return this.values.size
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
