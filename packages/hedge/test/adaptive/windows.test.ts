import { describe, expect, it } from "@effect/vitest"
import { edges } from "../../src/internal/histogram.js"
import { Survival } from "../../src/internal/survival.js"
import { Windows } from "../../src/internal/windows.js"

/** So many of so many milliseconds, which finished unless it is said otherwise. */
type Group = readonly [count: number, millis: number, finished?: boolean]

const record = (windows: Windows, now: number, ...groups: ReadonlyArray<Group>): Windows => {
  for (const [count, millis, finished = true] of groups)
    for (let i = 0; i < count; i++) windows.record(now, millis, finished)
  return windows
}

const windowsOf = (...groups: ReadonlyArray<Group>): Windows => record(new Windows(), 0, ...groups)

/** Each a window of its own, which the first sample of the next one ends. */
const oneAfterAnother = (...all: ReadonlyArray<ReadonlyArray<Group>>): Windows => {
  const windows = new Windows()
  for (const [i, groups] of all.entries()) record(windows, 60_000 * i, ...groups)
  return windows
}

const told = ({ changes, samples }: Windows) => ({ changes, samples })

/** 10 ms lie in a bucket that is a sixteenth wide, and half of many of them in the first half of it: to the last digit, where that matters. */
const median = windowsOf([200, 10]).read(new Survival()).quantile(0.5)

it("of many that take 10 ms the median is the middle of their bucket", () =>
  expect(median).toBeCloseTo(10 + 1 / 32, 9))

describe("a window", () => {
  it("ends after 10,000 samples: of 20,001 the first 10,000 are forgotten", () => {
    const windows = windowsOf([20_000, 10])
    expect(windows.samples).toBe(20_000)
    expect(record(windows, 0, [1, 10]).samples).toBe(10_001)
    expect(record(windows, 0, [9_999, 10]).samples).toBe(20_000)
    expect(record(windows, 0, [1, 10]).samples).toBe(10_001)
    expect(windows.recorded).toBe(30_001)
  })

  // a time of any day
  const noon = 1.8e12
  for (const [name, least, held, times, samples] of [
    ["ends after 60 seconds", undefined, 200, [60_000], 201],
    ["goes on until then", undefined, 200, [59_999], 401],
    ["of few samples goes on", undefined, 199, [60_000], 400],
    ["goes on until it holds as many as somebody needs", 300, 299, [60_000], 600],
    ["ends as soon as it does", 300, 299, [60_000, 60_000], 301],
    ["begins when its first sample comes", undefined, 200, [60_000, 119_999], 202],
    ["that begins anew ends 60 seconds later", undefined, 1, [60_000, 120_000], 203]
  ] as const) {
    it(name, () => {
      const windows = least === undefined ? new Windows() : new Windows({ samples: least })
      // one that has ended before, so that it is seen when the next one does
      const before = least ?? 200
      record(windows, noon - 60_000, [before, 10])
      record(windows, noon, [held, 10])
      expect(windows.samples).toBe(before + held)
      for (const time of times) record(windows, noon + time, [1, 10])
      expect(windows.samples).toBe(samples)
    })
  }

  it("that needs more than it did goes on", () => {
    const least = { samples: 5 }
    const windows = record(new Windows(least), 0, [5, 10])
    record(windows, 60_000, [5, 10])
    least.samples = 6
    expect(record(windows, 120_000, [1, 10]).samples).toBe(11)
    expect(record(windows, 120_000, [1, 10]).samples).toBe(7)
  })

  it("begins anew where the clock was set back", () => {
    const windows = record(new Windows(), 100_000, [200, 10])
    record(windows, 160_000, [200, 10])
    record(windows, 50_000, [1, 10])
    expect(record(windows, 109_999, [1, 10]).samples).toBe(402)
    expect(record(windows, 110_000, [1, 10]).samples).toBe(203)
  })

  it("does not end in the moment in which the clock is set back", () => {
    const windows = record(new Windows(), 100, [10_000, 10])
    record(windows, 99, [10_001, 10])
    // 10,001 in the first
    expect(windows.samples).toBe(20_001)
    expect(record(windows, 99, [1, 10]).samples).toBe(10_001)
  })

  it("is read with the one before it", () => {
    const windows = oneAfterAnother([[200, 10]], [[300, 20]], [[100, 30, false]])
    const survival = windows.read(new Survival())
    expect(survival).toMatchObject({ samples: 400, finished: 300 })
    expect([15, 25].map((millis) => survival.of(millis))).toStrictEqual([1, expect.closeTo(0.25, 12)])
    expect(survival.unseen).toBeCloseTo(0.25, 12)
  })
})

describe("a shift of more than half of the samples to more than twice, or less than half, of what is usual", () => {
  for (const [name, groups, changes] of [
    ["501 of 1,000 that are slower", [501, 499, 30], 1],
    ["500 of 1,000 that are slower", [500, 500, 30], 0],
    ["501 of 1,000 that are faster", [501, 499, 4], 1],
    ["500 of 1,000 that are faster", [500, 500, 4], 0],
    ["999 that are slower", [999, 0, 30], 0],
    ["exactly twice the median", [1000, 0, 2 * median], 0],
    ["a little more than twice", [1000, 0, 2 * median + 1e-6], 1],
    ["exactly half of the median", [1000, 0, median / 2], 0],
    ["a little less than half", [1000, 0, median / 2 - 1e-6], 1]
  ] as const) {
    it(`is ${changes === 1 ? "" : "not "}told by ${name}`, () => {
      const [shifted, usual, millis] = groups
      const windows = record(windowsOf([200, 10]), 0, [shifted, millis], [usual, 10])
      expect(told(windows)).toStrictEqual({ changes, samples: changes === 1 ? 0 : 200 + shifted + usual })
    })
  }

  it("is told by those that were cut off when they were late already, and not by those that were early", () => {
    expect(record(windowsOf([200, 10]), 0, [1000, 30, false]).changes).toBe(1)
    expect(record(windowsOf([200, 10]), 0, [1000, 4, false]).changes).toBe(0)
  })

  it("is told of one block at a time", () => {
    const windows = windowsOf([200, 10])
    for (let i = 0; i < 3; i++) record(windows, 0, [500, 30], [500, 10], [500, 4], [500, 10])
    expect(windows.changes).toBe(0)
    record(windows, 0, [250, 30], [250, 4], [500, 10])
    expect(told(windows)).toStrictEqual({ changes: 0, samples: 7200 })
  })

  it("is not known of before 200 samples", () => {
    expect(record(windowsOf([199, 10]), 0, [1, 10], [999, 30]).changes).toBe(0)
    expect(record(windowsOf([199, 10]), 0, [1, 10], [1000, 30]).changes).toBe(1)
  })

  for (const [counts, times, changes] of [
    [[63, 1], [0, 1000], 1],
    [[63, 1], [0, 999], 0],
    [[63, 1, 1], [0, 999, 1000], 1],
    [[62, 1], [0, 1000], 0],
    [[62, 1, 1], [0, 1000, 1000], 1],
    // over before a second is
    [[999], [0], 0],
    [[999, 1], [0, 0], 1]
  ] as const) {
    it(`is ${changes === 1 ? "" : "not "}told by ${counts.join(" and ")} samples at ${times.join(" and ")} ms`, () => {
      const windows = record(new Windows(), 5000, [200, 10])
      for (const [i, count] of counts.entries()) record(windows, 5000 + times[i]!, [count, 30])
      expect(windows.changes).toBe(changes)
    })
  }

  it("takes a second of each block", () => {
    const windows = windowsOf([200, 10])
    record(windows, 0, [63, 10])
    record(windows, 1000, [1, 10])
    record(windows, 1500, [64, 30])
    expect(windows.changes).toBe(0)
    record(windows, 2499, [1, 30])
    expect(windows.changes).toBe(0)
    record(windows, 2500, [1, 30])
    expect(windows.changes).toBe(1)
  })
})

describe("where some of 200 are slow, or fast, by nature", () => {
  /** The least block of which half is five standard errors above a share that may be two standard errors of 200 samples larger than it looks. */
  const blockOf = (share: number): number => {
    const most = share + 2 * Math.sqrt(0.25 / 200)
    let count = 64
    while (0.5 - most < 5 * Math.sqrt((most * (1 - most)) / count)) count += 1
    return count
  }

  for (const [kind, millis] of [
    ["slow", 30],
    ["fast", 4]
  ] as const) {
    for (const natural of [0, 10, 36, 40, 60, 80]) {
      it(`${natural} that are ${kind} ask for a block of ${blockOf(natural / 200)}`, () => {
        const block = blockOf(natural / 200)
        const windows = windowsOf([200 - natural, 10], [natural, millis])
        record(windows, 0, [block - 2, millis])
        record(windows, 1000, [1, millis])
        expect(windows.changes).toBe(0)
        record(windows, 1000, [1, millis])
        expect(told(windows)).toStrictEqual({ changes: 1, samples: 0 })
      })
    }

    for (const natural of [81, 90, 99]) {
      it(`of ${natural} that are ${kind} no block would tell, but of the opposite 64 do`, () => {
        const make = () => windowsOf([200 - natural, 10], [natural, millis])
        expect(record(make(), 0, [9700, millis]).changes).toBe(0)
        const opposite = record(make(), 0, [63, 34 - millis])
        expect(record(opposite, 1000, [1, 34 - millis]).changes).toBe(1)
      })
    }
  }

  it("half that are slow are no measure, either", () => {
    const windows = record(windowsOf([100, 10], [100, 30]), 0, [4000, 30])
    expect(windows.changes).toBe(0)
    expect(record(windows, 0, [1000, 4]).changes).toBe(1)
  })

  it("times whose half lies in the first bucket cannot become faster", () => {
    // half of the middle of bucket 128 is less than the end of bucket 0, that of bucket 129 is more
    for (const [bucket, changes] of [
      [0, 0],
      [128, 0],
      [129, 1]
    ] as const) {
      const millis = (edges[bucket]! + edges[bucket + 1]!) / 2
      expect(record(windowsOf([200, millis]), 0, [1000, 0]).changes).toBe(changes)
      expect(record(windowsOf([200, millis]), 0, [1000, 1]).changes).toBe(1)
    }
  })
})

describe("what is usual", () => {
  /** How often so many milliseconds are told from what is usual now. */
  const changesAt = (windows: Windows, now: number, millis: number) => {
    const { changes } = windows
    return record(windows, now, [1000, millis]).changes - changes
  }
  /** The middle of the bucket in which some milliseconds lie that begin one between 8 and 16. */
  const middle = (millis: number) => millis + 1 / 32

  for (const [name, values, usual] of [
    ["of one window is its median", [10], middle(10)],
    ["of two is between their medians", [10, 14], (middle(10) + middle(14)) / 2],
    ["of three is the one in the middle", [14, 10, 12], middle(12)],
    ["of four is between those in the middle", [15, 10, 11, 13], middle(12)],
    ["of six that come in any order, too", [13, 9, 15, 8, 14, 11], middle(12)],
    ["of nine is the fifth", [10, 10, 10, 10, 10, 14, 14, 14, 14], middle(10)],
    ["is that of the last ten", [...Array(6).fill(10), ...Array(5).fill(14)], middle(12)],
    ["of eleven is not that of the first", [8, ...Array(5).fill(10), ...Array(5).fill(14)], middle(12)]
  ] as const) {
    it(name, () => {
      const make = () => {
        const windows = oneAfterAnother(...values.map((millis): ReadonlyArray<Group> => [[200, millis]]))
        return record(windows, 60_000 * values.length, [1, 12])
      }
      const now = 60_000 * values.length
      expect(make().changes).toBe(0)
      // one more is in the block
      expect(changesAt(make(), now, 2 * usual - 1e-6)).toBe(0)
      expect(changesAt(make(), now, 2 * usual + 1e-6)).toBe(1)
    })
  }

  for (const [held, changes] of [
    [399, 1],
    [400, 0]
  ] as const) {
    it(`is read again from a first window that has grown to 400: ${held}`, () => {
      const windows = windowsOf([101, 10], [99, 15], [held - 201, 15])
      record(windows, 1000, [1, 15])
      // 25 ms are more than twice of 10, and less than twice of 15
      expect(changesAt(windows, 1000, 25)).toBe(held === 399 ? 1 : 0)
      expect(windows.changes).toBe(changes)
    })
  }
})

describe("a change", () => {
  const before = [
    [180, 10],
    [20, 12, false]
  ] as const
  const slow = (now = 0) => record(windowsOf(...before), now, [1000, 30])
  const fast = () => record(windowsOf(...before), 0, [1000, 4])

  /** S where it changes. */
  const stepsOf = (windows: Windows) =>
    Array.from(windows.read(new Survival()).at, (left, i) => [i, left] as const).filter(
      ([i, left], _, all) => left !== all[i - 1]?.[1]
    )

  it("sets all aside that was known before, and the block that shows it", () => {
    const windows = slow()
    expect(told(windows)).toStrictEqual({ changes: 1, samples: 0 })
    expect(windows.recorded).toBe(1200)
    expect(record(windows, 0, [10, 30]).samples).toBe(10)
    expect(windows.read(new Survival()).of(20)).toBe(1)
  })

  for (const [name, make, block] of [
    ["usual again", slow, [1000, 10]],
    ["the opposite", slow, [1000, 4]],
    ["usual after it was fast", fast, [1000, 10]],
    ["slow after it was fast", fast, [1000, 30]]
  ] as const) {
    it(`that is over is forgotten: ${name}`, () => {
      const windows = make()
      record(windows, 0, block)
      expect(told(windows)).toStrictEqual({ changes: 2, samples: 200 })
      expect(stepsOf(windows)).toStrictEqual(stepsOf(windowsOf(...before)))
      expect(windows.isGrown(0)).toBe(false)
      // and the same yardstick is held to what comes
      expect(record(windows, 0, [1000, 30])).toMatchObject({ changes: 3, samples: 0 })
    })
  }

  it("that a block of more than 1,000 shows is taken back whole", () => {
    // 80 of 200 that are slow ask for one of more than 7,000
    const windows = windowsOf([120, 10], [80, 30])
    const known = stepsOf(windows)
    while (windows.changes === 0) windows.record(0, 30, true)
    expect(windows.recorded).toBeGreaterThan(7200)
    for (let i = windows.recorded - 200; i > 0; i--) windows.record(0, 10, true)
    expect(told(windows)).toStrictEqual({ changes: 2, samples: 200 })
    expect(stepsOf(windows)).toStrictEqual(known)
  })

  it("that goes on is one change", () => {
    expect(told(record(slow(), 0, [3000, 30]))).toStrictEqual({ changes: 1, samples: 3000 })
    expect(told(record(fast(), 0, [3000, 4]))).toStrictEqual({ changes: 1, samples: 3000 })
  })

  it("has grown the median if it is to slower times", () => {
    expect(windowsOf(...before).isGrown(0)).toBe(false)
    expect(slow().isGrown(0)).toBe(true)
    expect(fast().isGrown(0)).toBe(false)
  })

  for (const [name, times, grown] of [
    ["for not quite a minute", [64_999], true],
    ["for a minute", [65_000], false],
    ["for a minute that was asked about before", [35_000, 65_000], false],
    ["for a minute after the clock was set back", [-55_000, 5_000], false],
    ["for not quite a minute after that", [-55_000, 4_999], true]
  ] as const) {
    it(`that lasts ${name} is ${grown ? "not yet " : ""}what is usual`, () => {
      const windows = slow(5000)
      record(windows, 5000, [1000, 30])
      expect(times.map((now) => windows.isGrown(now)).at(-1)).toBe(grown)
      record(windows, 5000, [1001, 10])
      // either what was known is true again, or this is another change
      expect(told(windows)).toStrictEqual({ changes: 2, samples: grown ? 201 : 0 })
      if (!grown) expect(windows.isGrown(5000)).toBe(false)
    })
  }

  it("that has lasted for a window is what is usual, though nobody asked", () => {
    const windows = record(slow(), 0, [200, 30])
    record(windows, 60_000, [1000, 30], [1, 10])
    expect(windows.isGrown(60_000)).toBe(false)
    expect(told(windows)).toStrictEqual({ changes: 1, samples: 1201 })
    // held against 30 ms, 50 are usual, and 10 are not
    record(windows, 60_000, [999, 50])
    expect(windows.changes).toBe(1)
    expect(record(windows, 60_000, [1000, 10])).toMatchObject({ changes: 2, samples: 0 })
  })

  it("is held against the window before, as long as that is known", () => {
    const windows = record(oneAfterAnother([[200, 10]]), 60_000, [600, 10], [400, 30])
    expect(windows.changes).toBe(0)
    record(windows, 60_000, [63, 30])
    expect(record(windows, 61_000, [1, 30]).changes).toBe(1)
  })
})

describe("what lies beyond a time at which hedges are sent", () => {
  const beyond = (windows: Windows, millis: number) => windows.readBeyond(millis, new Survival())

  it("is what both windows say, as long as none has ended", () => {
    const windows = windowsOf([190, 10], [10, 100])
    expect(beyond(windows, 50)).toStrictEqual(windows.read(new Survival()))
  })

  // Of the last window and the sample of the one that runs 20 of 201 take longer than 50 ms: 0.0995, give or take 2 √(0.0995 · 0.9005 / 201) = 0.0422.
  // Of all that is remembered (20 + 0.95 n) of 391 do: within that from 2.5 to 37.3.
  for (const [slow, isChance] of [
    [2, false],
    [3, true],
    [37, true],
    [38, false]
  ] as const) {
    const windows = oneAfterAnother(
      [
        [200 - slow, 10],
        [slow, 200]
      ],
      [
        [180, 10],
        [20, 100]
      ],
      [[1, 10]]
    )
    const longer = (0.95 * slow) / (0.95 * slow + 20)

    it(`${slow} of 200 in a window long ago: ${isChance ? "all count" : "those say how much longer, but not how many"}`, () => {
      const survival = beyond(windows, 50)
      const open = isChance ? (20 + 0.95 * slow) / 391 : 20 / 201
      expect(survival.samples).toBeCloseTo(isChance ? 391 : 201, 9)
      expect(survival.of(50)).toBeCloseTo(open, 6)
      expect(survival.of(150)).toBeCloseTo(open * longer, 6)
      expect(survival.of(250)).toBe(0)
    })
  }

  it("is remembered the less, the longer ago it was", () => {
    const windows = oneAfterAnother([[200, 10]], [[200, 11]], [[200, 12]], [[200, 13]])
    const total = 200 * (1 + 1 + 0.95 + 0.95 ** 2)
    const survival = beyond(windows, 5)
    expect(survival.samples).toBeCloseTo(total, 3)
    expect([10.5, 11.5, 12.5].map((millis) => survival.of(millis))).toStrictEqual(
      [200 * 2.95, 200 * 2, 200].map((open) => expect.closeTo(open / total, 6))
    )
  })
})
