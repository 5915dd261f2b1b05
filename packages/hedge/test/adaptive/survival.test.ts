import { describe, expect, it } from "@effect/vitest"
import { bucketCount, edges, Histogram } from "../../src/internal/histogram.js"
import { Survival } from "../../src/internal/survival.js"

/** A bucket, and whether what took so long finished. */
type Sample = readonly [bucket: number, finished: boolean]

const ends = (...buckets: ReadonlyArray<number>): Array<Sample> => buckets.map((bucket) => [bucket, true])
const cuts = (...buckets: ReadonlyArray<number>): Array<Sample> => buckets.map((bucket) => [bucket, false])

const numberOf = ([bucket, finished]: Sample) => 2 * bucket + (finished ? 1 : 0)

const histogramOf = (samples: ReadonlyArray<Sample>): Histogram => {
  const histogram = new Histogram()
  for (const sample of samples) histogram.add(numberOf(sample))
  return histogram
}

const survivalOf = (...windows: readonly [ReadonlyArray<Sample>, ReadonlyArray<Sample>?]): Survival => {
  const [one, two] = windows
  return new Survival().fill(histogramOf(one), two && histogramOf(two))
}

/** Kaplan and Meier's product over the times at which something ended, of a list. */
const atStart = (samples: ReadonlyArray<Sample>, bucket: number): number => {
  let left = 1
  for (const end of new Set(samples.filter(([at, finished]) => finished && at < bucket).map(([at]) => at))) {
    const ended = samples.filter(([at, finished]) => finished && at === end).length
    const open = samples.filter(([at]) => at >= end).length
    left *= 1 - ended / open
  }
  return left
}

/** All that it holds: of S where it changes. */
const toldBy = ({ at, finished, first, last, samples, unseen }: Survival) => ({
  ...{ finished, first, last, samples, unseen },
  at: Array.from(at, (left, i) => [i, left] as const).filter(([i, left]) => left !== at[i - 1])
})

const middleOf = (bucket: number) => (edges[bucket]! + edges[bucket + 1]!) / 2

const rest = bucketCount - 1

const cases: Record<string, readonly [ReadonlyArray<Sample>, ReadonlyArray<Sample>?]> = {
  "one that finished": [ends(900)],
  "one that was cut off": [cuts(900)],
  "some that finished": [ends(900, 901, 901, 905, 950)],
  "a few cut off between": [[...ends(900, 901, 905, 905, 950), ...cuts(899, 901, 903, 930)]],
  "the slowest cut off": [[...ends(900, 905), ...cuts(905, 950, 950)]],
  "one of each at the same time": [[...ends(900), ...cuts(900)]],
  "at both ends of all times": [[...ends(0, 0, rest), ...cuts(0, rest)]],
  "two windows, one after the other": [ends(900, 901), [...ends(910, 911, 912), ...cuts(912)]],
  "two windows, one before the other": [[...ends(910, 911, 912), ...cuts(912)], ends(900, 901)],
  "a window within the other": [ends(905, 906), [...ends(900, 905, 912), ...cuts(906)]],
  "a window around the other": [[...ends(900, 905, 912), ...cuts(906)], ends(905, 906)],
  "two that overlap": [ends(900, 905, 905), [...ends(903, 905), ...cuts(910)]],
  "two of which one is empty": [[...ends(900, 905), ...cuts(902)], []],
  "two of which the other is empty": [[], [...ends(900, 905), ...cuts(902)]]
}

describe("what is left at a time", () => {
  for (const [name, windows] of Object.entries(cases)) {
    it(`of ${name} is the product of what was left each time`, () => {
      const all = [...windows[0], ...(windows[1] ?? [])]
      const buckets = all.map(([bucket]) => bucket)
      const [first, last] = [Math.min(...buckets), Math.max(...buckets)]
      const survival = survivalOf(...windows)
      expect(survival).toMatchObject({
        samples: all.length,
        finished: all.filter(([, finished]) => finished).length,
        first,
        last
      })
      const errors = Array.from(survival.at, (left, i) => Math.abs(left - (i > last ? 0 : atStart(all, i))))
      expect(Math.max(...errors)).toBeLessThan(1e-12)
      expect(survival.unseen).toBeCloseTo(atStart(all, last + 1), 12)
    })
  }

  it("is worked out by hand of ten: 10 %, 2 of 9 cut off, then 3 of the 7 that are left", () => {
    const survival = survivalOf([...ends(900, 910, 910, 910), ...cuts(905, 905, 920, 920, 920, 920)])
    expect([900, 901, 905, 910, 911, 920, 921].map((i) => survival.at[i])).toStrictEqual(
      [1, 0.9, 0.9, 0.9, 0.9 * (4 / 7), 0.9 * (4 / 7), 0].map((left) => expect.closeTo(left, 12))
    )
    expect(survival.unseen).toBeCloseTo(3.6 / 7, 12)
  })

  it("does not depend on what the object held before", () => {
    const survival = new Survival()
    const all = Object.values(cases)
    for (const windows of [...all, ...all.toReversed()]) {
      const [one, two] = windows
      survival.fill(histogramOf(one), two && histogramOf(two))
      expect(toldBy(survival)).toStrictEqual(toldBy(survivalOf(...windows)))
    }
  })

  for (const [name, samples, others] of [
    ["finished", ends(900, 905), undefined],
    ["was cut off", [...ends(900, 905), ...cuts(907)], undefined],
    ["lies in the other window", [], [...ends(900, 905), ...cuts(907)]]
  ] as const) {
    it(`of what was taken back is as if it had not been, where the slowest that stays ${name}`, () => {
      const histogram = histogramOf([...samples, ...ends(920, 930)])
      for (const sample of ends(930, 920)) histogram.remove(numberOf(sample))
      const survival = new Survival().fill(histogram, others && histogramOf(others))
      expect(toldBy(survival)).toStrictEqual(toldBy(survivalOf(samples, others)))
    })
  }

  it("is not told by a window of which all was taken back", () => {
    const empty = histogramOf(ends(910))
    empty.remove(numberOf([910, true]))
    const samples = cuts(900)
    const survival = new Survival().fill(histogramOf(samples), empty)
    expect(toldBy(survival)).toStrictEqual(toldBy(survivalOf(samples)))
  })

  it("of nothing is nothing, also in an object that held something", () => {
    const fresh = new Survival()
    const at = [
      [0, 1],
      [1, 0]
    ]
    expect(toldBy(fresh)).toStrictEqual({ finished: 0, first: 0, last: -1, samples: 0, unseen: 0, at })
    expect([-1, 0, 1e-3, 1].map((t) => fresh.of(t))).toStrictEqual([1, 1, 0, 0])
    expect(fresh.quantile(0.5)).toBeNaN()
    const empty = new Histogram()
    for (const filled of [[...ends(0, 900), ...cuts(rest)], ends(900)])
      for (const other of [undefined, empty])
        expect(toldBy(survivalOf(filled).fill(empty, other))).toStrictEqual(toldBy(fresh))
  })
})

describe("of two finished, in buckets 900 and 910", () => {
  const survival = survivalOf(ends(900, 910))
  const [a, b, c, d] = [edges[900]!, edges[901]!, edges[910]!, edges[911]!]

  for (const [where, millis, left] of [
    ["before all times", -1, 1],
    ["at 0", 0, 1],
    ["before the first", a / 2, 1],
    ["where the first bucket begins", a, 1],
    ["a quarter into it", a + (b - a) / 4, 0.875],
    ["in its middle", (a + b) / 2, 0.75],
    ["where it ends", b, 0.5],
    ["between the two", edges[905]!, 0.5],
    ["where the last begins", c, 0.5],
    ["three quarters into it", c + 0.75 * (d - c), 0.125],
    ["where it ends", d, 0],
    ["beyond", 2 * d, 0],
    ["at the end of all times", Infinity, 0]
  ] as const) {
    it(`${left} are left ${where} (${millis} ms)`, () => expect(survival.of(millis)).toBeCloseTo(left, 9))
  }

  for (const [p, millis] of [
    [0, a],
    [0.125, a + (b - a) / 4],
    [0.25, (a + b) / 2],
    [0.5, b],
    [0.5001, c + 0.0002 * (d - c)],
    [0.75, (c + d) / 2],
    [1, d]
  ] as const) {
    it(`a share of ${p} has been answered by ${millis} ms`, () =>
      expect(survival.quantile(p)).toBeCloseTo(millis, 9))
  }

  it("a copy that is sent later takes until later", () => {
    expect(survival.ofCopy(a, 1)).toBe(1)
    expect(survival.ofCopy(b + 7, 7)).toBeCloseTo(0.5, 9)
    expect(survival.ofCopy((a + b) / 2 + 7, 7)).toBeCloseTo(0.75, 9)
    expect(survival.ofCopy(7, 8)).toBe(1)
  })
})

describe("a quantile", () => {
  it("where it lies exactly between two samples is the end of the lesser, whatever rounding does", () => {
    for (const count of [3, 7, 10, 49, 100]) {
      const buckets = Array.from({ length: count }, (_, i) => 900 + 3 * i)
      const survival = survivalOf(ends(...buckets))
      for (let i = 1; i < count; i++)
        expect(survival.quantile(i / count), `${i} of ${count}`).toBeCloseTo(edges[buckets[i - 1]! + 1]!, 6)
    }
  })

  it("of 0 is the start of the first bucket, and not before it", () => {
    for (const samples of [ends(900, 910), cuts(900, 910), [...cuts(900), ...ends(910)], ends(0)])
      expect(survivalOf(samples).quantile(0)).toBe(edges[samples[0]![0]])
  })

  it("of next to 0 is so, too, though nothing finished there", () => {
    expect(survivalOf([...cuts(900), ...ends(910)]).quantile(1e-12)).toBe(edges[900])
  })

  it("beyond what was seen is the end of what was", () => {
    const survival = survivalOf([...ends(900), ...cuts(910)])
    // there S falls from a half to 0
    expect(survival.quantile(0.75)).toBeCloseTo(middleOf(910), 9)
    expect(survival.quantile(0.5)).toBeCloseTo(edges[901]!, 9)
  })

  it("and S undo one another", () => {
    const survival = survivalOf([...ends(900, 901, 901, 905, 950, 950, 950), ...cuts(903, 930)])
    for (let p = 0.01; p < 1; p += 0.01) expect(survival.of(survival.quantile(p))).toBeCloseTo(1 - p, 9)
  })
})

describe("what lies beyond a time, from another", () => {
  // left at the start of 905: 0.75 here, and a half there
  const latest = () => survivalOf([...ends(900, 905), ...cuts(905, 906)])
  const remembered = () => survivalOf([...ends(902, 903), ...ends(908), ...cuts(912)])

  it("is scaled to what is left there", () => {
    const survival = latest().extend(middleOf(904), remembered())
    // a quarter of what is remembered ends at 908, and a quarter is unseen
    expect([900, 901, 904, 905, 906, 908, 909, 912, 913].map((i) => survival.at[i])).toStrictEqual(
      [1, 0.75, 0.75, 0.75, 0.75, 0.75, 0.375, 0.375, 0].map((left) => expect.closeTo(left, 12))
    )
    expect(survival.last).toBe(912)
    expect(survival.unseen).toBeCloseTo(0.375, 12)
    expect(survival.first).toBe(900)
  })

  it("leaves how it came to what is left", () => {
    // there nothing had finished by 903, here half has by 902
    const survival = survivalOf(ends(901, 902, 906, 907)).extend(edges[902]!, survivalOf(ends(903, 910)))
    expect([901, 902, 903, 904, 910, 911].map((i) => survival.at[i])).toStrictEqual(
      [1, 0.75, 0.5, 0.25, 0.25, 0].map((left) => expect.closeTo(left, 12))
    )
  })

  it("ends where the other does, if that is sooner", () => {
    const survival = survivalOf(ends(900, 905, 920)).extend(middleOf(901), survivalOf(ends(900, 903)))
    expect(survival.last).toBe(903)
    expect([901, 902, 903, 904, 905, 920].map((i) => survival.at[i])).toStrictEqual(
      [2 / 3, 2 / 3, 2 / 3, 0, 0, 0].map((left) => expect.closeTo(left, 12))
    )
    expect(survival.unseen).toBe(0)
  })

  it("counts where the next bucket is the last of both", () => {
    const survival = survivalOf(ends(900, 905)).extend(
      middleOf(904),
      survivalOf([...ends(901), ...cuts(905)])
    )
    expect(survival.at[905]).toBeCloseTo(0.5, 12)
    expect(survival.unseen).toBeCloseTo(0.5, 12)
  })

  for (const [name, millis, other] of [
    ["all was seen to end by then", middleOf(906), remembered()],
    ["all was seen to end long before then", middleOf(910), remembered()],
    ["the other ends by then", middleOf(904), survivalOf(ends(904))],
    ["the other ended long before", middleOf(904), survivalOf(ends(895))],
    ["the other knows nothing", middleOf(904), new Survival()],
    ["it is the end of all times", Infinity, remembered()]
  ] as const) {
    it(`is none where ${name}`, () => {
      expect(toldBy(latest().extend(millis, other))).toStrictEqual(toldBy(latest()))
    })
  }
})

describe("what somebody else knows", () => {
  it("of one time is the bucket that begins there", () => {
    const survival = new Survival().sample((millis) => (millis < edges[900]! ? 1 : 0), 5)
    expect(toldBy(survival)).toStrictEqual({
      ...{ finished: 5, first: 900, last: 900, samples: 5, unseen: 0 },
      at: [
        [0, 1],
        [901, 0]
      ]
    })
  })

  it("is asked for at the end of each bucket", () => {
    const survival = survivalOf(ends(7)).sample((millis) => Math.max(0, Math.min(1, (8 - millis) / 4)), 100)
    // it falls from 1 at 4 ms to 0 at 8: 128 buckets
    const first = 9 * 128
    expect(survival.first).toBe(first)
    for (const i of [0, 7, 8, first - 1]) expect(survival.at[i]).toBe(1)
    for (let i = 0; i <= 128; i++) expect(survival.at[first + i]).toBeCloseTo(1 - i / 128, 9)
    expect(survival.at.slice(first + 129).every((left) => left === 0)).toBe(true)
  })

  it("of what is over at once is the first bucket", () => {
    const survival = new Survival().sample(() => 0, 1)
    expect(survival).toMatchObject({ first: 0, last: 0 })
    expect([...survival.at.slice(0, 2)]).toStrictEqual([1, 0])
  })

  it("of what never ends is the last bucket, which ends", () => {
    const survival = new Survival().sample(() => 1, 1)
    expect(survival).toMatchObject({ first: rest, last: rest })
    expect([...survival.at.slice(rest)]).toStrictEqual([1, 0])
  })

  it("of what now and then never ends goes on to the last bucket", () => {
    const survival = new Survival().sample((millis) => (millis < edges[900]! ? 1 : 0.25), 1)
    expect(survival).toMatchObject({ first: 900, last: rest })
    expect([...survival.at.slice(rest)]).toStrictEqual([0.25, 0])
    expect(survival.at[901]).toBe(0.25)
  })
})
