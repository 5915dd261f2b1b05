import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { HedgePolicy } from "effect-hedge"
import * as Policy from "../../src/simulate/policy.js"
import { type Cluster, rateFor, type Scenario } from "../../src/simulate/settings.js"
import { run } from "../../src/simulate/simulation.js"
import * as Workload from "../../src/simulate/workload.js"
import { runEngine } from "./engine.js"

const queues: Cluster = { servers: 16, balancer: "p2c", cancellation: "queued", slowdown: undefined }
const pauses = Workload.pauses(0.02)

const scenario = (cluster: Cluster, workload: Workload.Workload, rate: number): Scenario => ({
  cluster,
  traffic: { calls: 12_000, rate, seed: 5 },
  workload: () => workload
})

const busy = (utilisation: number, cluster: Partial<Cluster> = {}) =>
  scenario({ ...queues, ...cluster }, pauses, rateFor(utilisation, 16, pauses))

const cases: ReadonlyArray<readonly [string, HedgePolicy.AdaptiveOptions, Scenario]> = [
  [
    "copies that are independent",
    { extraLoad: 0.1 },
    scenario({ ...queues, servers: Infinity }, Workload.w1(0.08), 1000)
  ],
  ["two hedges", { extraLoad: 0.1, objective: 0.999 }, busy(0.6)],
  ["hedges that are left to chance", { extraLoad: 0.005 }, busy(0.6)],
  ["copies that stop at once", { extraLoad: 0.1 }, busy(0.8, { cancellation: "all" })],
  ["copies that run on", { extraLoad: 0.1 }, busy(0.8, { cancellation: "none" })],
  ["idle servers only", { extraLoad: 0.1, target: "idle" }, busy(0.8)],
  [
    "servers that become slow, which suspends hedging",
    { extraLoad: 0.1 },
    busy(0.55, { slowdown: { factor: 2.5, servers: 16, from: 8000, to: 12_000 } })
  ]
]

describe("the engine itself, on a simulated clock, hedges the same calls at the same times", () => {
  for (const [name, options, simulated] of cases) {
    it.scoped(name, () =>
      Effect.gen(function* () {
        const decided = run(yield* Policy.adaptive(options), simulated)
        const lived = runEngine(yield* Policy.adaptive(options), simulated)
        expect(lived.hedges).toEqual(decided.hedges)
        expect(decided.hedges.reduce((sum, hedges) => sum + hedges, 0)).toBeGreaterThan(40)
        const apart = lived.elapsed.map((millis, call) => Math.abs(millis - decided.elapsed[call]!))
        // what rounding makes of times that are sums
        expect(Math.max(...apart)).toBeLessThan(1e-4)
      })
    )
  }
})
