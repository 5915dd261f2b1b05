/** Theory's figures: what the plain and the hedged side should show, and the best that any policy could do. */
import { knots, type Survival, survival } from "./latency.js"
import { ideal } from "./oracle.js"
import type { Learned } from "./protocol.js"
import type { Settings } from "./settings.js"
import { mapPercentiles, type Percentile, percentiles } from "./summary.js"
import { mixed, type Prediction, pagePercentile, predict, quantile } from "./theory.js"

type Times = Readonly<Record<Percentile, number>>

export interface Forecast {
  readonly plain: Times
  readonly hedged: Times
  readonly hedgedRequestsPerCall: number
  /** Each by the policy that is best for it, within the attempts and the budget for extra load. */
  readonly ideal: Times
}

/**
 * Nothing is known of a server that is not ours. No time-out cuts these times off.
 *
 * @param learned what a policy that learns knew in the end.
 */
export const forecast = (settings: Settings, learned: Learned | null): Forecast | undefined => {
  const { hedging, load, target } = settings
  if (target._tag === "Url") return undefined
  const plain = survival(target.latency)
  const hedged = hedgedPrediction(settings, plain, learned)
  const bends = knots(target.latency)
  const each = (f: (p: number) => number) =>
    mapPercentiles((name) => f(pagePercentile(percentiles[name], load.fanOut)))
  const times = (missing: Survival) => each((p) => quantile(missing, p))
  return {
    plain: times(plain),
    hedged: times(hedged.miss),
    hedgedRequestsPerCall: 1 + hedged.extraLoad,
    ideal: each((p) => ideal(plain, p, hedging.extraLoad, bends, hedging.maxAttempts))
  }
}

const hedgedPrediction = (
  { hedging, timeoutMs }: Settings,
  plain: Survival,
  learned: Learned | null
): Prediction => {
  const { delayMs } = hedging
  if (delayMs !== null) return predict(plain, { ...hedging, delayMs }, timeoutMs ?? Infinity)
  if (learned === null || learned.delayMs === null || learned.status !== "Active") return mixed(plain, [0], 1)
  const affordable = hedging.extraLoad / plain(learned.delayMs)
  return mixed(plain, [0, learned.delayMs], Math.min(learned.probability, affordable))
}
