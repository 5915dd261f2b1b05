import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import * as Policy from "../../src/simulate/policy.js"
import { type Cluster, rateFor, type Scenario } from "../../src/simulate/settings.js"
import { type Outcomes, run } from "../../src/simulate/simulation.js"
import { extraLoad, percentile, recoveredAfter, times } from "../../src/simulate/statistics.js"
import * as Workload from "../../src/simulate/workload.js"

const queues: Cluster = { servers: 16, balancer: "p2c", cancellation: "queued", slowdown: undefined }
const pauses = Workload.pauses(0.02)

const busy = (utilisation: number, calls: number, seed = 1): Scenario => ({
  cluster: queues,
  traffic: { calls, rate: rateFor(utilisation, 16, pauses), seed },
  workload: () => pauses
})

const p99 = (outcomes: Outcomes) => percentile(times(outcomes, 2000), 0.99)

const fixed = (delay: number, throttle: HedgeThrottle.HedgeThrottle) =>
  Policy.built(HedgePolicy.layer({ schedule: HedgeSchedule.fixed(delay), throttle }))

describe("without hedges", () => {
  it("one server makes calls wait as long as Pollaczek and Khinchine say", () => {
    const workload: Workload.Workload = {
      name: "uniform",
      parts: [{ share: 1, factor: 1, component: { _tag: "Uniform", min: 5, max: 15 } }]
    }
    const rate = rateFor(0.7, 1, workload)
    const { elapsed } = run(undefined, {
      cluster: { ...queues, servers: 1, balancer: "random" },
      traffic: { calls: 400_000, rate, seed: 3 },
      workload: () => workload
    })
    const second = (15 ** 3 - 5 ** 3) / 30
    const wait = ((rate / 1000) * second) / (2 * (1 - 0.7))
    const mean = elapsed.reduce((sum, ms) => sum + ms, 0) / elapsed.length
    expect(Math.abs((mean - 10) / wait - 1)).toBeLessThan(0.03)
  })
})

describe("16 servers, as they were simulated before this was written", () => {
  it.scoped.each([
    [0.5, 251, 68],
    [0.6, 262, 132],
    [0.7, 277, 213],
    [0.8, 291, 260],
    [0.9, 344, 316]
  ])(
    "at a utilisation of %f: P99 %i, and %i with a hedge after 40 ms at a budget of 10 %%",
    ([utilisation, before, hedged]) =>
      Effect.gen(function* () {
        const scenario = busy(utilisation!, 150_000)
        const policy = yield* fixed(40, HedgeThrottle.loadBudget({ extraLoad: 0.1 }))
        expect(Math.abs(p99(run(undefined, scenario)) / before! - 1)).toBeLessThan(0.06)
        expect(Math.abs(p99(run(policy, scenario)) / hedged! - 1)).toBeLessThan(0.15)
      })
  )
})

describe("a simulation", () => {
  it.scoped("is the same for the same seed, and another for another", () =>
    Effect.gen(function* () {
      const simulated = (seed: number) =>
        Effect.map(Policy.adaptive({ extraLoad: 0.1 }), (policy) => run(policy, busy(0.7, 5000, seed)))
      expect(yield* simulated(7)).toStrictEqual(yield* simulated(7))
      expect((yield* simulated(8)).elapsed).not.toStrictEqual((yield* simulated(7)).elapsed)
    })
  )

  it.scoped("draws the same calls and first requests whatever the policy does", () =>
    Effect.gen(function* () {
      const scenario = { ...busy(0.5, 5000), cluster: { ...queues, servers: Infinity } }
      const plain = run(undefined, scenario)
      const hedged = run(yield* fixed(40, HedgeThrottle.unlimited), scenario)
      expect(hedged.startedAt).toStrictEqual(plain.startedAt)
      const isUnhedged = (_: number, call: number) => hedged.hedges[call] === 0
      expect(hedged.elapsed.filter(isUnhedged)).toStrictEqual(plain.elapsed.filter(isUnhedged))
      expect(extraLoad(hedged)).toBeGreaterThan(0.01)
    })
  )

  it.scoped("hedges without a budget and without cancellation make it worse, as in life", () =>
    Effect.gen(function* () {
      const scenario = { ...busy(0.8, 60_000), cluster: { ...queues, cancellation: "none" as const } }
      const hedged = run(yield* fixed(40, HedgeThrottle.unlimited), scenario)
      expect(p99(hedged)).toBeGreaterThan(10 * p99(run(undefined, scenario)))
    })
  )

  it.scoped("counts what was not sent, by its reason", () =>
    Effect.gen(function* () {
      const policy = yield* Policy.adaptive({ extraLoad: 0.1, target: "idle" })
      const { heldOut, suppressed, wins } = run(policy, busy(0.8, 20_000))
      expect(suppressed.WarmUp).toBeGreaterThanOrEqual(200)
      expect(suppressed.NoDistinctTarget).toBeGreaterThan(100)
      expect(suppressed.Holdout).toBe(heldOut.reduce((sum, held) => sum + held, 0))
      expect(wins).toBeGreaterThan(100)
    })
  )
})

describe("recovery", () => {
  it("is when the median is as it was, for good", () => {
    // a call each 10 ms, slow from 20 to 34 s, and once more in the second that begins at 40 s
    const startedAt = Float64Array.from({ length: 6000 }, (_, i) => i * 10)
    const elapsed = startedAt.map((at) => (at >= 20_000 && at < 34_000 ? 50 : 10))
    const outcomes = { startedAt, elapsed, hedges: new Uint8Array(), heldOut: new Uint8Array(), wins: 0 }
    expect(recoveredAfter({ ...outcomes, suppressed: {} }, 20_000, 30_000)).toBe(4000)
    elapsed.fill(50, 4000, 4060)
    expect(recoveredAfter({ ...outcomes, suppressed: {} }, 20_000, 30_000)).toBe(11_000)
  })
})
