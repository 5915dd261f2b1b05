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

const binMillis = 500
/** A median that is no more than this above what it was is as it was: chance makes a tenth of it. */
const normal = 1.25

/** How long after a slowdown's end the calls are as fast as before, for good: by their medians, half a second's at a time. */
export const recoveredAfter = (
  { elapsed, startedAt }: Outcomes,
  slowFrom: number,
  slowTo: number
): number => {
  const median = (from: number, to: number) => {
    const first = startedAt.findIndex((at) => at >= from)
    const end = startedAt.findIndex((at) => at >= to)
    return percentile(elapsed.slice(first, end === -1 ? undefined : end).sort(), 0.5)
  }
  const usual = median(0, slowFrom)
  const last = startedAt[startedAt.length - 1]!
  let recovered = 0
  for (let from = slowTo; from + binMillis <= last; from += binMillis) {
    if (median(from, from + binMillis) > normal * usual) recovered = from + binMillis - slowTo
  }
  return recovered
}
