/** Numbers as people read them. */
import type { Percentile } from "./plan.js"

export const count = (n: number): string => Math.round(n).toLocaleString("en-US")

/** Four digits. */
export const ms = (value: number | null): string =>
  value === null
    ? "–"
    : `${Number(value.toPrecision(4)).toLocaleString("en-US", { maximumFractionDigits: 6 })} ms`

export const percent = (share: number): string => `${Number((share * 100).toPrecision(3))} %`

export const labels: Readonly<Record<Percentile, string>> = {
  p50: "P50",
  p95: "P95",
  p99: "P99",
  p999: "P99.9"
}

/** Whether there is one or several of something. */
export const plural = (n: number, one: string, several = `${one}s`): string =>
  `${count(n)} ${n === 1 ? one : several}`

/** `a, b and c`. */
export const and = (words: ReadonlyArray<string>): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`

/** `a 3, b 1`, the most frequent first. */
export const tally = (counts: Iterable<readonly [string | number, number]>): string =>
  Array.from(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([name, n]) => `${name} ${count(n)}`)
    .join(", ")
