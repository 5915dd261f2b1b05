import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Option } from "effect"
import { HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import { logNormal, pareto, times, uniform, w1, w2 } from "./samples.js"
import { always, inspectedAt, latencyAt, loadOf, policyOf, refusedFor, simulate } from "./simulate.js"

/** What a policy knows, when time has come to a point on the simulation's clock. */
const inspected = (policy: HedgePolicy.Service) => Effect.map(HedgePolicy.inspect(policy), Option.getOrThrow)

const millis = (durations: ReadonlyArray<Duration.Duration>) => durations.map(Duration.toMillis)

const adaptive = (options: HedgePolicy.AdaptiveOptions) => policyOf(HedgePolicy.layerAdaptive(options))

const byQuantile = (q: number) =>
  policyOf(HedgePolicy.layer({ schedule: HedgeSchedule.quantile(q), throttle: HedgeThrottle.unlimited }))

/** How far apart two numbers are, as a share of the second. */
const error = (actual: number, expected: number): number => Math.abs(actual / expected - 1)

describe("a policy that is given its extra load", () => {
  for (const [name, latency, extraLoad, oracle, gap] of [
    ["W1 with 8 % slow", w1, 0.1, 97.2, 0.02],
    ["W1 with 8 % slow", w1, 0.2, 92.9, 0.02],
    ["W2", w2, 0.1, 15.6, 0.02],
    ["log-normal(1, 1)", logNormal(1, 1), 0.05, 18.2, 0.02],
    ["Pareto(1.1, 2)", pareto(1.1, 2), 0.02, 60.1, 0.05]
  ] as const) {
    it.scoped(`comes within ${100 * gap} % of the oracle's P99 on ${name} at ${100 * extraLoad} %`, () =>
      Effect.gen(function* () {
        const policy = yield* adaptive({ extraLoad })
        const outcomes = simulate(policy, { calls: 200_000, seed: 21, latency: always(latency) })
        expect(latencyAt(outcomes.slice(2000), 0.99) / oracle).toBeLessThan(1 + gap)
        expect(loadOf(outcomes)).toBeLessThan(extraLoad + 0.005)
      })
    )
  }

  it.scoped("sends two hedges for an objective of 0.999", () =>
    Effect.gen(function* () {
      const policy = yield* adaptive({ extraLoad: 0.12, objective: 0.999 })
      const outcomes = simulate(policy, { calls: 100_000, seed: 22, latency: always(w1) })
      expect(policy.maxAttempts).toBe(3)
      expect(Math.max(...outcomes.map(({ hedges }) => hedges))).toBe(2)
      expect(latencyAt(outcomes.slice(2000), 0.999)).toBeLessThan(200)
      expect(loadOf(outcomes)).toBeLessThan(0.125)
    })
  )

  it.scoped("holds one call in a thousand out", () =>
    Effect.gen(function* () {
      const policy = yield* adaptive({ extraLoad: 0.1 })
      const outcomes = simulate(policy, { calls: 60_000, seed: 23, latency: always(w1) })
      // those of the held-out calls to which a hedge was due
      expect(refusedFor(outcomes, "Holdout")).toBeGreaterThan(0)
      expect(refusedFor(outcomes, "Holdout")).toBeLessThan(20)
    })
  )

  for (const [name, latency, extraLoad, unhedged, hedged] of [
    ["W1 with 8 % slow", w1, 0.1, 937.5, 97.2],
    ["W2", w2, 0.1, 64.1, 15.6],
    ["log-normal(1, 1)", logNormal(1, 1), 0.05, 27.8, 18.2]
  ] as const) {
    it.scoped(`knows what the P99 of ${name} would be without hedging, within 7 %`, () =>
      Effect.gen(function* () {
        const policy = yield* adaptive({ extraLoad })
        simulate(policy, { calls: 120_000, seed: 23, latency: always(latency) })
        const { atObjective, p99 } = yield* inspected(policy)
        expect(error(Duration.toMillis(p99.unhedged), unhedged)).toBeLessThan(0.07)
        expect(error(Duration.toMillis(p99.hedged), hedged)).toBeLessThan(0.03)
        expect(atObjective).toStrictEqual(p99)
      })
    )
  }

  it.scoped(
    "knows it of Pareto(1.1, 2) too, of whose slow answers a window shows but a hundred: within 6 % on average",
    () =>
      Effect.gen(function* () {
        const unhedged = 2 * 0.01 ** (-1 / 1.1)
        let squares = 0
        for (let seed = 1; seed <= 10; seed++) {
          const policy = yield* adaptive({ extraLoad: 0.02 })
          simulate(policy, { calls: 120_000, seed, latency: always(pareto(1.1, 2)) })
          const { p99 } = yield* inspected(policy)
          squares += error(Duration.toMillis(p99.unhedged), unhedged) ** 2
        }
        expect(Math.sqrt(squares / 10)).toBeLessThan(0.06)
      })
  )

  it.scoped("holds out as many as it is told", () =>
    Effect.gen(function* () {
      const policy = yield* adaptive({ extraLoad: 0.2, holdout: 0.25 })
      const outcomes = simulate(policy, { calls: 20_000, seed: 24, latency: always(w1) })
      const due = outcomes.filter(({ hedges, refused }) => hedges > 0 || refused.includes("Holdout"))
      expect(refusedFor(outcomes, "Holdout") / due.length).toBeCloseTo(0.25, 1)
    })
  )

  it.scoped("does not send at once what its budget has saved up, when all calls are late together", () =>
    Effect.gen(function* () {
      const policy = yield* adaptive({ extraLoad: 0.1, warmUp: 10_000, meanwhile: "80 millis" })
      // 9 s in which nothing is hedged, and 0.4 s in which everything would be
      const outcomes = simulate(policy, {
        calls: 9400,
        seed: 36,
        latency: (call, u) => (call < 9000 ? uniform(10, 50)(u) : 500)
      })
      const late = outcomes.slice(9000)
      expect(loadOf(late) * late.length).toBeGreaterThan(40)
      expect(loadOf(late) * late.length).toBeLessThan(40 + 0.15 * 400 + 10)
      expect(refusedFor(late, "Throttled")).toBeGreaterThan(250)
    })
  )

  it.scoped("does not hedge where it gains nothing", () =>
    Effect.gen(function* () {
      const policy = yield* adaptive({ extraLoad: 0.1 })
      const outcomes = simulate(policy, { calls: 5000, seed: 25, latency: () => 30 })
      expect(loadOf(outcomes)).toBe(0)
      expect((yield* inspected(policy)).status).toBe("NoGain")
    })
  )
})

describe("C33: warm-up", () => {
  for (const [extraLoad, warmUp] of [
    [0.1, 200],
    [0.05, 200],
    [0.01, 1000],
    [0.0001, 10_000]
  ] as const) {
    it.scoped(`no hedge before ${warmUp} samples, at an extra load of ${extraLoad}`, () =>
      Effect.gen(function* () {
        const policy = yield* adaptive({ extraLoad })
        const outcomes = simulate(policy, { calls: warmUp + 50, seed: 26, latency: () => 0.5, rate: 100 })
        const warming = refusedFor(outcomes, "WarmUp")
        expect(warming).toBeGreaterThanOrEqual(warmUp)
        expect(warming).toBeLessThanOrEqual(warmUp + 1)
        expect(loadOf(outcomes)).toBe(0)
      })
    )
  }

  it.scoped("a fixed delay is used meanwhile, if one is given", () =>
    Effect.gen(function* () {
      const policy = yield* adaptive({ extraLoad: 0.1, warmUp: 1000, meanwhile: "80 millis" })
      const outcomes = simulate(policy, { calls: 900, seed: 27, latency: always(w1) })
      expect(loadOf(outcomes)).toBeGreaterThan(0.04)
      expect(refusedFor(outcomes, "WarmUp")).toBe(0)
      const { delays, status } = yield* inspected(policy)
      expect([delays, status]).toStrictEqual([[], "WarmUp"])
    })
  )
})

describe("C35: hedging at its own target for 50 windows", () => {
  for (const [name, latency, target] of [
    ["W1", w1, 0.12],
    ["W2", w2, 0.05],
    ["log-normal(1, 1)", logNormal(1, 1), 0.02]
  ] as const) {
    it.scoped(`keeps the hedge rate within 0.5 points of ${100 * target} % on ${name}`, () =>
      Effect.gen(function* () {
        const policy = yield* byQuantile(1 - target)
        const outcomes = simulate(policy, { calls: 500_000, seed: 28, latency: always(latency) })
        // what chance does to 50,000 calls is less than that
        for (let from = 10_000; from < 500_000; from += 50_000)
          expect(Math.abs(loadOf(outcomes.slice(from, from + 50_000)) - target)).toBeLessThan(0.005)
      })
    )
  }
})

describe("C36: a drift of the primary", () => {
  for (const factor of [10, 0.1]) {
    for (const drift of [30_000, 33_000, 37_000]) {
      it.scoped(`× ${factor} after ${drift} calls: the delay has followed within 1.5 windows`, () =>
        Effect.gen(function* () {
          const before = yield* adaptive({ extraLoad: 0.1 })
          simulate(before, { calls: drift, seed: 29, latency: always(w2) })
          const [was] = millis((yield* inspected(before)).delays)

          const policy = yield* adaptive({ extraLoad: 0.1 })
          const outcomes = simulate(policy, {
            calls: drift + 15_000,
            seed: 29,
            latency: (call, u) => (call < drift ? w2(u) : times(factor, w2)(u))
          })
          const [is] = millis((yield* inspected(policy)).delays)
          expect(error(is!, factor * was!)).toBeLessThan(0.1)
          // slower answers suspend hedging for a window, faster ones do not
          const suspended = refusedFor(outcomes.slice(drift), "Suspended")
          if (factor > 1) expect(suspended).toBeGreaterThan(500)
          else expect(suspended).toBe(0)
        })
      )
    }
  }
})

describe("C39: two copies that are always slow together", () => {
  it.scoped("suspend hedging, which says why, and comes back when they part", () =>
    Effect.gen(function* () {
      const policy = yield* adaptive({ extraLoad: 0.1 })
      const together = (call: number) => call >= 10_000 && call < 40_000
      const seen: Record<number, HedgePolicy.Inspection> = {}
      const outcomes = simulate(policy, {
        calls: 70_000,
        seed: 30,
        latency: (call, u, first) => (first !== undefined && first > 100 && together(call) ? first : w1(u)),
        onCall: (call, now) => {
          if (call % 1000 === 500) seen[call] = inspectedAt(policy, now)
        }
      })
      expect(seen[9500]).toMatchObject({ status: "Active", suspendedBy: undefined })
      expect(seen[12_500]).toMatchObject({ status: "Suspended", suspendedBy: "Efficacy" })
      // to try again now and then is all that is done, ever more seldom
      expect(loadOf(outcomes.slice(12_000, 40_000))).toBeLessThan(0.015)
      expect(loadOf(outcomes.slice(26_000, 40_000))).toBeLessThan(0.01)
      expect(refusedFor(outcomes.slice(12_000, 40_000), "Suspended")).toBeGreaterThan(1000)
      expect(loadOf(outcomes.slice(55_000))).toBeGreaterThan(0.09)
      expect(seen[69_500]).toMatchObject({ status: "Active" })
    })
  )
})

describe("a service that is slow for a while", () => {
  const usual = 20_000
  /** Calls at 1,000 a second of which those from `usual` on are slow for so many. */
  const slowFor = (calls: number, factor: number) =>
    Effect.gen(function* () {
      const policy = yield* adaptive({ extraLoad: 0.1 })
      const isSlow = (call: number) => call >= usual && call < usual + calls
      const seen: Record<number, HedgePolicy.Inspection> = {}
      const outcomes = simulate(policy, {
        calls: usual + calls + 8000,
        seed: 37,
        latency: (call, u) => (isSlow(call) ? factor : 1) * w1(u),
        onCall: (call, now) => {
          if (call % 500 === 0) seen[call] = inspectedAt(policy, now)
        }
      })
      return { outcomes, seen }
    })

  it.scoped("is not hedged while it is, and is again as soon as it is not, by what was known before", () =>
    Effect.gen(function* () {
      const { outcomes, seen } = yield* slowFor(3000, 5)
      expect(seen[usual + 2500]).toMatchObject({ status: "Suspended", suspendedBy: "MedianGrowth" })
      expect(loadOf(outcomes.slice(usual + 2500, usual + 3000))).toBe(0)
      // two blocks of 1,000 answers later at most
      const after = seen[usual + 5500]!
      expect(after.status).toBe("Active")
      expect(error(millis(after.delays)[0]!, millis(seen[usual]!.delays)[0]!)).toBeLessThan(0.15)
      expect(refusedFor(outcomes.slice(usual + 5500), "Suspended")).toBe(0)
      expect(loadOf(outcomes.slice(usual + 5500))).toBeGreaterThan(0.08)
    })
  )

  it.scoped("for less than a second is hedged all the time", () =>
    Effect.gen(function* () {
      const { outcomes } = yield* slowFor(400, 5)
      expect(refusedFor(outcomes, "Suspended")).toBe(0)
    })
  )

  it.scoped("and then quick for a while is not taken for slow afterwards", () =>
    Effect.gen(function* () {
      const { outcomes, seen } = yield* slowFor(3000, 0.2)
      expect(refusedFor(outcomes, "Suspended")).toBe(0)
      const after = seen[usual + 5500]!
      expect(after.status).toBe("Active")
      expect(error(millis(after.delays)[0]!, millis(seen[usual]!.delays)[0]!)).toBeLessThan(0.15)
    })
  )

  it.scoped("again and again is left alone for longer each time", () =>
    Effect.gen(function* () {
      const policy = yield* adaptive({ extraLoad: 0.1 })
      const from = 10_000
      const suspensions: Array<number> = []
      let isSuspended = false
      simulate(policy, {
        calls: from + 30_000,
        seed: 38,
        latency: (call, u) => (call >= from && Math.floor((call - from) / 2000) % 2 === 0 ? 5 : 1) * w1(u),
        onCall: (call, now) => {
          if (call % 25 !== 0) return
          const wasSuspended = isSuspended
          isSuspended = inspectedAt(policy, now).status === "Suspended"
          if (isSuspended && !wasSuspended) suspensions.push(0)
          if (isSuspended) suspensions[suspensions.length - 1]! += 25
        }
      })
      // each at least twice the least that the one before it might have been
      const least = [625, 1250, 2500, 5000]
      expect(suspensions.length).toBeGreaterThanOrEqual(least.length)
      for (const [i, calls] of least.entries()) expect(suspensions[i]).toBeGreaterThanOrEqual(calls - 50)
    })
  )
})

describe("what is usual", () => {
  it.scoped("is known better as a first window grows: a slow rise is no growth", () =>
    Effect.gen(function* () {
      const policy = yield* adaptive({ extraLoad: 0.1 })
      const outcomes = simulate(policy, {
        calls: 9000,
        seed: 39,
        // a process that has just begun is quick, with more to do it takes more than twice as long
        latency: (call, u) => (1 + Math.min(call, 6000) / 4500) * w1(u)
      })
      expect(refusedFor(outcomes, "Suspended")).toBe(0)
    })
  )
})

describe("C40: a budget that cannot reach the objective", () => {
  it.scoped("is reported, with the budget that would", () =>
    Effect.gen(function* () {
      const policy = yield* adaptive({ extraLoad: 0.02, within: "110 millis" })
      simulate(policy, { calls: 20_000, seed: 31, latency: always(w1) })
      const { atObjective, extraLoad, isReached, neededExtraLoad } = yield* inspected(policy)
      expect([extraLoad, isReached]).toStrictEqual([0.02, false])
      expect(Duration.toMillis(atObjective.hedged)).toBeGreaterThan(800)
      expect(neededExtraLoad).toBeGreaterThan(0.06)
      expect(neededExtraLoad).toBeLessThan(0.09)

      const better = yield* adaptive({ extraLoad: neededExtraLoad! * 1.1, within: "110 millis" })
      const outcomes = simulate(better, { calls: 60_000, seed: 32, latency: always(w1) })
      expect(latencyAt(outcomes.slice(2000), 0.99)).toBeLessThan(110)
      expect((yield* inspected(better)).isReached).toBe(true)
    })
  )

  it.scoped("is one that leaves to chance who is hedged, if no time is given", () =>
    Effect.gen(function* () {
      const policy = yield* adaptive({ extraLoad: 0.005 })
      simulate(policy, { calls: 20_000, seed: 33, latency: always(w1) })
      const { isReached, neededExtraLoad, probabilities } = yield* inspected(policy)
      expect(probabilities[0]).toBeLessThan(1)
      expect(isReached).toBe(false)
      expect(neededExtraLoad).toBeGreaterThan(0.02)
    })
  )
})
