import { describe, expect, it } from "@effect/vitest"
import type { Spec } from "../../src/internal/adaptive.js"
import { Entry } from "../../src/internal/estimator.js"
import { Tuned } from "../../src/internal/tuned.js"
import { Windows } from "../../src/internal/windows.js"

const warmUp = 20

/** A schedule whose solution says of how many samples it is: so many milliseconds is its delay. */
const spec: Spec = {
  solve: ({ samples }) => ({ delays: [samples], sends: [1], load: 0 }),
  repeats: false,
  extraLoad: undefined,
  objective: 0.99,
  within: undefined,
  hedges: 1,
  warmUp,
  meanwhile: undefined,
  holdout: 0,
  estimator: undefined
}

/** A key that stands under no other, or under one. */
const keyUnder = (parent?: Tuned) => new Tuned(new Entry(parent?.entry, new Windows()), parent, spec, 1)

interface Answers {
  readonly at: number
  readonly millis?: number
  readonly finished?: boolean
}

const answered = (key: Tuned, count: number, { at, finished = true, millis = 10 }: Answers) => {
  for (let i = 0; i < count; i++) key.entry.record(at, millis, finished)
}

/** As many answers as show a change, over a second: one that is over sooner is none. */
const block = (key: Tuned, from: number, millis: number) => {
  answered(key, 63, { at: from, millis })
  answered(key, 1, { at: from + 1000, millis })
}

/** How many samples the solution is of that holds now, if there is one. */
const solvedOf = (key: Tuned, now: number) => key.current(now).solution?.delays[0]

describe("hedges per call", () => {
  type Calls = readonly [count: number, hedged: number, at: number]

  for (const [what, calls, share] of [
    ["are none before the first call", [], 0],
    ["are those of a window that runs", [[4, 1, 5]], 1 / 4],
    [
      "and of the one before it, which ended after 10,000 calls",
      [
        [10_000, 8000, 5],
        [10_000, 0, 5]
      ],
      2 / 5
    ],
    [
      "but of none before that",
      [
        [10_000, 8000, 5],
        [10_000, 0, 5],
        [10_000, 1000, 5]
      ],
      1 / 20
    ],
    [
      "and of the one before it, which ended after a minute",
      [
        [1, 1, 50_000],
        [1, 0, 109_999],
        [1, 0, 110_000],
        [1, 0, 169_999]
      ],
      1 / 4
    ],
    [
      "but of none that began two minutes ago",
      [
        [1, 1, 50_000],
        [1, 0, 110_000],
        [2, 1, 170_000]
      ],
      1 / 3
    ],
    [
      "by a clock that was set back, too",
      [
        [1, 1, 200_000],
        [1, 0, 140_001],
        [1, 0, 140_000],
        [2, 1, 80_000]
      ],
      1 / 3
    ]
  ] satisfies ReadonlyArray<readonly [string, ReadonlyArray<Calls>, number]>) {
    it(what, () => {
      const { load } = keyUnder()
      for (const [count, hedged, at] of calls) {
        for (let call = 0; call < count; call++) {
          load.onCall(at)
          if (call < hedged) load.onHedge()
        }
      }
      expect(load.perCall).toBe(share)
    })
  }
})

describe("a key that warms up", () => {
  it("has a solution as soon as it has the samples", () => {
    const key = keyUnder()
    answered(key, warmUp - 1, { at: 0 })
    expect(solvedOf(key, 0)).toBe(undefined)
    answered(key, 1, { at: 0 })
    expect(solvedOf(key, 0)).toBe(warmUp)
  })

  it("goes by the one that it stands under, until it has", () => {
    const parent = keyUnder()
    answered(parent, 300, { at: 0 })
    const key = keyUnder(parent)
    answered(key, warmUp - 1, { at: 0 })
    expect(key.current(0)).toBe(parent)
    answered(key, 1, { at: 0 })
    expect(key.current(0)).toBe(key)
  })

  for (const [cutOff, solved] of [
    [10, 20],
    [11, undefined]
  ] as const) {
    it(`has ${solved === undefined ? "none" : "one"} where ${cutOff} of 20 primaries were cut off after the last answer`, () => {
      const key = keyUnder()
      answered(key, 20 - cutOff, { at: 0 })
      answered(key, cutOff, { at: 0, millis: 50, finished: false })
      expect(solvedOf(key, 0)).toBe(solved)
    })
  }

  for (const [fresh, solved] of [
    [21, undefined],
    [22, 422]
  ] as const) {
    it(`is tried again when a twentieth is new: with ${fresh} more than 400 it has ${solved ?? "no"} samples to go by`, () => {
      const key = keyUnder()
      answered(key, 190, { at: 0 })
      answered(key, 210, { at: 0, millis: 50, finished: false })
      expect(solvedOf(key, 0)).toBe(undefined)
      // more than half of the primaries have been seen now
      answered(key, fresh, { at: 0 })
      expect(solvedOf(key, 0)).toBe(solved)
    })
  }
})

describe("a solution is worked out anew", () => {
  for (const [isAnew, known, fresh, after, why] of [
    [true, 20, 20, 0, "20 are new, and a tenth"],
    [false, 20, 19, 2000, "less than 20 are new"],
    [true, 180, 20, 0, "a tenth is new"],
    [false, 181, 20, 999, "less than a tenth is new, and no second has passed"],
    [true, 181, 20, 1000, "a second has passed"],
    [true, 181, 20, -1000, "the clock was set back by a second"],
    [true, 380, 20, 1000, "a second has passed, and a twentieth is new"],
    [false, 381, 20, 1000, "less than a twentieth is new"]
  ] as const) {
    it(`${isAnew ? "" : "not "}with ${fresh} samples more than ${known}, ${after} ms later: ${why}`, () => {
      const key = keyUnder()
      const [then, now] = [5000, 5000 + after]
      answered(key, known, { at: then })
      expect(solvedOf(key, then)).toBe(known)
      answered(key, fresh, { at: then })
      expect(solvedOf(key, now)).toBe(isAnew ? known + fresh : known)
    })
  }

  it("at once when all samples are others: after a change to faster answers a key warms up", () => {
    const key = keyUnder()
    answered(key, 200, { at: 0, millis: 100 })
    answered(key, 60, { at: 0 })
    expect(solvedOf(key, 0)).toBe(260)
    // with these they are as many as show a change
    answered(key, 4, { at: 1000 })
    expect(key.entry.windows.samples).toBe(0)
    expect(solvedOf(key, 1000)).toBe(undefined)
    answered(key, warmUp, { at: 1000 })
    expect(solvedOf(key, 1000)).toBe(warmUp)
  })

  it("not while the median has grown: what was known holds when it is back", () => {
    const key = keyUnder()
    answered(key, 200, { at: 0 })
    expect(solvedOf(key, 0)).toBe(200)
    block(key, 0, 100)
    expect(key.guards.at(1000)).toBe("MedianGrowth")
    expect(solvedOf(key, 1000)).toBe(200)
    block(key, 1000, 100)
    expect(key.entry.windows.samples).toBeGreaterThan(warmUp)
    expect(solvedOf(key, 2000)).toBe(200)
    block(key, 2000, 10)
    answered(key, 50, { at: 3000 })
    // it lasts a sixteenth of a window at least
    expect(key.guards.at(4750)).toBe(undefined)
    expect(solvedOf(key, 4750)).toBe(250)
  })
})
