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

const w1 = Workload.w1(0.08)
const w2 = Workload.w2(0.05)
const logNormal = Workload.logNormal(1, 1)
const stragglers = Workload.stragglers(0.01)
const pareto = Workload.pareto(1.1, 2)

/** Each with its budget, and what may be missed of the oracle's P99 and spent. */
const cases = [
  { name: "W1 with 8 % slow", workload: w1, budget: 0.1, gap: 0.02, load: 0.105 },
  { name: "W2", workload: w2, budget: 0.1, gap: 0.02, load: 0.105 },
  { name: "log-normal(1, 1)", workload: logNormal, budget: 0.05, gap: 0.02, load: 0.055 },
  { name: "1 % × 20 stragglers", workload: stragglers, budget: 0.02, gap: 0.02, load: 0.025 },
  { name: "Pareto(1.1, 2)", workload: pareto, budget: 0.02, gap: 0.05, load: 0.025 }
]

export const lines = (seed: number): Effect.Effect<ReadonlyArray<Line>> =>
  Effect.scoped(
    Effect.map(
      Effect.forEach(cases, ({ budget, gap, load, name, workload }) =>
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
            line(`achieved extra load, ${what}`, extraLoad(outcomes, warmUp), load),
            // the P99 of stragglers lies where hardly a call ends: a twentieth more of them move it from 26 to 49 ms
            ...(workload === stragglers
              ? []
              : [
                  line(
                    `error of the estimated unhedged P99, ${what}`,
                    error(Duration.toMillis(p99.unhedged), quantile(survival, objective)),
                    0.07
                  )
                ])
          ]
        })
      ),
      (all) => all.flat()
    )
  )
