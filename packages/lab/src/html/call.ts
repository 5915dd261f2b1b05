/** A call that a timeline shows. Times are in milliseconds. */
export interface Call {
  /** Its number among all calls, from 1. */
  readonly number: number
  /** When it was due, since the load began. */
  readonly dueMs: number
  /** How long after that its answer was there; null if there was none. */
  readonly tookMs: number | null
  /** How long the same call took without hedges, if that is known. */
  readonly plainMs?: number
  readonly attempts: ReadonlyArray<Attempt>
}

/** One copy of a request; times count from when the call was due. */
export interface Attempt {
  readonly startMs: number
  readonly endMs: number
  readonly end: "Won" | "CutOff" | "Failed"
}

/** Calls that were chosen for one reason, which the title says. */
export interface CallGroup {
  readonly title: string
  readonly calls: ReadonlyArray<Call>
}

/** The indices of the largest, the largest first. */
export const largest = (most: number, values: ArrayLike<number>): ReadonlyArray<number> =>
  Array.from(values, (_, i) => i)
    .sort((a, b) => values[b]! - values[a]! || a - b)
    .slice(0, most)

/** As many as are wanted, the same distance apart; which is the middle of each stretch, so that chance alone decides what it shows. */
export const evenly = <A>(most: number, all: ReadonlyArray<A>): ReadonlyArray<A> =>
  all.length <= most
    ? all
    : Array.from({ length: most }, (_, i) => all[Math.floor(((i + 0.5) * all.length) / most)]!)
