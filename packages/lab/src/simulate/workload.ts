/** What servers take over a request when nothing else keeps them busy. Times are in milliseconds. */
import * as Tail from "../tail/latency.js"

export type Component =
  | { readonly _tag: "Uniform"; readonly min: number; readonly max: number }
  /** `mu` and `sigma` are those of the logarithm. */
  | { readonly _tag: "LogNormal"; readonly mu: number; readonly sigma: number }
  | { readonly _tag: "Pareto"; readonly shape: number; readonly scale: number }

/** A share of the requests, which take `factor` times as long as the component says. */
export interface Part {
  readonly share: number
  readonly factor: number
  readonly component: Component
}

export interface Workload {
  readonly name: string
  readonly parts: ReadonlyArray<Part>
}

/** A number in [0, 1). */
export type Random = () => number

const mixture = (
  name: string,
  slowShare: number,
  usual: Component,
  slow: Component,
  factor = 1
): Workload => ({
  name,
  parts: [
    { share: 1 - slowShare, factor: 1, component: usual },
    { share: slowShare, factor, component: slow }
  ]
})

const meanFive: Component = { _tag: "LogNormal", mu: 1.5352, sigma: 0.3853 }

/** 10–50 ms, and now and then 500–1,000 ms. */
export const w1 = (slowShare: number): Workload =>
  mixture("w1", slowShare, { _tag: "Uniform", min: 10, max: 50 }, { _tag: "Uniform", min: 500, max: 1000 })

/** Log-normal of mean 5 and standard deviation 2 ms, and now and then ten times that. */
export const w2 = (slowShare: number): Workload => mixture("w2", slowShare, meanFive, meanFive, 10)

/** The same, and now and then twenty times that. */
export const stragglers = (slowShare: number): Workload =>
  mixture("stragglers", slowShare, meanFive, meanFive, 20)

/** Log-normal of median 10 ms, and now and then a pause of 100–300 ms instead. */
export const pauses = (slowShare: number): Workload =>
  mixture(
    "pauses",
    slowShare,
    { _tag: "LogNormal", mu: Math.log(10), sigma: 0.5 },
    { _tag: "Uniform", min: 100, max: 300 }
  )

export const logNormal = (mu: number, sigma: number): Workload => ({
  name: "log-normal",
  parts: [{ share: 1, factor: 1, component: { _tag: "LogNormal", mu, sigma } }]
})

export const pareto = (shape: number, scale: number): Workload => ({
  name: "pareto",
  parts: [{ share: 1, factor: 1, component: { _tag: "Pareto", shape, scale } }]
})

/** The same, with all times multiplied. */
export const times = (factor: number, workload: Workload): Workload => ({
  ...workload,
  parts: workload.parts.map((part) => ({ ...part, factor: factor * part.factor }))
})

// --- what is known of one ----------------------------------------------------------------------------------------------

export const survival = ({ parts }: Workload): Tail.Survival => {
  const all = parts.map(({ component, factor, share }) => ({ share, factor, left: survivalOf(component) }))
  return (ms) => all.reduce((sum, { factor, left, share }) => sum + share * left(ms / factor), 0)
}

const survivalOf = (component: Component): Tail.Survival => {
  switch (component._tag) {
    case "Uniform":
      return Tail.survival({ _tag: "Uniform", fast: component, slow: component, slowShare: 0 })
    case "LogNormal": {
      const mean = meanOf(component)
      const sd = mean * Math.sqrt(Math.expm1(component.sigma ** 2))
      return Tail.survival({ _tag: "LogNormal", mean, sd, slowShare: 0, slowFactor: 1 })
    }
    case "Pareto":
      return (ms) => (ms <= component.scale ? 1 : (component.scale / ms) ** component.shape)
  }
}

/** Infinite for a Pareto distribution whose shape is 1 or less. */
export const mean = ({ parts }: Workload): number =>
  parts.reduce((sum, { component, factor, share }) => sum + share * factor * meanOf(component), 0)

const meanOf = (component: Component): number => {
  switch (component._tag) {
    case "Uniform":
      return (component.min + component.max) / 2
    case "LogNormal":
      return Math.exp(component.mu + component.sigma ** 2 / 2)
    case "Pareto":
      return component.shape > 1 ? (component.scale * component.shape) / (component.shape - 1) : Infinity
  }
}

/** Where the survival function bends. */
export const knots = ({ parts }: Workload): ReadonlyArray<number> =>
  parts.flatMap(({ component, factor }) => {
    switch (component._tag) {
      case "Uniform":
        return [factor * component.min, factor * component.max]
      case "LogNormal":
        return []
      case "Pareto":
        return [factor * component.scale]
    }
  })

export const draw = ({ parts }: Workload, random: Random): number => {
  let left = parts.length > 1 ? random() : 0
  for (const part of parts) {
    left -= part.share
    if (left < 0) return part.factor * drawOf(part.component, random)
  }
  const last = parts[parts.length - 1]!
  return last.factor * drawOf(last.component, random)
}

const drawOf = (component: Component, random: Random): number => {
  switch (component._tag) {
    case "Uniform":
      return component.min + (component.max - component.min) * random()
    case "LogNormal": {
      // Box–Muller
      const radius = Math.sqrt(-2 * Math.log(1 - random()))
      return Math.exp(component.mu + component.sigma * radius * Math.cos(2 * Math.PI * random()))
    }
    case "Pareto":
      return component.scale * (1 - random()) ** (-1 / component.shape)
  }
}
