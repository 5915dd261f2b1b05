import { describe, expect, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { type Waiter, Waiters } from "../src/internal/waiters.js"

describe("waiters", () => {
  it("are served in the order of their time, whoever has left in between", () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ add: fc.integer({ min: 0, max: 20 }) }),
        fc.record({ remove: fc.nat(30) }),
        fc.constant("look" as const)
      ),
      { maxLength: 60 }
    )
    void fc.assert(
      fc.property(steps, (steps) => {
        const waiters = new Waiters()
        let waiting: Array<Waiter> = []
        for (const step of steps) {
          if (step === "look") {
            const dues = waiting.map(({ due }) => due)
            expect(waiters.first?.due).toBe(dues.length === 0 ? undefined : Math.min(...dues))
          } else if ("add" in step) {
            const waiter: Waiter = { due: step.add, place: -1, ring: () => {} }
            waiters.add(waiter)
            waiting.push(waiter)
          } else {
            const gone = waiting[step.remove]
            if (gone === undefined) continue
            waiters.remove(gone)
            waiters.remove(gone)
            expect(gone.place).toBe(-1)
            waiting = waiting.filter((waiter) => waiter !== gone)
          }
          expect(waiters.isEmpty).toBe(waiting.length === 0)
        }
        const served: Array<number> = []
        for (let next = waiters.first; next !== undefined; next = waiters.first) {
          served.push(next.due)
          waiters.remove(next)
        }
        expect(served).toStrictEqual(waiting.map(({ due }) => due).sort((a, b) => a - b))
      })
    )
  })

  it("keep their order when gaps are closed, because more have left than wait", () => {
    const dues = Array.from({ length: 200 }, (_, i) => (i * 77) % 200)
    for (const stay of [1, 2, 3, 10, 99]) {
      const waiters = new Waiters()
      const all = dues.map((due): Waiter => ({ due, place: -1, ring: () => {} }))
      for (const waiter of all) waiters.add(waiter)
      // those that are due first leave: what stays had its place far down
      const left = all.filter(({ due }) => due >= stay)
      for (const waiter of left.sort((a, b) => a.due - b.due)) waiters.remove(waiter)
      for (let due = 0; due < stay; due++) {
        expect(waiters.first!.due).toBe(due)
        waiters.remove(waiters.first!)
      }
      expect(waiters.isEmpty).toBe(true)
    }
  })
})
