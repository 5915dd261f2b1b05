/**
 * What a share that was counted says about a probability: bounds between which it lies with 95 % confidence, exact for any
 * size of sample (C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
 * binomial", Biometrika 26, 1934).
 *
 * Turned around, bounds on P(X > t) at every t are bounds on a quantile, and these are the classical ones, two order
 * statistics (H. A. David and H. N. Nagaraja, Order Statistics, 3rd ed., 7.1).
 */

/** Outside of the bounds on either side. */
const tail = 0.025

export interface Bounds {
  /** The least and the greatest probability, if `count` of `n` were seen. */
  readonly of: (count: number) => readonly [low: number, high: number]
}

/** Bounds for one size of sample; remembers what it has worked out. */
export const bounds = (n: number): Bounds => {
  const known = new Map<number, readonly [number, number]>()
  return {
    of: (count) => {
      const before = known.get(count)
      if (before !== undefined) return before
      const worked: readonly [number, number] = [
        count <= 0 ? 0 : inverseBeta(tail, count, n - count + 1),
        count >= n ? 1 : inverseBeta(1 - tail, count + 1, n - count)
      ]
      known.set(count, worked)
      return worked
    }
  }
}

/** The x at which a beta distribution's cumulative probability is p. */
const inverseBeta = (p: number, a: number, b: number): number => {
  let low = 0
  let high = 1
  for (let step = 0; step < 50 && high - low > 1e-12; step++) {
    const middle = (low + high) / 2
    if (cumulativeBeta(middle, a, b) < p) low = middle
    else high = middle
  }
  return (low + high) / 2
}

/** The regularized incomplete beta function, by its continued fraction (Abramowitz and Stegun, 26.5.8), Lentz's method. */
const cumulativeBeta = (x: number, a: number, b: number): number => {
  if (x <= 0) return 0
  if (x >= 1) return 1
  // the fraction converges fast below the mean only
  if (x > (a + 1) / (a + b + 2)) return 1 - cumulativeBeta(1 - x, b, a)
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x))
  const tiny = 1e-300
  let c = 1
  let d = 1 / (1 - ((a + b) * x) / (a + 1) || tiny)
  let fraction = d
  for (let m = 1; m < 10_000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    d = 1 / (1 + even * d || tiny)
    c = 1 + even / c || tiny
    fraction *= d * c
    d = 1 / (1 + odd * d || tiny)
    c = 1 + odd / c || tiny
    const change = d * c
    fraction *= change
    if (Math.abs(change - 1) < 1e-13) break
  }
  return (front * fraction) / a
}

/** Lanczos' approximation, nine terms. */
const lanczos = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7
]

const logGamma = (z: number): number => {
  if (z < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * z)) - logGamma(1 - z)
  const t = z + 6.5
  const sum = lanczos.reduce((total, term, i) => total + (i === 0 ? term : term / (z - 1 + i)), 0)
  return 0.5 * Math.log(2 * Math.PI) + (z - 0.5) * Math.log(t) - t + Math.log(sum)
}
