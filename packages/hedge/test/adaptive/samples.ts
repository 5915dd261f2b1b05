/** Numbers in [0, 1) from a seed: mulberry32. */
export const random = (seed: number) => {
  let state = seed | 0
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Draws a latency in milliseconds. */
export type Latency = (uniform: () => number) => number

export const uniform =
  (from: number, to: number): Latency =>
  (u) =>
    from + (to - from) * u()

/** Now and then another latency, with this probability. */
export const sometimes =
  (share: number, other: Latency, usual: Latency): Latency =>
  (u) =>
    u() < share ? other(u) : usual(u)

export const logNormal =
  (mu: number, sigma: number): Latency =>
  (u) =>
    Math.exp(mu + sigma * Math.sqrt(-2 * Math.log(1 - u())) * Math.cos(2 * Math.PI * u()))

export const pareto =
  (shape: number, scale: number): Latency =>
  (u) =>
    scale * (1 - u()) ** (-1 / shape)

export const times =
  (factor: number, latency: Latency): Latency =>
  (u) =>
    factor * latency(u)

/** 10–50 ms, and 500–1,000 ms for one answer in 12.5. */
export const w1 = sometimes(0.08, uniform(500, 1000), uniform(10, 50))
/** Log-normal of mean 5 and deviation 2 ms, and ten times that for one answer in 20. */
export const w2 = ((usual) => sometimes(0.05, times(10, usual), usual))(logNormal(1.5352, 0.3853))

export const draws = (latency: Latency, count: number, seed: number): Array<number> => {
  const u = random(seed)
  return Array.from({ length: count }, () => latency(u))
}

/** Of sorted numbers, the least that a share `p` does not exceed. */
export const percentile = (sorted: ReadonlyArray<number>, p: number): number =>
  sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)]!

export const sorted = (numbers: ReadonlyArray<number>): Array<number> => [...numbers].sort((a, b) => a - b)
