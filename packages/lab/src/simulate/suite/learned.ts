/** What a policy makes of an upstream whose copies are independent, beside the best that any policy could. */
import { Duration, Effect } from "effect"
import { ideal } from "../../tail/oracle.js"
import { quantile } from "../../tail/theory.js"
import * as Policy from "../policy.js"
import type { Cluster } from "../settings.js"
import { run } from "../simulation.js"
import { extraLoad, percentile, times } from "../statistics.js"
import * as Workload from "../workload.js"
import { error, type Line, line, percent } from "./line.js"

export const independent: Cluster = {
  servers: Infinity,
  balancer: "random",
  cancellation: "all",
  slowdown: undefined
}

const calls = 200_000
/** Calls that are in no figure: the policy warms up. */
const warmUp = 2000
const rate = 1000
const objective = 0.99
/** A budget is a budget: what a call more or less makes of it. */
const slackLoad = 0.005

const cases = [
  ["W1 with 8 % slow", Workload.w1(0.08), 0.1, 0.02],
  ["W2", Workload.w2(0.05), 0.1, 0.02],
  ["log-normal(1, 1)", Workload.logNormal(1, 1), 0.05, 0.02],
  ["1 % × 20 stragglers", Workload.stragglers(0.01), 0.02, 0.02],
  ["Pareto(1.1, 2)", Workload.pareto(1.1, 2), 0.02, 0.05]
] as const

export const lines = (seed: number): Effect.Effect<ReadonlyArray<Line>> =>
  Effect.scoped(
    Effect.map(
      Effect.forEach(cases, ([name, workload, budget, gap]) =>
        Effect.gen(function* () {
          const policy = yield* Policy.adaptive({ extraLoad: budget, objective })
          const outcomes = run(policy, {
            cluster: independent,
            traffic: { calls, rate, seed },
            workload: () => workload
          })
          const survival = Workload.survival(workload)
          const best = ideal(survival, objective, budget, Workload.knots(workload))
          const reached = percentile(times(outcomes, warmUp), objective)
          const { p99 } = Policy.inspect(policy, outcomes.startedAt[calls - 1]!)!
          const what = `${name} at ${percent(budget)}`
          return [
            line(`gap to the oracle's P99, ${what}`, reached / best - 1, gap),
            line(`achieved extra load, ${what}`, extraLoad(outcomes, warmUp), budget + slackLoad),
            line(
              `error of the estimated unhedged P99, ${what}`,
              error(Duration.toMillis(p99.unhedged), quantile(survival, objective)),
              0.07
            )
          ]
        })
      ),
      (all) => all.flat()
    )
  )
