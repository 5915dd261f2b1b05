import { afterEach, describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Option, Schedule, TestClock } from "effect"
import {
  Hedge,
  HedgeOutcome,
  HedgePolicy,
  HedgeSchedule,
  HedgeThrottle,
  LatencyEstimator
} from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"
import { FakeLoop } from "../fakeLoop.js"
import { random } from "./samples.js"
import { policyOf } from "./simulate.js"

type AnyPolicy = HedgePolicy.HedgePolicy<unknown, unknown, Hedge.HedgeError>

const never = { never: true } as const
const throttle = HedgeThrottle.unlimited
const options = { extraLoad: 0.2, warmUp: 20, holdout: 0, throttle } as const

const inspected = (policy: AnyPolicy, key?: LatencyEstimator.Key) =>
  Effect.map(HedgePolicy.inspect(policy, key), Option.getOrThrow)

/** When the attempts of a call start that is not answered within a minute. */
const startsOf = (policy: AnyPolicy) =>
  Effect.gen(function* () {
    const script = yield* HedgeTest.script([never], { repeat: true })
    const call = yield* Effect.fork(Hedge.hedge(script.effect, policy))
    yield* TestClock.adjust("1 minute")
    yield* Fiber.interrupt(call)
    return (yield* script.observed).startedAt.map(Math.round)
  })

const record = (estimator: LatencyEstimator.LatencyEstimator, ...latencies: ReadonlyArray<number>) => {
  for (const elapsed of latencies) LatencyEstimator.unsafeRecord(estimator, 0, { elapsed })
}

/** Of 20 answers one takes 1,000 ms, and the others 10 ms. */
const mostly10 = Array.from({ length: 100 }, (_, i) => (i % 20 === 0 ? 1000 : 10))

describe("the solver", () => {
  const shapes: ReadonlyArray<readonly [name: string, latency: (u: () => number) => number]> = [
    ["all the same", () => 10],
    ["all zero", () => 0],
    ["zero or an hour", (u) => (u() < 0.5 ? 0 : 3_600_000)],
    ["beyond the last bucket", () => 1e9],
    ["below the first", (u) => u() * 1e-5],
    ["over all magnitudes", (u) => 10 ** (u() * 12 - 5)],
    ["heavy", (u) => 1 / (1 - u())]
  ]
  it.each(shapes)("sends hedges at finite times within the budget, whatever it is told: %s", (_, latency) => {
    for (const samples of [1, 2, 200]) {
      const u = random(samples)
      const distribution = LatencyEstimator.fromSamples(Array.from({ length: samples }, () => latency(u)))
      for (const extraLoad of [Number.MIN_VALUE, 1e-9, 0.01, 0.5, 1])
        for (const objective of [Number.MIN_VALUE, 0.5, 0.99, 0.999, 1 - Number.EPSILON]) {
          const solution = HedgeSchedule.solve(distribution, { extraLoad, objective })
          const delays = solution.delays.map(Duration.toMillis)
          expect(delays.every((millis) => millis >= 0 && millis < Infinity)).toBe(true)
          expect(delays).toEqual([...delays].sort((a, b) => a - b))
          expect(solution.probabilities.every((p) => p > 0 && p <= 1)).toBe(true)
          expect(solution.extraLoad).toBeLessThanOrEqual(extraLoad * (1 + 1e-6))
          const unhedged = Duration.toMillis(distribution.quantile(objective))
          expect(Duration.toMillis(solution.quantile(objective))).toBeLessThanOrEqual(unhedged * (1 + 1e-9))
        }
    }
  })

  it("sends none of what was only ever cut off", () => {
    const cutOff = LatencyEstimator.fromSamples([{ elapsed: 80, finished: false }])
    expect(HedgeSchedule.solve(cutOff, { extraLoad: 1 }).delays).toEqual([])
  })
})

describe("a clock that was set back", () => {
  const set = (millis: number) => TestClock.setTime(millis)

  it.scoped("while a call runs makes its time no less than none", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      const policy = yield* policyOf(HedgePolicy.layerAdaptive({ ...options, estimator }))
      record(estimator, ...mostly10)
      yield* set(100_000)
      const answer = yield* Effect.makeLatch()
      const call = yield* Effect.fork(Hedge.hedge(answer.await, policy))
      yield* Effect.yieldNow()
      yield* set(50_000)
      yield* answer.open
      yield* Fiber.join(call)
      const { finished, quantile, samples } = yield* LatencyEstimator.distribution(estimator)
      expect([samples, finished]).toEqual([101, 101])
      expect(Math.round(Duration.toMillis(quantile(0.5)))).toBe(10)
      expect((yield* inspected(policy)).status).toBe("Active")
    })
  )

  /** A policy whose upstream has pushed back or grown slow at `at`, and whose clock is then set back by an hour. */
  const suspended = (
    guard: HedgePolicy.Guard,
    suspend: (policy: AnyPolicy, estimator: LatencyEstimator.LatencyEstimator) => Effect.Effect<unknown>
  ) =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      const policy = yield* policyOf(
        HedgePolicy.layerAdaptive({
          ...options,
          estimator,
          classify: () => HedgeOutcome.nonFatal("30 seconds")
        })
      )
      record(estimator, ...mostly10)
      yield* set(4_000_000)
      yield* suspend(policy, estimator)
      expect((yield* inspected(policy)).suspendedBy).toBe(guard)
      yield* set(400_000)
      yield* inspected(policy)
      yield* TestClock.adjust("1 minute")
      expect((yield* inspected(policy)).suspendedBy).toBe(undefined)
    })

  it.scoped("after a pushback does not make that longer", () =>
    suspended("Pushback", (policy) => Effect.ignore(Hedge.hedge(Effect.fail("busy"), policy)))
  )

  it.scoped("while hedging is suspended does not make that longer", () =>
    Effect.gen(function* () {
      const policy = yield* policyOf(
        HedgePolicy.layer({ schedule: HedgeSchedule.quantile(0.5, { warmUp: 20 }), throttle })
      )
      const answered = (now: number, millis: number) => {
        const call = HedgePolicy.unsafeBegin(policy, now)
        call.ended(now + millis, 0, "Win")
        call.settled(now + millis, 0)
      }
      for (let i = 0; i < 300; i++) answered(4_000_000 + 10 * i, 10)
      for (let i = 0; i < 2000; i++) answered(4_003_000 + 10 * i, 100)
      yield* set(4_023_000)
      expect((yield* inspected(policy)).suspendedBy).toBe("MedianGrowth")
      answered(400_000, 100)
      yield* set(460_100)
      expect((yield* inspected(policy)).suspendedBy).toBe(undefined)
    })
  )
})

it.scoped("a clock that stands still stops nothing", () =>
  Effect.gen(function* () {
    const policy = yield* policyOf(HedgePolicy.layerAdaptive(options))
    yield* Effect.replicateEffect(Hedge.hedge(Effect.yieldNow(), policy), 25_000)
    const { delays, p99, samples } = yield* inspected(policy)
    expect(samples).toBeGreaterThan(10_000)
    expect(Duration.toMillis(p99.unhedged)).toBeLessThan(0.01)
    expect(delays.map(Duration.toMillis).every((millis) => millis < 0.01)).toBe(true)
  })
)

describe("where the primary never answers", () => {
  const meanwhile = "50 millis"

  for (const [name, schedule] of [
    ["budgeted", HedgeSchedule.budgeted({ extraLoad: 1, warmUp: 20, holdout: 0, meanwhile })],
    ["quantile", HedgeSchedule.quantile(0.9, { warmUp: 20, meanwhile })]
  ] as const) {
    it.scoped(`its hedges go on to answer after the delay for the meantime: ${name}`, () =>
      Effect.gen(function* () {
        const policy = yield* policyOf(HedgePolicy.layer({ schedule, throttle }))
        for (let call = 0; call < 100; call++) {
          const answer = Hedge.hedgeWith(
            ({ index }) => (index === 0 ? Effect.never : Effect.sleep(10)),
            policy
          )
          const fiber = yield* Effect.fork(answer)
          yield* TestClock.adjust(60)
          expect(fiber.unsafePoll()).not.toBe(null)
        }
        expect((yield* inspected(policy)).status).toBe("WarmUp")
      })
    )
  }

  it.scoped("and all attempts fail late, hedging goes on as it does while it warms up", () =>
    Effect.gen(function* () {
      const policy = yield* policyOf(HedgePolicy.layerAdaptive({ ...options, meanwhile }))
      for (let call = 0; call < 50; call++) {
        const fiber = yield* Effect.fork(
          Effect.exit(Hedge.hedge(Effect.delay(Effect.fail("down"), 500), policy))
        )
        yield* TestClock.adjust(1000)
        expect(fiber.unsafePoll()).not.toBe(null)
      }
      expect(yield* startsOf(policy)).toEqual([0, 50])
    })
  )
})

describe("a caller that gives up", () => {
  it.scoped("at any time leaves nothing in flight and teaches nothing", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      const cap = HedgeThrottle.concurrency(1)
      const policy = yield* policyOf(HedgePolicy.layerAdaptive({ ...options, estimator, throttle: cap }))
      record(estimator, ...mostly10)
      for (let millis = 0; millis < 40; millis++) {
        const script = yield* HedgeTest.script([never], { repeat: true })
        const call = yield* Effect.fork(Hedge.hedge(script.effect, policy))
        yield* TestClock.adjust(millis)
        yield* Fiber.interrupt(call)
        const { finalizers, inFlight, starts } = yield* script.observed
        expect({ finalizers, inFlight }).toEqual({ finalizers: starts, inFlight: 0 })
        expect(cap.tokens?.(0)).toBe(1)
      }
      expect((yield* LatencyEstimator.distribution(estimator)).samples).toBe(100)
    })
  )

  describe("under the live clock", () => {
    let loop: FakeLoop
    afterEach(() => loop.restore())

    const learning = HedgeSchedule.quantile(0.9, { warmUp: 1, meanwhile: 10 })
    // a step that cannot be interrupted asks what was learned when the call is over
    const late = Schedule.makeWithState(learning.initial, (now, input: HedgeSchedule.HedgeState, state) =>
      Effect.uninterruptible(Effect.flatMap(Effect.sleep(30), () => learning.step(now, input, state)))
    )

    for (const [name, schedule] of [
      ["a schedule that learns", learning],
      ["one that is combined with others", Schedule.intersect(learning, Schedule.recurs(3))],
      ["one that is asked late", late]
    ] as const) {
      it(`nothing beats any more, whenever that is: ${name}`, async () => {
        loop = new FakeLoop()
        for (let millis = 0; millis < 40; millis += 3) {
          const call = Effect.runFork(Hedge.hedge(Effect.never, { schedule, throttle, maxAttempts: 3 }))
          await loop.run(millis)
          call.unsafeInterruptAsFork(call.id())
          await loop.run(100)
          expect(call.unsafePoll()).not.toBe(null)
          expect(loop.pending).toBe(0)
        }
      })
    }
  })
})

describe("odd combinations of learned delays", () => {
  type Learned = HedgeSchedule.HedgeSchedule
  for (const [name, combine, expected] of [
    ["that end", (it: Learned) => Schedule.intersect(it, Schedule.recurs(1)), [0, 10]],
    [
      "that have others after them",
      (it: Learned) => Schedule.andThen(Schedule.intersect(it, Schedule.recurs(1)), Schedule.spaced(70)),
      [0, 10, 80]
    ],
    ["that are made longer", (it: Learned) => Schedule.delayed(it, Duration.times(3)), [0, 30, 60]],
    ["that are asked after others", (it: Learned) => Schedule.andThen(Schedule.recurs(1), it), [0, 0, 10]],
    ["of which the longer counts", (it: Learned) => Schedule.intersect(it, Schedule.spaced(25)), [0, 25, 50]],
    ["of which the shorter counts", (it: Learned) => Schedule.union(it, Schedule.spaced(4)), [0, 4, 8]]
  ] as const) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const estimator = yield* LatencyEstimator.make
        record(estimator, ...mostly10)
        const learned = HedgeSchedule.quantile(0.9, { warmUp: 20, estimator })
        const schedule: Schedule.Schedule<unknown, HedgeSchedule.HedgeState> = combine(learned)
        expect(yield* startsOf(HedgePolicy.make({ schedule, throttle, maxAttempts: 3 }))).toEqual(expected)
      })
    )
  }
})

describe("a policy that is made another", () => {
  it.scoped("of more or fewer attempts plans for as many", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      const three = yield* policyOf(HedgePolicy.layerAdaptive({ ...options, objective: 0.999, estimator }))
      record(
        estimator,
        ...Array.from({ length: 2000 }, (_, i) => (i % 10 === 0 ? 500 + (i % 500) : 10 + (i % 40)))
      )
      const two = HedgePolicy.modify(three, { maxAttempts: 2 })
      const delays = (policy: AnyPolicy) => Effect.map(inspected(policy), ({ delays }) => delays.length)
      expect(yield* delays(three)).toBe(2)
      expect(yield* delays(two)).toBe(1)
      expect(yield* delays(HedgePolicy.modify(two, { maxAttempts: 3 }))).toBe(2)
    })
  )

  it.scoped("of the same attempts goes on with what it knows", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      const policy = yield* policyOf(HedgePolicy.layerAdaptive({ ...options, estimator }))
      record(estimator, ...mostly10)
      expect((yield* inspected(policy)).status).toBe("Active")
      expect((yield* inspected(HedgePolicy.modify(policy, { name: "other" }))).status).toBe("Active")
    })
  )

  it.effect("by a layer that is built again begins anew", () =>
    Effect.gen(function* () {
      const layer = HedgePolicy.layerAdaptive(options)
      const samples = Effect.gen(function* () {
        const policy = yield* HedgePolicy.DefaultPolicy
        yield* Hedge.hedge(Effect.void, policy)
        return (yield* inspected(policy)).samples
      })
      for (let i = 0; i < 3; i++) expect(yield* Effect.provide(samples, Layer.fresh(layer))).toBe(1)
    })
  )
})

describe("20,000 keys", () => {
  it.scoped("leave 256, and the routes among them that are in use keep what they know", () =>
    Effect.gen(function* () {
      const policy = yield* policyOf(HedgePolicy.layerAdaptive(options))
      const call = (key: LatencyEstimator.Key) => Hedge.hedge(Effect.void, HedgePolicy.keyed(policy, key))
      for (let i = 0; i < 20_000; i++) {
        yield* call(["api", `/${i}`])
        if (i % 100 === 0) yield* call(["api", "in use"])
      }
      expect(yield* HedgePolicy.keys(policy)).toHaveLength(256)
      expect((yield* inspected(policy, ["api", "in use"])).samples).toBe(200)
    })
  )

  it.scoped("that come once do not push out routes that come back, though others come in between", () =>
    Effect.gen(function* () {
      const policy = yield* policyOf(HedgePolicy.layerAdaptive(options))
      const call = (key: LatencyEstimator.Key) => Hedge.hedge(Effect.void, HedgePolicy.keyed(policy, key))
      for (let round = 0; round < 10; round++) {
        for (let route = 0; route < 10; route++) yield* call(["api", `route ${route}`])
        // only between the first two rounds there are few enough for all to be kept
        const others = round === 0 ? 200 : 1000
        for (let i = 0; i < others; i++) yield* call(["api", `${round} ${i}`])
      }
      const kept = yield* HedgePolicy.keys(policy)
      for (let route = 0; route < 10; route++) expect(kept).toContainEqual(["api", `route ${route}`])
    })
  )
})
