import { describe, expect, it } from "@effect/vitest"
import { bucketCount, bucketOf, edges, Histogram, sampleOf } from "../../src/internal/histogram.js"

/** What it holds: each bucket that is not empty, with how many finished and were cut off. */
const held = (histogram: Histogram) => {
  const { cutOff, finished } = histogram
  return Array.from(finished, (ended, i) => [i, ended, cutOff[i]!] as const).filter(
    ([, ended, open]) => ended !== 0 || open !== 0
  )
}

const boundsOf = ({ count, first, last }: Histogram) => ({ count, first, last })

const finished = (bucket: number) => 2 * bucket + 1
const cutOff = (bucket: number) => 2 * bucket

const histogramOf = (size: "narrow" | "wide", ...samples: ReadonlyArray<number>): Histogram => {
  const histogram = new Histogram(size)
  for (const sample of samples) histogram.add(sample)
  return histogram
}

const empty = { count: 0, first: bucketCount, last: -1 }

describe("buckets", () => {
  // 2⁻⁷ ms is the first that is told from 0; 128 buckets to each doubling from there to 2²² ms
  for (const [millis, bucket] of [
    [0, 0],
    [2 ** -7 * (1 + 1 / 128), 1],
    [2 ** -7 * (1 + 127 / 128), 127],
    [2 ** -6, 128],
    [1, 7 * 128],
    [1.5, 7 * 128 + 64],
    [1024, 17 * 128],
    [2 ** 22 * (1 - 1 / 256), 29 * 128 - 1]
  ] as const) {
    it(`number ${bucket} begins at ${millis} ms`, () => {
      expect(bucketOf(millis)).toBe(bucket)
      expect(edges[bucket]).toBe(millis)
    })
  }

  it("there are 29 doublings of them, and the last ends after 70 minutes", () => {
    expect(bucketCount).toBe(3712)
    expect(edges).toHaveLength(3713)
    expect([edges[3711], edges[3712]]).toStrictEqual([2 ** 22 * (1 - 1 / 256), 2 ** 22])
    expect([2 ** 22 - 1e-6, 2 ** 22, 2 ** 23, Infinity].map(bucketOf)).toStrictEqual(Array(4).fill(3711))
  })

  it("what is less than the end of the first lies in it", () => {
    expect([2 ** -8, 2 ** -7, 2 ** -7 * (1 + 1 / 129)].map(bucketOf)).toStrictEqual([0, 0, 0])
  })

  it("a sample says which it lies in, and whether it finished", () => {
    expect([sampleOf(0, false), sampleOf(0, true)]).toStrictEqual([0, 1])
    expect([sampleOf(1, false), sampleOf(1, true)]).toStrictEqual([2 * 896, 2 * 896 + 1])
  })
})

for (const size of ["narrow", "wide"] as const) {
  describe(`a ${size} histogram`, () => {
    it("holds nothing at first", () => {
      const histogram = new Histogram(size)
      expect(boundsOf(histogram)).toStrictEqual(empty)
      expect(held(histogram)).toStrictEqual([])
    })

    it("takes the first and the last bucket", () => {
      const histogram = histogramOf(size, finished(bucketCount - 1), cutOff(0))
      expect(boundsOf(histogram)).toStrictEqual({ count: 2, first: 0, last: bucketCount - 1 })
      expect(held(histogram)).toStrictEqual([
        [0, 0, 1],
        [bucketCount - 1, 1, 0]
      ])
    })

    // the list holds 32, then there are tables
    for (const count of [1, 31, 32, 33, 100]) {
      it(`holds each of ${count} samples once, and again after it was read`, () => {
        const histogram = new Histogram(size)
        for (let i = 0; i < count; i++) histogram.add(finished(7))
        expect(boundsOf(histogram)).toStrictEqual({ count, first: 7, last: 7 })
        expect(held(histogram)).toStrictEqual([[7, count, 0]])
        histogram.add(cutOff(7))
        expect(held(histogram)).toStrictEqual([[7, count, 1]])
        expect(histogram.count).toBe(count + 1)
      })
    }

    it("widens its bounds to both sides", () => {
      const histogram = new Histogram(size)
      const bounds = [5, 9, 3, 3, 9, 6].map((bucket) => {
        histogram.add(finished(bucket))
        return [histogram.first, histogram.last]
      })
      expect(bounds).toStrictEqual([
        [5, 5],
        [5, 9],
        [3, 9],
        [3, 9],
        [3, 9],
        [3, 9]
      ])
    })

    for (const isRead of [false, true]) {
      it(`gives back what was added, of its kind${isRead ? ", after it was read" : ""}`, () => {
        const histogram = histogramOf(size, finished(4), finished(4), cutOff(4), cutOff(4), finished(8))
        if (isRead) expect(held(histogram)).toHaveLength(2)
        histogram.remove(finished(4))
        expect(histogram.count).toBe(4)
        histogram.remove(cutOff(4))
        histogram.remove(cutOff(4))
        expect(histogram.count).toBe(2)
        expect(held(histogram)).toStrictEqual([
          [4, 1, 0],
          [8, 1, 0]
        ])
      })

      it(`is as new when it was cleared${isRead ? " after it was read" : ""}`, () => {
        const histogram = histogramOf(size, cutOff(2), finished(2), cutOff(9), finished(9))
        if (isRead) expect(held(histogram)).toHaveLength(2)
        histogram.clear()
        expect(boundsOf(histogram)).toStrictEqual(empty)
        expect(held(histogram)).toStrictEqual([])
        histogram.add(finished(5))
        expect(boundsOf(histogram)).toStrictEqual({ count: 1, first: 5, last: 5 })
        expect(held(histogram)).toStrictEqual([[5, 1, 0]])
      })
    }
  })
}

describe("a memory that fades", () => {
  const memory = () =>
    histogramOf("wide", finished(4), finished(4), cutOff(4), cutOff(6), cutOff(6), finished(8))

  it("keeps a part of what it holds, and takes all of the other", () => {
    const faded = memory()
    faded.fade(0.25, histogramOf("narrow", finished(4), finished(4), finished(4), cutOff(4), cutOff(8)))
    expect(held(faded)).toStrictEqual([
      [4, 3.5, 1.25],
      [6, 0, 0.5],
      [8, 0.25, 1]
    ])
    expect(boundsOf(faded)).toStrictEqual({ count: 6.5, first: 4, last: 8 })
  })

  for (const [where, other, first, last] of [
    ["below", [2, 3], 2, 8],
    ["above", [9, 11], 4, 11],
    ["around", [2, 11], 2, 11],
    ["within", [5, 6], 4, 8]
  ] as const) {
    it(`takes what lies ${where} it`, () => {
      const faded = memory()
      faded.fade(0.5, histogramOf("narrow", ...other.map(finished)))
      expect(boundsOf(faded)).toStrictEqual({ count: 5, first, last })
      for (const bucket of other) expect(faded.finished[bucket]).toBe(1)
      expect([faded.finished[4], faded.cutOff[4], faded.cutOff[6], faded.finished[8]]).toStrictEqual([
        1, 0.5, 1, 0.5
      ])
    })
  }

  it("starts with what it is given first", () => {
    const faded = new Histogram("wide")
    faded.fade(0.5, histogramOf("narrow", finished(4), cutOff(5)))
    expect(boundsOf(faded)).toStrictEqual({ count: 2, first: 4, last: 5 })
    expect(held(faded)).toStrictEqual([
      [4, 1, 0],
      [5, 0, 1]
    ])
  })

  it("is the less the more often it fades", () => {
    const faded = histogramOf("wide", finished(4))
    for (let i = 0; i < 3; i++) faded.fade(0.5, histogramOf("narrow", finished(4)))
    expect([faded.count, faded.finished[4]]).toStrictEqual([1.875, 1.875])
  })
})

it("a narrow one takes half the room of a wide one, which holds parts and more than 65,535", () => {
  expect(new Histogram().finished.byteLength).toBe(2 * bucketCount)
  expect(new Histogram("narrow").cutOff.byteLength).toBe(2 * bucketCount)
  const wide = new Histogram("wide")
  expect(wide.cutOff.byteLength).toBe(4 * bucketCount)
  for (let i = 0; i < 65_537; i++) wide.add(finished(4))
  expect(wide.finished[4]).toBe(65_537)
})
