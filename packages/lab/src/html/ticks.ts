/** Axes of times, by steps of 1, 2 and 5. */

const steps = [1, 2, 5]

/** The least range of such steps that these lie in, positive, for a logarithmic axis. */
export const around = (values: ReadonlyArray<number>): readonly [number, number] => {
  const positive = values.filter((value) => value > 0 && value < Infinity)
  const low = positive.length === 0 ? 1 : Math.min(...positive)
  const high = positive.length === 0 ? 10 : Math.max(...positive)
  const from = all(low / 10, low).at(-1)!
  return [from, all(Math.max(high, from * 2), high * 10)[0]!]
}

/** The steps from one to another; only powers of ten if there would be more than `most`, and only some of those if they are still too many. */
export const between = (from: number, to: number, most: number): ReadonlyArray<number> => {
  const ticks = all(from, to)
  if (ticks.length <= most) return ticks
  const powers = ticks.filter((tick) => Number.isInteger(round(Math.log10(tick))))
  const each = Math.ceil(powers.length / most)
  return powers.filter((_, i) => i % each === 0)
}

const all = (from: number, to: number): ReadonlyArray<number> => {
  const ticks: Array<number> = []
  for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power++) {
    for (const step of steps) {
      const tick = power < 0 ? step / 10 ** -power : step * 10 ** power
      if (tick >= from * (1 - 1e-9) && tick <= to * (1 + 1e-9)) ticks.push(tick)
    }
  }
  return ticks
}

const round = (value: number): number => Math.round(value * 1e9) / 1e9
