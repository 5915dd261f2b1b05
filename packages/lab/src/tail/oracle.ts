/**
 * The least P_p that a policy of so many attempts can reach under an extra-load budget, if it knows the distribution and
 * copies are independent.
 *
 * A schedule is a point (extra load, probability of missing t). Choosing among schedules at random reaches exactly the
 * convex hull of their points, and an edge of a hull has two ends: no policy needs more than two schedules. So t can be
 * reached if the hull, at the budget, is at or below 1 − p.
 */
import type { Survival } from "./latency.js"
import { leastWhere, quantile } from "./theory.js"

/** What a schedule costs, and how many calls it leaves unanswered. */
export interface Point {
  readonly load: number
  readonly miss: number
}

interface Schedule extends Point {
  readonly starts: ReadonlyArray<number>
}

const gridSize = 100

/** Up to so many attempts every combination of delays is tried; beyond, only the best schedules are given one more. */
const exactAttempts = 3

/** @param knots where the survival function bends: delays there, and as long before t, are tried beside an even grid. */
export const ideal = (
  survival: Survival,
  p: number,
  budget: number,
  knots: ReadonlyArray<number> = [],
  maxAttempts = exactAttempts
): number =>
  idealAmong(
    (ms) => schedules(survival, ms, delaysFor(ms, knots), maxAttempts),
    p,
    budget,
    quantile(survival, p)
  )

/**
 * The same for any choice of schedules.
 *
 * @param schedules those that there are, when `ms` is aimed at; one of no load among them.
 * @param unhedged the percentile without hedging.
 */
export const idealAmong = (
  schedules: (ms: number) => Array<Point>,
  p: number,
  budget: number,
  unhedged: number
): number => leastWhere((ms) => leastMiss(schedules(ms), budget) <= (1 - p) * (1 + 1e-9), 0, unhedged, 24)

export const delaysFor = (ms: number, knots: ReadonlyArray<number> = []): ReadonlyArray<number> =>
  [
    ...Array.from({ length: gridSize }, (_, index) => (ms * index) / gridSize),
    ...knots.flatMap((knot) => [knot, ms - knot])
  ]
    .filter((delay) => delay >= 0 && delay < ms)
    .sort((a, b) => a - b)

/** No hedge, one, two, and so on. */
const schedules = (
  survival: Survival,
  ms: number,
  delays: ReadonlyArray<number>,
  maxAttempts: number
): Array<Schedule> => {
  const open = delays.map(survival)
  const left = delays.map((delay) => survival(ms - delay))
  let longest: Array<Schedule> = [{ load: 0, miss: survival(ms), starts: [] }]
  const all = [...longest]
  for (let attempts = 2; attempts <= maxAttempts; attempts++) {
    longest = (attempts <= exactAttempts ? longest : hullOf(longest)).flatMap(({ load, miss, starts }) => {
      const last = starts[starts.length - 1] ?? 0
      return delays.flatMap((delay, index) => {
        if (delay < last) return []
        const cost = starts.reduce((product, start) => product * survival(delay - start), open[index]!)
        return [{ load: load + cost, miss: miss * left[index]!, starts: [...starts, delay] }]
      })
    })
    for (const schedule of longest) all.push(schedule)
  }
  return all
}

/** The lower convex hull of the points, at the budget. */
const leastMiss = (points: Array<Point>, budget: number): number => {
  const hull = hullOf(points)
  const beyond = hull.findIndex((point) => point.load > budget)
  if (beyond === -1) return hull[hull.length - 1]!.miss
  const from = hull[beyond - 1]!
  const to = hull[beyond]!
  return from.miss + ((to.miss - from.miss) * (budget - from.load)) / (to.load - from.load)
}

const hullOf = <P extends Point>(points: Array<P>): Array<P> => {
  points.sort((a, b) => a.load - b.load || a.miss - b.miss)
  const hull: Array<P> = []
  for (const point of points) {
    if (hull.length > 0 && point.miss >= hull[hull.length - 1]!.miss) continue
    while (hull.length > 1 && !isConvex(hull[hull.length - 2]!, hull[hull.length - 1]!, point)) hull.pop()
    hull.push(point)
  }
  return hull
}

const isConvex = (a: Point, b: Point, c: Point): boolean =>
  (b.load - a.load) * (c.miss - a.miss) > (b.miss - a.miss) * (c.load - a.load)
