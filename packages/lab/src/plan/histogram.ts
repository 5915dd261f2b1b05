/**
 * Counts of numbers in log-linear buckets, 2,048 between a number and its double: no bucket is wider than 0.05 % of what is
 * in it. The upper bits of a double are its exponent and the beginning of its mantissa, so they are the bucket's index.
 */
import type { Steps } from "./distribution.js"

/** Bits of the mantissa that count. */
const bits = 11
const bucketsPerPage = 2 ** bits
/** What is shifted out of the upper 32 bits of a double: 20 of them are mantissa. */
const shift = 20 - bits

const double = new Float64Array(1)
const words = new Uint32Array(double.buffer)
/** Which of the two words holds the exponent. */
const upper = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 1 : 0

const indexOf = (value: number): number => {
  double[0] = value
  return words[upper]! >>> shift
}

const lowerEdge = (index: number): number => {
  words[upper] = index << shift
  words[1 - upper] = 0
  return double[0]!
}

export interface Histogram {
  /** Counts a number that is not negative. */
  readonly add: (value: number) => void
  readonly steps: () => Steps
}

export const make = (): Histogram => {
  /** One for every power of two that has been seen. */
  const pages = new Map<number, Float64Array>()
  return {
    add: (value) => {
      const index = indexOf(value)
      const page = Math.floor(index / bucketsPerPage)
      let counts = pages.get(page)
      if (counts === undefined) {
        counts = new Float64Array(bucketsPerPage)
        pages.set(page, counts)
      }
      counts[index % bucketsPerPage]!++
    },
    steps: () => {
      const indexes = Array.from(pages.keys())
        .sort((a, b) => a - b)
        .flatMap((page) => {
          const counts = pages.get(page)!
          return Array.from(counts.keys())
            .filter((offset) => counts[offset]! > 0)
            .map((offset) => page * bucketsPerPage + offset)
        })
      let sum = 0
      return {
        from: Float64Array.from(indexes, lowerEdge),
        to: Float64Array.from(indexes, (index) => lowerEdge(index + 1)),
        upTo: Float64Array.from(indexes, (index) => {
          sum += pages.get(Math.floor(index / bucketsPerPage))![index % bucketsPerPage]!
          return sum
        })
      }
    }
  }
}
