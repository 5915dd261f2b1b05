/** Hedging where it makes the load that it then meets: servers with queues. */
import { Effect } from "effect"
import * as Policy from "../policy.js"
import { type Cancellation, type Cluster, rateFor } from "../settings.js"
import { run } from "../simulation.js"
import { firstAt, percentile, recoveredAfter, times } from "../statistics.js"
import * as Workload from "../workload.js"
import { type Line, line, percent } from "./line.js"

const workload = Workload.pauses(0.02)
const budget = 0.1
const calls = 200_000
const warmUp = 2000

const cluster = (cancellation: Cancellation): Cluster => ({
  servers: 16,
  balancer: "p2c",
  cancellation,
  slowdown: undefined
})

const utilisations = [0.5, 0.6, 0.7, 0.8, 0.9]
const targets = {
  any: { everywhere: 1.05, at: 0.6, there: 0.55 },
  idle: { everywhere: 1.05, at: 0.6, there: 0.45 }
}

/** What a cancelled copy leaves to its server: nothing, or to end what it has begun. */
const cancellations = [
  ["all", "cancelled copies stop"],
  ["queued", "begun copies run on"]
] as const

export const neverWorse = (seed: number): Effect.Effect<ReadonlyArray<Line>> =>
  Effect.map(
    Effect.forEach(cancellations, ([cancellation, how]) =>
      Effect.forEach(utilisations, (utilisation) =>
        Effect.gen(function* () {
          const scenario = {
            cluster: cluster(cancellation),
            traffic: { calls, rate: rateFor(utilisation, 16, workload), seed },
            workload: () => workload
          }
          const p99 = (policy?: Parameters<typeof run>[0]) =>
            percentile(times(run(policy, scenario), warmUp), 0.99)
          const unhedged = p99()
          return yield* Effect.forEach(["any", "idle"] as const, (target) =>
            Effect.gen(function* () {
              const policy = yield* Policy.adaptive({ extraLoad: budget, target })
              const { at, everywhere, there } = targets[target]
              return line(
                `P99 of unhedged, 16 servers at ${percent(utilisation)}, hedges to ${target === "any" ? "any server" : "idle servers"}, ${how}`,
                p99(policy) / unhedged,
                utilisation === at ? there : everywhere
              )
            })
          )
        })
      )
    ),
    (all) => all.flat(2)
  ).pipe(Effect.scoped)

const slowFrom = 20_000
const slowTo = 30_000
const end = 90_000

/** All servers become slow for a while: whoever hedges is to be back as soon as who does not. */
export const recovery = (seed: number): Effect.Effect<ReadonlyArray<Line>> =>
  Effect.scoped(
    Effect.gen(function* () {
      const rate = rateFor(0.55, 16, workload)
      const scenario = {
        cluster: {
          ...cluster("queued"),
          slowdown: { factor: 2.5, servers: 16, from: slowFrom, to: slowTo }
        },
        traffic: { calls: Math.round((end / 1000) * rate), rate, seed },
        workload: () => workload
      }
      const unhedged = run(undefined, scenario)
      const hedged = run(yield* Policy.adaptive({ extraLoad: budget }), scenario)
      const back = recoveredAfter(unhedged, slowFrom, slowTo)
      const from = firstAt(unhedged.startedAt, slowTo + back)
      const p99 = (outcomes: typeof hedged) => percentile(times(outcomes, from), 0.99)
      return [
        // a second's median tells no more than the second
        line(
          "seconds until hedged calls are back after all servers were 2.5 × slower, beyond those of unhedged calls",
          (recoveredAfter(hedged, slowFrom, slowTo) - back) / 1000,
          1
        ),
        line("P99 of unhedged, once unhedged calls are back", p99(hedged) / p99(unhedged), 1.05)
      ]
    })
  )
