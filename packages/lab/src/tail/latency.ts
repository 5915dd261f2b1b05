/** Latency distributions: how a server draws from one, and what theory has to know of it. */
import { Utils } from "effect"
import type { Latency, LogNormal, Range } from "./settings.js"

/** P(X > ms), 1 for ms ≤ 0. */
export type Survival = (ms: number) => number

/** The latencies of one server, in milliseconds: the same seed gives the same sequence. */
export const sampler = (latency: Latency, seed: number): (() => number) => {
  const random = new Utils.PCGRandom(seed)
  const uniform = ({ max, min }: Range) => min + (max - min) * random.number()
  switch (latency._tag) {
    case "Uniform":
      return () => uniform(random.number() < latency.slowShare ? latency.slow : latency.fast)
    case "LogNormal": {
      const { mu, sigma } = logParameters(latency)
      return () => {
        const factor = random.number() < latency.slowShare ? latency.slowFactor : 1
        return factor * Math.exp(mu + sigma * standardNormal(random))
      }
    }
  }
}

export const survival = (latency: Latency): Survival => {
  const { slowShare } = latency
  const mix =
    (fast: Survival, slow: Survival): Survival =>
    (ms) =>
      ms <= 0 ? 1 : (1 - slowShare) * fast(ms) + slowShare * slow(ms)
  switch (latency._tag) {
    case "Uniform":
      return mix(uniformSurvival(latency.fast), uniformSurvival(latency.slow))
    case "LogNormal": {
      const { mu, sigma } = logParameters(latency)
      const base: Survival = (ms) => normalSurvival((Math.log(ms) - mu) / sigma)
      return mix(base, (ms) => base(ms / latency.slowFactor))
    }
  }
}

/** Where the survival function bends: the best delays often lie there, or as long before the time that is aimed at. */
export const knots = (latency: Latency): ReadonlyArray<number> =>
  latency._tag === "Uniform" ? [latency.fast.min, latency.fast.max, latency.slow.min, latency.slow.max] : []

/** The parameters of the underlying normal, from the mean and standard deviation of the log-normal. */
const logParameters = ({ mean, sd }: LogNormal) => {
  const variance = Math.log(1 + (sd / mean) ** 2)
  return { mu: Math.log(mean) - variance / 2, sigma: Math.sqrt(variance) }
}

const uniformSurvival =
  ({ max, min }: Range): Survival =>
  (ms) =>
    ms < min ? 1 : ms >= max ? 0 : (max - ms) / (max - min)

/** Box–Muller. */
const standardNormal = (random: Utils.PCGRandom): number =>
  Math.sqrt(-2 * Math.log(1 - random.number())) * Math.cos(2 * Math.PI * random.number())

/** P(Z > z), by the rational approximation 26.2.17 of Abramowitz and Stegun: absolute error below 7.5e-8. */
const normalSurvival = (z: number): number => {
  if (z < 0) return 1 - normalSurvival(-z)
  const t = 1 / (1 + 0.2316419 * z)
  const polynomial =
    t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
  return (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * polynomial
}
