/** Figures of what became of calls. */
import type { Outcomes } from "./simulation.js"

/** Nearest rank; NaN of nothing. */
export const percentile = (sorted: Float64Array, p: number): number =>
  sorted.length === 0 ? Number.NaN : sorted[Math.max(0, Math.ceil(p * sorted.length - 1e-9) - 1)]!

/** What the calls took, ascending, from the call `from` on, without those that were held out. */
export const times = ({ elapsed, heldOut }: Outcomes, from = 0, to = elapsed.length): Float64Array =>
  elapsed
    .slice(from, to)
    .filter((_, i) => heldOut[from + i] === 0)
    .sort()

/** Hedges per call. */
export const extraLoad = ({ hedges }: Outcomes, from = 0, to = hedges.length): number => {
  let sum = 0
  for (let i = from; i < to; i++) sum += hedges[i]!
  return to > from ? sum / (to - from) : 0
}

const binMillis = 1000
/** Chance alone makes a second's median half as long again as usual. */
const normal = 2

/** How long after a slowdown's end calls are as fast as before, for good: by the medians of those that start within a second. */
export const recoveredAfter = (
  { elapsed, startedAt }: Outcomes,
  slowFrom: number,
  slowTo: number
): number => {
  const median = (from: number, to: number) =>
    percentile(elapsed.slice(firstAt(startedAt, from), firstAt(startedAt, to)).sort(), 0.5)
  const usual = median(0, slowFrom)
  const last = startedAt[startedAt.length - 1]!
  let recovered = 0
  for (let from = slowTo; from + binMillis <= last; from += binMillis) {
    if (median(from, from + binMillis) > normal * usual) recovered = from + binMillis - slowTo
  }
  return recovered
}

/** The first call that starts at a time or later. */
export const firstAt = (startedAt: Float64Array, time: number): number => {
  const first = startedAt.findIndex((at) => at >= time)
  return first === -1 ? startedAt.length : first
}
