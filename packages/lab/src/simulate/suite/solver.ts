/** The solver beside a search that tries everything. */
import { Duration } from "effect"
import { HedgeSchedule, LatencyEstimator } from "effect-hedge"
import { leastWhere } from "../../tail/theory.js"
import { streams } from "../simulation.js"
import { type Component, draw, type Part, type Random, type Workload } from "../workload.js"
import { type Line, line } from "./line.js"

const distributions = 200
const samples = 20_000
const extraLoads = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
const objectives = [0.9, 0.95, 0.99, 0.999]

/** The solver aims at a tail that is a tenth smaller than it must be: an exact optimum fits the sample, not what it is a sample of. */
const margin = 0.9
const gridSize = 400

export const lines = (seed: number): ReadonlyArray<Line> => {
  const random = streams(seed).primaries
  const worst = Array.from({ length: distributions }, () => excess(random)).reduce((a, b) => Math.max(a, b))
  return [
    line(`the solver's time beyond a brute-force search's, on ${distributions} distributions`, worst, 0.005)
  ]
}

/** How much longer the solver's P takes than the best that is found by trying. */
const excess = (random: Random): number => {
  const workload = anyWorkload(random)
  const distribution = LatencyEstimator.fromSamples(
    Array.from({ length: samples }, () => draw(workload, random))
  )
  const extraLoad = pick(random, extraLoads)
  const objective = pick(random, objectives)
  const solution = HedgeSchedule.solve(distribution, { extraLoad, objective, maxAttempts: 2 })
  if (solution.extraLoad > extraLoad * (1 + 1e-9)) return Infinity
  const tail = margin * (1 - objective)
  const found = Duration.toMillis(solution.quantile(1 - tail))
  return found / bruteForce(distribution, extraLoad, tail) - 1
}

/** The least time by which all but the tail is answered, with one hedge after any delay. */
const bruteForce = (distribution: LatencyEstimator.Distribution, extraLoad: number, tail: number): number => {
  const { survival } = distribution
  const quantile = (left: number) => Duration.toMillis(distribution.quantile(1 - left))
  const unhedged = quantile(tail)
  let best = unhedged
  const attempt = (delay: number) => {
    if (delay < 0 || delay >= best) return
    const send = Math.min(1, extraLoad / survival(delay))
    const reached = (ms: number) =>
      survival(ms) * (1 - send + send * (ms > delay ? survival(ms - delay) : 1)) <= tail
    if (reached(best * (1 - 1e-4))) best = leastWhere(reached, delay, best, 40)
  }
  for (let i = 0; i < gridSize; i++) {
    const level = quantile(0.0003 ** ((i + 0.5) / gridSize))
    attempt((unhedged * i) / gridSize)
    attempt(level)
    attempt(unhedged - level)
  }
  return best
}

/** A distribution that nobody thought of. */
const anyWorkload = (random: Random): Workload => {
  const scale = 10 ** (4 * random() - 1)
  const slowShare = random() < 0.25 ? 0 : 0.5 * 10 ** (-3 * random())
  const parts: ReadonlyArray<Part> = [
    { share: 1 - slowShare, factor: scale, component: anyComponent(random) },
    { share: slowShare, factor: scale * (1 + 30 * random()), component: anyComponent(random) }
  ]
  return { name: "any", parts }
}

const anyComponent = (random: Random): Component => {
  const kind = random()
  if (kind < 0.4) return { _tag: "LogNormal", mu: 0, sigma: 0.1 + 1.4 * random() }
  if (kind < 0.6) return { _tag: "Uniform", min: random(), max: 1 + 4 * random() }
  if (kind < 0.8) return { _tag: "Pareto", shape: 1 + 2 * random(), scale: 0.5 }
  return { _tag: "Uniform", min: 1, max: 1.02 }
}

const pick = <A>(random: Random, choices: ReadonlyArray<A>): A =>
  choices[Math.floor(random() * choices.length)]!
