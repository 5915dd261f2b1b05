/** A figure that must not exceed its target. */
export interface Line {
  readonly name: string
  readonly value: number
  readonly target: number
  readonly ok: boolean
}

export const line = (name: string, value: number, target: number): Line => ({
  name,
  value,
  target,
  ok: value <= target
})

/** How far apart two numbers are, as a share of the second. */
export const error = (actual: number, expected: number): number => Math.abs(actual / expected - 1)

export const percent = (share: number): string => `${Number((100 * share).toFixed(2))} %`
