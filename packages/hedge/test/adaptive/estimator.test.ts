import { describe, expect, it } from "@effect/vitest"
import { Clock, Duration, Effect, Option, TestClock } from "effect"
import { HedgePolicy, HedgeSchedule, LatencyEstimator } from "effect-hedge"
import type { Latencies } from "../../src/internal/estimator.js"
import { bucketCount, bucketOf, edges } from "../../src/internal/histogram.js"
import { draws, logNormal, pareto, percentile, sometimes, sorted, times, uniform, w1, w2 } from "./samples.js"

const record = (
  estimator: LatencyEstimator.LatencyEstimator,
  elapsed: ReadonlyArray<number>,
  rest: Omit<LatencyEstimator.Sample, "elapsed"> = {},
  now = 0
) => {
  for (const millis of elapsed)
    LatencyEstimator.unsafeRecord(estimator, now, { elapsed: Duration.millis(millis), ...rest })
}

const quantile = (estimator: LatencyEstimator.LatencyEstimator, p: number, key?: LatencyEstimator.Key) =>
  Effect.map(LatencyEstimator.quantile(estimator, p, key), (found) =>
    Duration.toMillis(Option.getOrThrow(found))
  )

/** How far apart two numbers are, as a share of the second. */
const error = (actual: number, expected: number): number => Math.abs(actual / expected - 1)

describe("buckets", () => {
  it("are at most 1 % wide from 10 µs to an hour", () => {
    for (let i = bucketOf(0.01); i <= bucketOf(3_600_000); i++)
      expect(edges[i + 1]! / edges[i]!).toBeLessThanOrEqual(1.01)
  })

  it("hold what lies between their ends, and each begins where the one before it ends", () => {
    for (let i = 0; i < bucketCount; i++) {
      expect(bucketOf(edges[i]!)).toBe(i)
      expect(bucketOf((edges[i]! + edges[i + 1]!) / 2)).toBe(i)
    }
  })

  it("take what is too small and too large at their ends", () => {
    expect([0, 1e-9, 0.005].map(bucketOf)).toStrictEqual([0, 0, 0])
    expect([1e7, 1e300, Infinity].map(bucketOf)).toStrictEqual(Array(3).fill(bucketCount - 1))
  })
})

describe("C34: 20,000 samples of a known distribution", () => {
  for (const [name, latency] of [
    ["log-normal", logNormal(1, 1)],
    ["Pareto", pareto(1.1, 2)],
    ["uniform", uniform(3, 4000)],
    ["W2", w2],
    ["microseconds", times(0.001, logNormal(4, 0.5))],
    ["minutes", times(60_000, logNormal(1, 0.5))]
  ] as const) {
    it.effect(`${name}: quantiles are within 1 % of the exact ones`, () =>
      Effect.gen(function* () {
        const estimator = yield* LatencyEstimator.make
        const latencies = draws(latency, 20_000, 1)
        record(estimator, latencies)
        const exact = sorted(latencies)
        for (const p of [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999])
          expect(error(yield* quantile(estimator, p), percentile(exact, p)), `P${100 * p}`).toBeLessThan(0.01)
      })
    )
  }

  it.effect("two windows that are merged answer as one would", () =>
    Effect.gen(function* () {
      const latencies = draws(w1, 20_000, 2)
      const estimator = yield* LatencyEstimator.make
      record(estimator, latencies)
      const one = LatencyEstimator.fromSamples(latencies)
      const merged = yield* LatencyEstimator.distribution(estimator)
      expect(merged.samples).toBe(20_000)
      for (const p of [0.01, 0.5, 0.9, 0.92, 0.99, 0.999])
        expect(merged.quantile(p)).toStrictEqual(one.quantile(p))
      for (const millis of [0, 9, 10, 33.3, 50, 400, 777, 1000, 2000])
        expect(merged.survival(millis)).toBe(one.survival(millis))
    })
  )

  it.effect("the window before the last one is forgotten", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      record(estimator, Array(10_000).fill(30))
      record(estimator, Array(10_000).fill(20))
      record(estimator, Array(1000).fill(25))
      const { samples, survival } = yield* LatencyEstimator.distribution(estimator)
      expect(samples).toBe(11_000)
      expect(survival(29)).toBe(0)
      expect(survival(19)).toBe(1)
    })
  )
})

describe("a cut-off primary", () => {
  it.effect("C37: is known to take longer, and no more", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      // a hedge at 60 ms wins in most of the calls that are still open then
      for (const millis of draws(w1, 10_000, 3))
        record(estimator, [Math.min(millis, 90)], { finished: millis <= 90 })
      for (const millis of draws(w1, 2000, 4)) record(estimator, [millis])
      const { finished, survival } = yield* LatencyEstimator.distribution(estimator)
      expect(finished).toBeLessThan(11_400)
      expect(survival(100)).toBeGreaterThan(0.075)
      expect(survival(100)).toBeLessThan(0.085)
      // of 0.08, a fifth lies above 900 ms: seen in the 2,000 calls that were not hedged, weighed with the 12,000
      expect(error(yield* quantile(estimator, 0.99), 937.5)).toBeLessThan(0.05)
    })
  )

  it.effect("taken as finished would hide the tail that hedging cures", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      for (const millis of draws(w1, 10_000, 3)) record(estimator, [Math.min(millis, 90)])
      expect(yield* quantile(estimator, 0.99)).toBeLessThan(91)
    })
  )

  it.effect("that is the slowest of all leaves what lies beyond it unknown", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      record(estimator, Array(900).fill(10))
      record(estimator, Array(100).fill(1000), { finished: false })
      expect(error(yield* quantile(estimator, 0.99), 1000)).toBeLessThan(0.01)
    })
  )
})

describe("time", () => {
  it.effect("a window ends after 60 seconds, by the Clock", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      const send = (count: number, elapsed: number) =>
        Effect.replicateEffect(LatencyEstimator.record(estimator, { elapsed }), count)
      const samples = Effect.map(LatencyEstimator.distribution(estimator), ({ samples }) => samples)
      yield* send(300, 30)
      yield* TestClock.adjust("59 seconds")
      yield* send(1, 30)
      expect(yield* samples).toBe(301)
      yield* TestClock.adjust("1 second")
      yield* send(250, 31)
      expect(yield* samples).toBe(551)
      yield* TestClock.adjust("60 seconds")
      yield* send(1, 31)
      expect(yield* samples).toBe(251)
    })
  )

  it.effect("but not with a handful of samples, which would say nothing of a tail", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      for (let minute = 0; minute < 30; minute++) {
        yield* LatencyEstimator.record(estimator, { elapsed: 30 })
        yield* TestClock.adjust("1 minute")
      }
      expect((yield* LatencyEstimator.distribution(estimator)).samples).toBe(30)
    })
  )

  describe("a quantile that was asked for", () => {
    /** Asks at 5 s, when 900 answers took 10 ms, and again after so many that took 1,000 ms. */
    const isReadAnew = (slow: number, at: number, meanwhile: ReadonlyArray<number>) =>
      Effect.gen(function* () {
        const estimator = yield* LatencyEstimator.make
        const ask = (now: number) => Effect.zipRight(TestClock.setTime(now), quantile(estimator, 0.999))
        record(estimator, Array(900).fill(10))
        const before = yield* ask(5000)
        for (const now of meanwhile) yield* ask(now)
        record(estimator, Array(slow).fill(1000))
        return (yield* ask(at)) !== before
      })

    for (const [name, slow, at, meanwhile, expected] of [
      ["is the same for a second", 99, 5999, [], false],
      ["is read anew then", 99, 6000, [], true],
      ["is read anew at once when a tenth of the samples is new", 100, 5000, [], true],
      ["is read anew by the first sample after a second in which there was none", 1, 6001, [6000], true]
    ] as const) {
      it.effect(name, () =>
        Effect.map(isReadAnew(slow, at, meanwhile), (isAnew) => expect(isAnew).toBe(expected))
      )
    }
  })

  it("a window does not end with fewer samples than the schedules that learn from it need", () => {
    const estimator = LatencyEstimator.unsafeMake()
    for (const warmUp of [300, 250])
      HedgePolicy.unsafeBegin(
        HedgePolicy.make({ schedule: HedgeSchedule.quantile(0.9, { warmUp, estimator }) }),
        0
      )
    for (const now of [0, 60_000]) record(estimator, Array(260).fill(10), {}, now)
    // the first window has taken 300 of them, the second goes on with the others
    record(estimator, [10], {}, 120_000)
    expect(Effect.runSync(LatencyEstimator.distribution(estimator)).samples).toBe(521)
  })
})

describe("C36: a drift of the primary", () => {
  for (const factor of [10, 0.1]) {
    // a drift that begins in the middle of a window is the slowest to be seen
    for (const before of [10_000, 14_900, 19_000]) {
      it.effect(`× ${factor} after ${before} samples is followed within 1.5 windows`, () =>
        Effect.gen(function* () {
          const estimator = yield* LatencyEstimator.make
          record(estimator, draws(logNormal(3, 0.5), before, 5))
          record(estimator, draws(times(factor, logNormal(3, 0.5)), 15_000, 6))
          const expected = factor * Math.exp(3 + 0.5 * 1.2816)
          expect(error(yield* quantile(estimator, 0.9), expected)).toBeLessThan(0.1)
        })
      )
    }
  }

  it.effect("is followed after 1,000 samples, or after a second if that is later for a block of them", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      record(estimator, draws(uniform(10, 50), 10_000, 7))
      // the block in which it begins does not show it, the next one does
      record(estimator, draws(uniform(100, 500), 400, 8))
      expect(yield* quantile(estimator, 0.9)).toBeLessThan(50)
      record(estimator, draws(uniform(100, 500), 1700, 9))
      expect(yield* quantile(estimator, 0.01)).toBeGreaterThan(99)

      yield* TestClock.adjust("1 second")
      const now = yield* Clock.currentTimeMillis
      for (const [i, millis] of draws(uniform(10, 50), 500, 10).entries())
        LatencyEstimator.unsafeRecord(estimator, now + 5 * i, { elapsed: Duration.millis(millis) })
      expect(yield* quantile(estimator, 0.99)).toBeLessThan(51)
    })
  )

  for (const slow of [0.3, 0.45, 0.49, 0.499, 0.55]) {
    it.effect(`is not seen where a share of ${slow} of the answers is slow by nature`, () =>
      Effect.gen(function* () {
        const estimator = yield* LatencyEstimator.make
        const bimodal = sometimes(slow, uniform(100, 101), uniform(10, 11))
        record(estimator, draws(bimodal, 101_000, 9))
        expect((yield* LatencyEstimator.distribution(estimator)).samples).toBe(11_000)
      })
    )
  }
})

describe("C38: keys", () => {
  const route = (i: number) => ["https://api.example.com", `GET /${i}`]

  it.effect("a young key answers with the distribution of the one that it stands under", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      record(estimator, Array(1000).fill(10), { key: route(1) })
      record(estimator, Array(199).fill(100), { key: route(2) })
      expect(error(yield* quantile(estimator, 0.5, route(2)), 10)).toBeLessThan(0.01)
      record(estimator, [100], { key: route(2) })
      expect(error(yield* quantile(estimator, 0.5, route(2)), 100)).toBeLessThan(0.01)
      // and one that was never seen does, too
      expect(error(yield* quantile(estimator, 0.5, route(3)), 10)).toBeLessThan(0.01)
      expect(error(yield* quantile(estimator, 0.5, "elsewhere"), 10)).toBeLessThan(0.01)
    })
  )

  it.effect("a sample counts for its key, for those that this stands under, and for the whole", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      const samples = (key?: LatencyEstimator.Key) =>
        Effect.map(LatencyEstimator.distribution(estimator, key), ({ samples }) => samples)
      record(estimator, Array(300).fill(10), { key: route(1) })
      record(estimator, Array(400).fill(10), { key: route(2) })
      record(estimator, Array(500).fill(10))
      expect(yield* Effect.all([samples(route(1)), samples(route(2))])).toStrictEqual([300, 400])
      expect(yield* samples("https://api.example.com")).toBe(700)
      expect(yield* samples()).toBe(1200)
    })
  )

  it.effect("keys that look alike are told apart", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      record(estimator, Array(200).fill(10), { key: ["a", "b"] })
      record(estimator, Array(200).fill(100), { key: ["a1:b"] })
      record(estimator, Array(200).fill(1000), { key: "a" })
      expect(error(yield* quantile(estimator, 0.5, ["a", "b"]), 10)).toBeLessThan(0.01)
      expect(error(yield* quantile(estimator, 0.5, "a1:b"), 100)).toBeLessThan(0.01)
    })
  )

  it.effect("of 10,000, the 256 that were used last are kept; another starts from its parent", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      for (let i = 0; i < 10_000; i++) {
        record(estimator, Array(i < 9744 ? 1 : 200).fill(10), { key: route(i) })
        record(estimator, [30], { key: route(0) })
      }
      expect((estimator as Latencies).keys).toHaveLength(256)
      const samples = (i: number) =>
        Effect.map(LatencyEstimator.distribution(estimator, route(i)), ({ samples }) => samples)
      expect(yield* samples(0)).toBe(10_001)
      expect(yield* samples(9999)).toBe(200)
      // one that went is taken up anew, and so is the one that goes for it
      for (const gone of [5, 9745]) expect(yield* samples(gone)).toBeGreaterThanOrEqual(10_000)
    })
  )
})

describe("what makes no sense", () => {
  const estimator = LatencyEstimator.unsafeMake()
  const one = LatencyEstimator.fromSamples([10])
  const { unsafeQuantile, unsafeRecord } = LatencyEstimator

  for (const [what, field, make] of [
    ["no sample", "sample", () => unsafeRecord(estimator, 0, 5 as never)],
    ["a sample without a time", "elapsed", () => unsafeRecord(estimator, 0, {} as never)],
    ["a sample's time", "elapsed", () => unsafeRecord(estimator, 0, { elapsed: -1 })],
    ["a sample's key", "key", () => unsafeRecord(estimator, 0, { elapsed: 1, key: 5 as never })],
    ["a part of a key", "key", () => unsafeRecord(estimator, 0, { elapsed: 1, key: ["a", 5 as never] })],
    ["when a sample is recorded", "now", () => unsafeRecord(estimator, Number.NaN, { elapsed: 1 })],
    ["a quantile", "quantile", () => unsafeQuantile(estimator, 0, 99)],
    ["a quantile that nothing is below", "quantile", () => unsafeQuantile(estimator, 0, 0)],
    ["when it is asked for", "now", () => unsafeQuantile(estimator, Number.NaN, 0.9)],
    ["the key that it is asked of", "key", () => unsafeQuantile(estimator, 0, 0.9, 5 as never)],
    ["a quantile of a distribution", "quantile", () => one.quantile(99)],
    ["a time after which some are open", "elapsed", () => one.survival(-1)],
    ["a latency", "elapsed", () => LatencyEstimator.fromSamples([Number.NaN])],
    ["latencies that are no list", "samples", () => LatencyEstimator.fromSamples(5 as never)]
  ] as const) {
    it(`is refused with the field's name: ${what}`, () => {
      expect(make).toThrowError(expect.objectContaining({ _tag: "HedgePolicyError", field }))
    })
  }

  it.effect("is a defect where it is recorded and asked for by an effect", () =>
    Effect.gen(function* () {
      for (const effect of [
        LatencyEstimator.record(estimator, { elapsed: -1 }),
        LatencyEstimator.quantile(estimator, 99)
      ])
        expect(yield* Effect.exit(effect)).toMatchObject({ cause: { _tag: "Die" } })
    })
  )

  it("is no estimator", () => {
    expect(LatencyEstimator.isLatencyEstimator(estimator)).toBe(true)
    for (const other of [undefined, null, 5, "x", {}, () => estimator])
      expect(LatencyEstimator.isLatencyEstimator(other)).toBe(false)
  })

  it.effect("without samples there is no quantile", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      expect(yield* LatencyEstimator.quantile(estimator, 0.9)).toStrictEqual(Option.none())
      expect((yield* LatencyEstimator.distribution(estimator)).quantile(0.9)).toStrictEqual(Duration.infinity)
    })
  )
})

it("samples that do not say so have finished", () => {
  const { finished, samples } = LatencyEstimator.fromSamples([
    { elapsed: 10 },
    { elapsed: 20, finished: false },
    30
  ])
  expect({ finished, samples }).toStrictEqual({ finished: 2, samples: 3 })
})
