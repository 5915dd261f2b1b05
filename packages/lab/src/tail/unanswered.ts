/** What can be said of a percentile that falls on a call without an answer, and of ratios with it. */
import { type Percentile, type Percentiles, percentiles } from "./summary.js"

/** A number, or what it is at least or at most. */
export interface Bounded {
  readonly value: number
  readonly bound: "≥" | "≤" | undefined
}

/** At least the time-out, if there is one; else nobody knows. */
export const timeOf = (summary: Percentiles, name: Percentile, timeoutMs: number | null): Bounded | null => {
  const value = summary[name]
  if (value === null || value < Infinity) return value === null ? null : { value, bound: undefined }
  if (timeoutMs === null) return null
  // a call that the generator sent late was answered before its time-out and yet after that time
  const answered = Object.keys(percentiles).map((each) => summary[each as Percentile] ?? 0)
  return { value: Math.max(timeoutMs, ...answered.filter((ms) => ms < Infinity)), bound: "≥" }
}

/** Of two that both have no answer the ratio is unknown. */
export const ratioOf = (
  plain: Percentiles,
  hedged: Percentiles,
  name: Percentile,
  timeoutMs: number | null
): Bounded | null => {
  const over = timeOf(plain, name, timeoutMs)
  const of = timeOf(hedged, name, timeoutMs)
  if (over === null || of === null || over.value === 0) return null
  if (over.bound !== undefined && of.bound !== undefined) return null
  return { value: of.value / over.value, bound: over.bound === "≥" ? "≤" : of.bound }
}
