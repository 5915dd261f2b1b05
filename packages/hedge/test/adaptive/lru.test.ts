import { describe, expect, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { Lru } from "../../src/internal/lru.js"

const most = 16

/** Of those that were used once and of those that were used again, the one that was used last comes last. */
class Model {
  once: ReadonlyArray<string> = []
  often: ReadonlyArray<string> = []

  delete(key: string): void {
    this.once = this.once.filter((other) => other !== key)
    this.often = this.often.filter((other) => other !== key)
  }

  use(key: string): void {
    const known = this.once.includes(key) || this.often.includes(key)
    this.delete(key)
    if (known) this.often = [...this.often, key]
    else {
      if (this.once.length + this.often.length >= most) {
        if (this.once.length >= most / 8) this.once = this.once.slice(1)
        else this.often = this.often.slice(1)
      }
      this.once = [...this.once, key]
    }
  }
}

describe("values that were used last are kept", () => {
  it("whatever is used and forgotten in between, and however often in a row", () => {
    const key = fc.integer({ min: 0, max: 24 }).map(String)
    const steps = fc.array(
      fc.oneof(
        { weight: 5, arbitrary: fc.record({ use: key, times: fc.integer({ min: 1, max: 3 }) }) },
        { weight: 1, arbitrary: fc.record({ forget: key }) }
      ),
      { maxLength: 100 }
    )
    void fc.assert(
      fc.property(steps, (steps) => {
        const lru = new Lru<string>(most)
        const model = new Model()
        for (const step of steps) {
          if ("forget" in step) {
            lru.delete(step.forget)
            model.delete(step.forget)
          } else {
            for (let time = 0; time < step.times; time++) {
              expect(lru.get(step.use, () => `of ${step.use}`)).toBe(`of ${step.use}`)
              model.use(step.use)
            }
          }
          expect(lru.keys).toStrictEqual([...model.once, ...model.often])
        }
      })
    )
  })
  for (const [once, gone] of [
    [1, "the oldest of those that were used again"],
    [2, "the oldest of those that were used once, which are an eighth"]
  ] as const) {
    it(`of ${most}, ${once} of them used once, there goes for another ${gone}`, () => {
      const lru = new Lru<string>(most)
      const use = (key: string) => lru.get(key, () => key)
      for (let i = 0; i < most - once; i++) for (const _ of "xx") use(`again ${i}`)
      for (let i = 0; i < once; i++) use(`once ${i}`)
      use("another")
      expect(lru.keys).toHaveLength(most)
      expect(lru.peek(once === 1 ? "again 0" : "once 0")).toBe(undefined)
    })
  }
})
