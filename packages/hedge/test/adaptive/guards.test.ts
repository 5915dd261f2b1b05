import { describe, expect, it } from "@effect/vitest"
import { Guards } from "../../src/internal/guards.js"
import { Windows, windowMillis } from "../../src/internal/windows.js"

/** What a suspension lasts at least. */
const least = windowMillis / 16

/** Guards of a primary whose median stays as it is. */
const guardsOf = () => new Guards(new Windows())

/** As many hedges that were sure to win, of which these won. */
const hedged = (guards: Guards, now: number, count: number, won: boolean): void => {
  for (let i = 0; i < count; i++) guards.onHedged(now, won, 1)
}

describe("hedges that win less often than a third of what is predicted", () => {
  for (const [name, won, lost, guard] of [
    ["are given 25 predicted wins to show it", 0, 24, undefined],
    ["suspend hedging then", 0, 25, "Efficacy"],
    ["suspend it though some of them win", 1, 24, "Efficacy"],
    ["are not those that win a third", 9, 18, undefined],
    ["suspend it with the next that loses", 9, 19, "Efficacy"],
    ["suspend it though a hundred before them won", 100, 25, "Efficacy"]
  ] as const) {
    it(name, () => {
      const guards = guardsOf()
      hedged(guards, 0, won, true)
      hedged(guards, 0, lost, false)
      expect(guards.at(0)).toBe(guard)
    })
  }
})

describe("a suspension for lack of effect", () => {
  /** Suspends hedging, and tells for how long. */
  const suspend = (guards: Guards, now: number): number => {
    hedged(guards, now, 25, false)
    let millis = 0
    while (guards.at(now + millis) === "Efficacy") millis += least / 2
    return millis
  }

  it("lasts twice as long each time, up to a window", () => {
    const guards = guardsOf()
    let now = 0
    const lengths = Array.from({ length: 6 }, () => {
      const length = suspend(guards, now)
      now += length + 1000
      return length / least
    })
    expect(lengths).toStrictEqual([1, 2, 4, 8, 16, 16])
  })

  it("is short again when the last one ended a window ago", () => {
    const guards = guardsOf()
    suspend(guards, 0)
    expect(suspend(guards, least + windowMillis)).toBe(least)
  })
})

it("a pushback without end suspends hedging for a window, from the moment that it comes", () => {
  const guards = guardsOf()
  guards.onPushback(1000, Infinity)
  expect(guards.at(1000)).toBe("Pushback")
  expect(guards.at(1000 + windowMillis - 1)).toBe("Pushback")
  expect(guards.at(1000 + windowMillis)).toBe(undefined)
})
