/**
 * The least P_p that a policy of at most three attempts can reach under an extra-load budget, if it knows the
 * distribution and copies are independent.
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

const gridSize = 100

/** @param knots where the survival function bends: delays there, and as long before t, are tried beside an even grid. */
export const ideal = (
  survival: Survival,
  p: number,
  budget: number,
  knots: ReadonlyArray<number> = []
): number =>
  idealAmong((ms) => schedules(survival, ms, delaysFor(ms, knots)), p, budget, quantile(survival, p))

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

/** No hedge, one, or two, at every combination of these delays. */
const schedules = (survival: Survival, ms: number, delays: ReadonlyArray<number>): Array<Point> => {
  const alone = survival(ms)
  const at = delays.map((delay) => ({ delay, load: survival(delay), left: survival(ms - delay) }))
  const points: Array<Point> = [{ load: 0, miss: alone }]
  at.forEach((first, index) => {
    points.push({ load: first.load, miss: alone * first.left })
    for (const second of at.slice(index)) {
      const load = first.load + second.load * survival(second.delay - first.delay)
      points.push({ load, miss: alone * first.left * second.left })
    }
  })
  return points
}

/** The lower convex hull of the points, at the budget. */
const leastMiss = (points: Array<Point>, budget: number): number => {
  points.sort((a, b) => a.load - b.load || a.miss - b.miss)
  const hull: Array<Point> = []
  for (const point of points) {
    if (hull.length > 0 && point.miss >= hull[hull.length - 1]!.miss) continue
    while (hull.length > 1 && !isConvex(hull[hull.length - 2]!, hull[hull.length - 1]!, point)) hull.pop()
    hull.push(point)
  }
  const beyond = hull.findIndex((point) => point.load > budget)
  if (beyond === -1) return hull[hull.length - 1]!.miss
  const from = hull[beyond - 1]!
  const to = hull[beyond]!
  return from.miss + ((to.miss - from.miss) * (budget - from.load)) / (to.load - from.load)
}

const isConvex = (a: Point, b: Point, c: Point): boolean =>
  (b.load - a.load) * (c.miss - a.miss) > (b.miss - a.miss) * (c.load - a.load)
