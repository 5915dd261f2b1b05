/** Numbers as a page says them. */

export const none = "–"

export const count = (n: number): string => Math.round(n).toLocaleString("en-US")

/** Four digits at most, of which none is a fraction of less than a microsecond. */
export const ms = (value: number | null | undefined): string =>
  value === null || value === undefined || !Number.isFinite(value)
    ? none
    : `${Number(value.toPrecision(4)).toLocaleString("en-US", { maximumFractionDigits: 3 })} ms`

export const percent = (share: number): string => `${Number((share * 100).toPrecision(3))} %`

/** `P99.9` of 0.999. */
export const percentile = (p: number): string => `P${Number((p * 100).toFixed(4))}`
