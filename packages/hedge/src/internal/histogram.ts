/**
 * Log-linear buckets: 128 of equal width to each power of two, so that a bucket is less than 0.8 % wide. A number's bucket is read off its
 * exponent and the first bits of its mantissa: an insert costs a store, a load and a shift.
 */

const bitsPerOctave = 7
const bucketsPerOctave = 2 ** bitsPerOctave
/** In milliseconds: 7.8 µs. What is less lies in bucket 0, which begins at 0. */
const leastExponent = -7
const octaves = 29

export const bucketCount = octaves * bucketsPerOctave
/** 70 minutes; what is more lies in the last bucket. */
const most = 2 ** (leastExponent + octaves)

const float = new Float64Array(1)
const halves = new Int32Array(float.buffer)
const high = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? 1 : 0
const shift = 20 - bitsPerOctave

const prefixOf = (millis: number): number => {
  float[0] = millis
  return halves[high]! >>> shift
}

const firstPrefix = prefixOf(2 ** leastExponent)

/** The bucket of a time that is not negative and not NaN. */
export const bucketOf = (millis: number): number => {
  if (millis >= most) return bucketCount - 1
  return Math.max(0, prefixOf(millis) - firstPrefix)
}

/** The lower ends of all buckets in milliseconds, and the upper end of the last. */
export const edges: Float64Array = Float64Array.from({ length: bucketCount + 1 }, (_, i) =>
  i === 0
    ? 0
    : (1 + (i % bucketsPerOctave) / bucketsPerOctave) *
      2 ** (leastExponent + Math.floor(i / bucketsPerOctave))
)

/** A sample as one whole number: its bucket, and whether it finished. */
export const sampleOf = (millis: number, finished: boolean): number =>
  2 * bucketOf(millis) + (finished ? 1 : 0)

/** So many samples are a list, as long as nobody reads them: a key that is used a few times costs no table. */
const few = 32

type Counts = Uint16Array | Float32Array

/** Counts times by bucket: of what finished, and of what was cut off before it could. */
export class Histogram {
  private list: Array<number> | undefined = []
  private tables: { readonly finished: Counts; readonly cutOff: Counts } | undefined = undefined
  count = 0
  /** The buckets that hold something lie between these, both included. */
  first = bucketCount
  last = -1

  /** A narrow histogram takes 15 KB, and at most 65,535 times; a wide one 30 KB, and up to 16 million in a bucket, and parts of one. */
  constructor(private readonly size: "narrow" | "wide" = "narrow") {}

  get finished(): Counts {
    return this.spread().finished
  }

  get cutOff(): Counts {
    return this.spread().cutOff
  }

  add(sample: number): void {
    const bucket = sample >>> 1
    this.count += 1
    if (bucket < this.first) this.first = bucket
    if (bucket > this.last) this.last = bucket
    if (this.list !== undefined && this.list.length < few) this.list.push(sample)
    else this.change(sample, 1)
  }

  /** Takes back what was added. */
  remove(sample: number): void {
    this.count -= 1
    this.change(sample, -1)
  }

  /** Keeps a part of what is held, and adds another: for a wide one. */
  fade(keep: number, other: Histogram): void {
    this.first = Math.min(this.first, other.first)
    this.last = Math.max(this.last, other.last)
    const mine = this.spread()
    const { cutOff, finished } = other
    for (let i = this.first; i <= this.last; i++) {
      mine.finished[i] = keep * mine.finished[i]! + finished[i]!
      mine.cutOff[i] = keep * mine.cutOff[i]! + cutOff[i]!
    }
    this.count = keep * this.count + other.count
  }

  clear(): void {
    const { cutOff, finished } = this.spread()
    finished.fill(0, this.first, this.last + 1)
    cutOff.fill(0, this.first, this.last + 1)
    this.count = 0
    this.first = bucketCount
    this.last = -1
  }

  private change(sample: number, by: 1 | -1): void {
    const { cutOff, finished } = this.spread()
    const counts = (sample & 1) === 1 ? finished : cutOff
    counts[sample >>> 1]! += by
  }

  private spread(): { readonly finished: Counts; readonly cutOff: Counts } {
    if (this.tables !== undefined) return this.tables
    const Table = this.size === "narrow" ? Uint16Array : Float32Array
    this.tables = { finished: new Table(bucketCount), cutOff: new Table(bucketCount) }
    const list = this.list!
    this.list = undefined
    for (const sample of list) this.change(sample, 1)
    return this.tables
  }
}
