/**
 * Latencies as they come in, in bounded memory: the first million are kept with their time, key and pair, those after them
 * only counted in fine buckets.
 */
import * as Distribution from "./distribution.js"
import type { Piece } from "./format.js"
import * as Histogram from "./histogram.js"
import { copyOf } from "./route.js"

/** So many are kept one by one. */
export const mostKept = 2 ** 20

/** So many keys are told apart; and so many once latencies are only counted. */
const mostKeys = 10_000
const mostCountedKeys = 64
/** And so many are looked at in the end. */
const mostGroups = 50

/** What the keys are called that there is no room for. */
export const otherKeys = "(others)"

/** Latencies of one key, or of all. */
export interface Group {
  readonly key: string | undefined
  readonly distribution: Distribution.Distribution
  /** Those that were kept one by one. */
  readonly ordered: Ordered | undefined
}

export interface Ordered {
  /** In the order of time; of the record, if it has no times. */
  readonly values: Float64Array
  /** The latency of the second copy of each, if pairs were asked for. */
  readonly seconds: Float64Array | undefined
  readonly isTimed: boolean
}

export interface Samples {
  readonly add: (
    ms: number,
    key: string | undefined,
    at: number | undefined,
    second: number | undefined
  ) => void
  readonly addPieces: (pieces: ReadonlyArray<Piece>, key: string | undefined) => void
  readonly count: () => number
  readonly finish: () => {
    readonly all: Group
    /** The most frequent keys, the most frequent first. */
    readonly byKey: ReadonlyArray<Group>
    /** How many keys there are. */
    readonly keyCount: number
  }
}

export const make = (limit: number = mostKept): Samples => {
  const keys = new Map<string, number>()
  const values = growing(Float64Array)
  const times = growing(Float64Array)
  const seconds = growing(Float64Array)
  const keyOf = growing(Uint32Array)
  /** By key. */
  const pieces = new Map<number, Pieces>()
  const totals = new Float64Array(mostKeys + 1)
  let counted: Counted | undefined
  let total = 0
  let isTimed = true
  let isPaired = true

  const idOf = (name = ""): number => {
    const known = keys.get(name)
    if (known !== undefined) return known
    const key = keys.size < mostKeys ? copyOf(name) : otherKeys
    const id = keys.get(key) ?? keys.size
    keys.set(key, id)
    return id
  }

  const finish = () => {
    const order = isTimed ? inOrder(times.used()) : undefined
    const inTime = (array: Float64Array) =>
      order === undefined ? array : array.map((_, i) => array[order[i]!]!)
    const ordered: Ordered = {
      values: inTime(values.used()),
      seconds: isPaired && total > 0 ? inTime(seconds.used()) : undefined,
      isTimed
    }
    const indexesOf = byId(keyOf.used(), order)
    const frequent = Array.from(keys)
      .filter(([, id]) => totals[id]! > 0)
      .sort(([, a], [, b]) => totals[b]! - totals[a]!)
    const ofKey = ([key, id]: readonly [string, number]): Group =>
      group(
        key,
        frequent.length === 1 ? ordered : only(ordered, indexesOf(id)),
        pieces.get(id)?.all() ?? [],
        counted?.ofKey(id)
      )
    const everyPiece = Array.from(pieces.values(), (own) => own.all()).flat()
    return {
      all: group(undefined, ordered, everyPiece, counted?.all),
      byKey: frequent.slice(0, mostGroups).map(ofKey),
      keyCount: frequent.length
    }
  }

  return {
    add: (ms, key, at, second) => {
      const id = idOf(key)
      total++
      totals[id]!++
      if (counted === undefined && values.length() === limit) {
        counted = count(values.used(), keyOf.used())
      }
      if (counted !== undefined) return counted.add(ms, id)
      values.push(ms)
      keyOf.push(id)
      if (at === undefined || Number.isNaN(at)) isTimed = false
      if (isTimed) times.push(at!)
      if (second === undefined) isPaired = false
      if (isPaired) seconds.push(second!)
    },
    addPieces: (added, key) => {
      const id = idOf(key)
      const own = pieces.get(id) ?? summing()
      pieces.set(id, own)
      isPaired = false
      for (const piece of added) {
        own.add(piece)
        total += piece.count
        totals[id]! += piece.count
      }
    },
    count: () => total,
    finish
  }
}

/** @param counted what holds all of them, if not all are in `ordered`. */
const group = (
  key: string | undefined,
  ordered: Ordered,
  pieces: ReadonlyArray<Piece>,
  counted: Histogram.Histogram | undefined
): Group => ({
  key,
  distribution:
    counted !== undefined
      ? Distribution.ofSteps(counted.steps())
      : pieces.length > 0
        ? Distribution.ofPieces([...pieces, ...Array.from(ordered.values, atom)])
        : Distribution.ofSorted(ordered.values.slice().sort()),
  ordered: ordered.values.length === 0 ? undefined : ordered
})

const atom = (value: number): Piece => ({ from: value, to: value, count: 1 })

const only = (ordered: Ordered, indexes: Uint32Array): Ordered => {
  const pick = (values: Float64Array) => Float64Array.from(indexes, (i) => values[i]!)
  return {
    values: pick(ordered.values),
    seconds: ordered.seconds && pick(ordered.seconds),
    isTimed: ordered.isTimed
  }
}

/** Where in the order of time each id stands, found for all ids at once. */
const byId = (ids: Uint32Array, order: Uint32Array | undefined): ((id: number) => Uint32Array) => {
  const starts = new Uint32Array(mostKeys + 2)
  for (const id of ids) starts[id + 1]!++
  for (let id = 1; id < starts.length; id++) starts[id]! += starts[id - 1]!
  const next = starts.slice()
  const places = new Uint32Array(ids.length)
  for (let i = 0; i < ids.length; i++) {
    const id = ids[order === undefined ? i : order[i]!]!
    places[next[id]!++] = i
  }
  return (id) => places.subarray(starts[id], starts[id + 1])
}

interface Pieces {
  readonly add: (piece: Piece) => void
  readonly all: () => ReadonlyArray<Piece>
}

/** Pieces with the same ends are one. */
const summing = (): Pieces => {
  const counts = new Map<number, Map<number, number>>()
  return {
    add: ({ count, from, to }) => {
      const ends = counts.get(from) ?? new Map<number, number>()
      counts.set(from, ends)
      ends.set(to, (ends.get(to) ?? 0) + count)
    },
    all: () =>
      Array.from(counts).flatMap(([from, ends]) => Array.from(ends, ([to, count]) => ({ from, to, count })))
  }
}

/** Indexes by ascending time, those of one time as they came; undefined if they came so. */
const inOrder = (times: Float64Array): Uint32Array | undefined => {
  if (times.every((time, i) => i === 0 || time >= times[i - 1]!)) return undefined
  return Uint32Array.from(times.keys()).sort((a, b) => times[a]! - times[b]! || a - b)
}

/** Latencies that are only counted: all together, and those of the keys that were most frequent at first. */
interface Counted {
  readonly add: (ms: number, id: number) => void
  readonly all: Histogram.Histogram
  readonly ofKey: (id: number) => Histogram.Histogram | undefined
}

const count = (values: Float64Array, ids: Uint32Array): Counted => {
  const sizes = new Map<number, number>()
  for (const id of ids) sizes.set(id, (sizes.get(id) ?? 0) + 1)
  const frequent = Array.from(sizes)
    .sort(([, a], [, b]) => b - a)
    .slice(0, mostCountedKeys)
  const all = Histogram.make()
  const byKey = new Map(frequent.map(([id]) => [id, Histogram.make()]))
  const add = (ms: number, id: number) => {
    all.add(ms)
    byKey.get(id)?.add(ms)
  }
  values.forEach((value, i) => add(value, ids[i]!))
  return {
    add,
    all,
    ofKey: (id) => byKey.get(id)
  }
}

interface Numbers<A> {
  readonly push: (value: number) => void
  readonly length: () => number
  /** What has been pushed; not a copy. */
  readonly used: () => A
}

/** A typed array that doubles when it is full. */
const growing = <A extends Float64Array | Uint32Array>(Type: { new (length: number): A }): Numbers<A> => {
  let array = new Type(1_024)
  let length = 0
  return {
    push: (value) => {
      if (length === array.length) {
        const larger = new Type(length * 2)
        larger.set(array)
        array = larger
      }
      array[length++] = value
    },
    length: () => length,
    used: () => array.subarray(0, length) as A
  }
}
