/** The latencies that were measured, as a distribution: of single values, or of counts between two. */
import type { Survival } from "../tail/latency.js"
import type { Piece } from "./format.js"
import { firstWhere } from "./search.js"

export interface Distribution {
  /** How many latencies. */
  readonly n: number
  readonly survival: Survival
  /**
   * Nearest rank among values; within a bucket, as if they lay evenly in it. Infinity if it is beyond the last bucket that
   * has an end.
   */
  readonly quantile: (p: number) => number
  /** The latest that is known. */
  readonly max: number
  /** How many are only known to be later than that. */
  readonly beyond: number
  /** Whether every latency is known by itself. */
  readonly isExact: boolean
  /** Of which every latency is a whole multiple: what the clock that measured them counts. 0 if there is no such step of 1 ms or more. */
  readonly step: number
}

/** Absorbs rounding in p × n. */
const slack = 1e-9

/** @param sorted ascending. */
export const ofSorted = (sorted: Float64Array): Distribution => {
  let distinct = 0
  for (let i = 0; i < sorted.length; i++) if (i === 0 || sorted[i] !== sorted[i - 1]) distinct++
  const values = new Float64Array(distinct)
  const upTo = new Float64Array(distinct)
  let last = -1
  for (let i = 0; i < sorted.length; i++) {
    if (i === 0 || sorted[i] !== sorted[i - 1]) values[++last] = sorted[i]!
    upTo[last] = i + 1
  }
  return ofSteps({ from: values, to: values, upTo })
}

/** Of pieces in any order, which may overlap. */
export const ofPieces = (pieces: ReadonlyArray<Piece>): Distribution => {
  const apart = separate(pieces)
  let sum = 0
  return ofSteps({
    from: Float64Array.from(apart, ({ from }) => from),
    to: Float64Array.from(apart, ({ to }) => to),
    upTo: Float64Array.from(apart, ({ count }) => {
      sum += count
      return sum
    })
  })
}

/** Counts from the least to the greatest. */
export interface Steps {
  /** Where each begins and ends, ascending; none overlap. */
  readonly from: Float64Array
  readonly to: Float64Array
  /** How many latencies there are up to its end. */
  readonly upTo: Float64Array
}

export const ofSteps = ({ from, to, upTo }: Steps): Distribution => {
  const steps = to.length
  const n = steps === 0 ? 0 : upTo[steps - 1]!
  const before = (step: number) => (step === 0 ? 0 : upTo[step - 1]!)
  const isExact = from.every((edge, step) => edge === to[step])
  const quantile = (p: number) => {
    const rank = p * n
    const step = Math.min(
      firstWhere(steps, (i) => upTo[i]! >= rank - slack),
      steps - 1
    )
    const width = to[step]! - from[step]!
    const share = (rank - before(step)) / (upTo[step]! - before(step))
    return width === 0 || width === Infinity ? to[step]! : from[step]! + width * share
  }
  return {
    n,
    quantile,
    survival: (ms) => {
      if (ms <= 0) return 1
      const next = firstWhere(steps, (i) => to[i]! > ms)
      const partly =
        next < steps && from[next]! < ms && to[next]! < Infinity
          ? ((upTo[next]! - before(next)) * (ms - from[next]!)) / (to[next]! - from[next]!)
          : 0
      return (n - before(next) - partly) / n
    },
    max: steps === 0 ? 0 : to[steps - 1] === Infinity ? from[steps - 1]! : to[steps - 1]!,
    beyond: to[steps - 1] === Infinity ? n - before(steps - 1) : 0,
    step: isExact ? commonDivisor(to) : 0,
    isExact
  }
}

/** The greatest whole number that divides all of these; 0 if they are not whole. */
const commonDivisor = (values: Float64Array): number => {
  // what a unit's conversion adds is no fraction
  if (!values.every((value) => Math.abs(value - Math.round(value)) < 1e-6)) return 0
  let divisor = 0
  for (const value of values) {
    divisor = gcd(Math.round(value), divisor)
    if (divisor === 1) return 1
  }
  return divisor
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))

/** The same counts in pieces that do not overlap: each is cut where another begins or ends. */
const separate = (pieces: ReadonlyArray<Piece>): ReadonlyArray<Piece> => {
  const atoms = new Map<number, number>()
  const between = new Map<string, Piece>()
  const edges = new Set<number>()
  for (const piece of pieces) {
    if (piece.from === piece.to) atoms.set(piece.to, (atoms.get(piece.to) ?? 0) + piece.count)
    else {
      const key = `${piece.from} ${piece.to}`
      between.set(key, { ...piece, count: piece.count + (between.get(key)?.count ?? 0) })
      edges.add(piece.from)
      edges.add(piece.to)
    }
  }
  if (between.size > 0) for (const atom of atoms.keys()) edges.add(atom)
  const cuts = Array.from(edges).sort((a, b) => a - b)
  const places = new Map(cuts.map((cut, i) => [cut, i]))
  const counts = new Float64Array(Math.max(0, cuts.length - 1))
  for (const { count, from, to } of between.values()) {
    for (let i = places.get(from)!; cuts[i]! < to; i++) {
      const share =
        to === Infinity ? Number(cuts[i + 1] === Infinity) : (cuts[i + 1]! - cuts[i]!) / (to - from)
      counts[i]! += count * share
    }
  }
  return [
    ...Array.from(atoms, ([value, count]) => ({ from: value, to: value, count })),
    ...Array.from(counts, (count, i) => ({ from: cuts[i]!, to: cuts[i + 1]!, count }))
  ]
    .filter(({ count }) => count > 0)
    .sort((a, b) => a.to - b.to || a.from - b.from)
}
