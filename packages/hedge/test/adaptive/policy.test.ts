import { afterEach, describe, expect, it } from "@effect/vitest"
import { Clock, Duration, Effect, Exit, Fiber, Layer, Option, Schedule, TestClock } from "effect"
import {
  Hedge,
  HedgeEvent,
  HedgeOutcome,
  HedgePolicy,
  HedgeSchedule,
  HedgeThrottle,
  LatencyEstimator
} from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"
import { FakeLoop } from "../fakeLoop.js"
import { poll } from "../support.js"
import { draws, percentile, sorted, w1 } from "./samples.js"
import { policyOf } from "./simulate.js"

type AnyPolicy = HedgePolicy.HedgePolicy<unknown, unknown, Hedge.HedgeError>

const never = { never: true } as const

/** A policy that has learned enough after 20 calls. */
const options = { extraLoad: 0.2, warmUp: 20, holdout: 0, throttle: HedgeThrottle.unlimited } as const

/** Calls that are answered after these times, all at once. */
const answered = (policy: AnyPolicy, ...after: ReadonlyArray<number>) =>
  Effect.gen(function* () {
    const fibers = yield* Effect.forEach(after, (millis) =>
      Effect.fork(Effect.exit(Hedge.hedge(Effect.sleep(millis), policy)))
    )
    yield* TestClock.adjust(Math.max(...after))
    yield* Fiber.joinAll(fibers)
  })

/** Of 20 answers one takes 1,000 ms, and the others less. */
const mostly = (usual: number, count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, i) => (i % 20 === 0 ? 1000 : usual))

/** Teaches a policy that an answer takes 10 ms, and one in 20 of them 1,000 ms. */
const taught = (policy: AnyPolicy, count = 20) => answered(policy, ...mostly(10, count))

const events = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const recorder = yield* HedgeTest.recordEvents
    yield* Effect.exit(self).pipe(Effect.provide(recorder.layer))
    return yield* recorder.tagged("HedgeSuppressed")
  })

/** Why a call that is not answered was refused hedges within 10 s, and when. */
const refusals = (policy: AnyPolicy, within = 10_000) =>
  events(
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never], { repeat: true })
      const call = yield* Effect.fork(Hedge.hedge(script.effect, policy))
      yield* TestClock.adjust(within)
      yield* Fiber.interrupt(call)
    })
  ).pipe(
    Effect.map((suppressed) =>
      suppressed.map(({ elapsed, reason }) => [reason, Duration.toMillis(elapsed)] as const)
    )
  )

/** When the attempts of a call start that is not answered within a minute. */
const startsOf = (policy: AnyPolicy) =>
  Effect.gen(function* () {
    const script = yield* HedgeTest.script([never], { repeat: true })
    const call = yield* Effect.fork(Hedge.hedge(script.effect, policy))
    yield* TestClock.adjust("1 minute")
    yield* Fiber.interrupt(call)
    return (yield* script.observed).startedAt
  })

describe("C33: while it warms up", () => {
  it.scoped("each call says once, when it starts, that a hedge is refused", () =>
    Effect.gen(function* () {
      const policy = yield* policyOf(HedgePolicy.layerAdaptive(options))
      expect(yield* refusals(policy)).toStrictEqual([["WarmUp", 0]])
    })
  )

  it.scoped("a failure launches the next attempt all the same", () =>
    Effect.gen(function* () {
      const policy = yield* policyOf(HedgePolicy.layerAdaptive(options))
      const script = yield* HedgeTest.script<number, string>([{ fail: "down" }, { succeed: 1 }])
      expect(yield* Hedge.hedge(script.effect, policy)).toBe(1)
    })
  )

  it.scoped("a hedge is sent after the fixed delay, if one is given, and after the learned one later", () =>
    Effect.gen(function* () {
      const policy = yield* policyOf(HedgePolicy.layerAdaptive({ ...options, meanwhile: "333 millis" }))
      expect(yield* startsOf(policy)).toStrictEqual([0, 333])
      yield* taught(policy, 100)
      const [, hedge] = yield* startsOf(policy)
      expect(hedge).toBeGreaterThanOrEqual(10)
      expect(hedge).toBeLessThan(11)
    })
  )

  it.scoped("and then hedges are sent", () =>
    Effect.gen(function* () {
      const policy = yield* policyOf(HedgePolicy.layerAdaptive(options))
      yield* taught(policy, 19)
      expect(yield* refusals(policy)).toStrictEqual([["WarmUp", 0]])
      yield* answered(policy, 10)
      expect(yield* refusals(policy)).toStrictEqual([])
      expect(yield* startsOf(policy)).toHaveLength(2)
    })
  )
})

describe("C37: what is recorded of a primary", () => {
  const late = { after: 500, fail: "down" } as const

  for (const [name, attempts, rest, expected] of [
    ["that wins: its time", [{ after: 5, succeed: 1 }], {}, { finished: 30 }],
    ["that fails at once: nothing", [{ fail: "down" }, { after: 7, succeed: 1 }], {}, {}],
    ["that fails sooner than most answer: nothing", [{ after: 9, fail: "down" }, { succeed: 1 }], {}, {}],
    ["that fails late: that it took longer", [late, late], {}, { cutOff: 500 }],
    ["that dies late: that it took longer", [{ after: 500, die: "bug" }, never], {}, { cutOff: 500 }],
    [
      "that a hedge beats: that it took longer than until then",
      [never, { after: 30, succeed: 1 }],
      {},
      { cutOff: 40 }
    ],
    [
      "whose attempt times out: that it took longer",
      [never, never],
      { attemptTimeout: 200 },
      { cutOff: 200 }
    ],
    ["that the deadline ends: that it took longer", [never, never], { deadline: 300 }, { cutOff: 300 }],
    [
      "that is answered, but not as the policy wants it: as of a failure",
      [
        { after: 500, succeed: -1 },
        { after: 600, succeed: -1 }
      ],
      { classify: () => HedgeOutcome.nonFatal() },
      { cutOff: 500 }
    ],
    [
      "whose failure is an answer: its time",
      [{ after: 5, fail: "not found" }],
      { classify: () => HedgeOutcome.win },
      { finished: 30 }
    ],
    [
      "of a call that its own policy kills: nothing",
      [{ after: 30, succeed: 1 }, never],
      {
        classify: () => {
          throw new Error("bug")
        }
      },
      {}
    ]
  ] as const) {
    it.scoped(name, () =>
      Effect.gen(function* () {
        const estimator = yield* LatencyEstimator.make
        const policy = yield* policyOf(HedgePolicy.layerAdaptive({ ...options, ...rest, estimator }))
        const plain = yield* policyOf(HedgePolicy.layerAdaptive({ ...options, estimator }))
        yield* taught(plain)
        // so that it is looked at what has been learned
        yield* answered(plain, 10)
        yield* Effect.exit(Hedge.hedge(Effect.fail("down"), policy))
        const before = yield* LatencyEstimator.distribution(estimator)

        const script = yield* HedgeTest.script<number, string>(attempts)
        const call = yield* Effect.fork(Hedge.hedge(script.effect, policy))
        yield* TestClock.adjust("1 minute")
        expect(yield* poll(call)).not.toBe(null)

        const after = yield* LatencyEstimator.distribution(estimator)
        const { cutOff, finished } = expected as { cutOff?: number; finished?: number }
        expect(after.samples - before.samples).toBe(cutOff === undefined && finished === undefined ? 0 : 1)
        expect(after.finished - before.finished).toBe(finished === undefined ? 0 : 1)
      })
    )
  }

  it.scoped("that a hedge beats: the very time at which it was cut off", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      const policy = yield* policyOf(
        HedgePolicy.layer({
          schedule: HedgeSchedule.quantile(0.5, { estimator, warmUp: 1, meanwhile: 80 }),
          throttle: HedgeThrottle.unlimited
        })
      )
      const script = yield* HedgeTest.script([never, { after: 40, succeed: 1 }])
      const call = yield* Effect.fork(Hedge.hedge(script.effect, policy))
      yield* TestClock.adjust(120)
      yield* Fiber.join(call)
      const { finished, quantile, samples } = yield* LatencyEstimator.distribution(estimator)
      expect([samples, finished]).toStrictEqual([1, 0])
      expect(Duration.toMillis(quantile(0.5))).toBeCloseTo(120, 0)
    })
  )

  it.scoped("of a call that its caller interrupts, or that may not hedge: nothing", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      const policy = yield* policyOf(HedgePolicy.layerAdaptive({ ...options, estimator }))
      const samples = Effect.map(LatencyEstimator.distribution(estimator), ({ samples }) => samples)
      yield* taught(policy)
      expect(yield* samples).toBe(20)
      yield* refusals(policy)
      yield* answered(HedgePolicy.ineligible(policy), 10)
      yield* Effect.fork(Hedge.withoutHedging(Hedge.hedge(Effect.sleep(10), policy)))
      yield* TestClock.adjust(10)
      expect(yield* samples).toBe(20)
    })
  )

  it.scoped("in an outage whose failures are fast: nothing, so that the delay stays", () =>
    Effect.gen(function* () {
      const policy = yield* policyOf(HedgePolicy.layerAdaptive(options))
      yield* taught(policy, 100)
      const [, before] = yield* startsOf(policy)
      const script = yield* HedgeTest.script([{ after: 1, fail: "down" }], { repeat: true })
      for (let call = 0; call < 60; call++) {
        yield* Effect.fork(Hedge.hedge(script.effect, policy))
        yield* TestClock.adjust(10)
      }
      expect((yield* startsOf(policy))[1]).toBe(before)
    })
  )
})

describe("suspension", () => {
  it.scoped("on pushback lasts as long as that says, and no longer than a window", () =>
    Effect.gen(function* () {
      const pushback: { for: HedgeOutcome.Pushback } = { for: "5 seconds" }
      const policy = yield* policyOf(
        HedgePolicy.layerAdaptive({
          ...options,
          classify: (exit) => (Exit.isFailure(exit) ? HedgeOutcome.nonFatal(pushback.for) : HedgeOutcome.win)
        })
      )
      yield* taught(policy)
      const busy = Effect.ignore(Hedge.hedge(Effect.fail("busy"), policy))
      const status = Effect.map(HedgePolicy.inspect(policy), (inspection) => {
        const { status, suspendedBy } = Option.getOrThrow(inspection)
        return [status, suspendedBy]
      })
      yield* busy
      expect(yield* status).toStrictEqual(["Suspended", "Pushback"])
      expect((yield* refusals(policy, 4999))[0]![0]).toBe("Suspended")
      yield* TestClock.adjust(1)
      expect(yield* status).toStrictEqual(["Active", undefined])
      expect(yield* refusals(policy)).toStrictEqual([])

      pushback.for = "DoNotRetry"
      yield* busy
      yield* TestClock.adjust(59_999)
      expect(yield* status).toStrictEqual(["Suspended", "Pushback"])
      yield* TestClock.adjust(1)
      expect(yield* status).toStrictEqual(["Active", undefined])
    })
  )

  it.scoped("by a median that has grown lasts a minute, and then that is the new normal", () =>
    Effect.gen(function* () {
      const estimator = LatencyEstimator.unsafeMake()
      const policy = yield* policyOf(HedgePolicy.layerAdaptive({ ...options, estimator }))
      const inspected = Effect.map(HedgePolicy.inspect(policy), Option.getOrThrow)
      /** So many answers, 100 a second; the last is one of the policy's own calls. */
      const answers = (usual: number, count: number) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          for (const [i, elapsed] of mostly(usual, count).entries())
            LatencyEstimator.unsafeRecord(estimator, now + 10 * i, { elapsed })
          yield* TestClock.adjust(10 * count)
          yield* answered(policy, usual)
        })
      yield* answers(10, 300)
      expect((yield* inspected).status).toBe("Active")
      yield* answers(40, 300)
      expect(yield* inspected).toMatchObject({ status: "Suspended", suspendedBy: "MedianGrowth" })
      expect((yield* refusals(policy, 100))[0]![0]).toBe("Suspended")
      yield* answers(40, 300)
      expect(yield* inspected).toMatchObject({ status: "Suspended", suspendedBy: "MedianGrowth" })
      yield* TestClock.adjust("57 seconds")
      yield* answers(40, 300)
      expect((yield* inspected).status).toBe("Active")
      expect(Math.round((yield* startsOf(policy))[1]!)).toBe(40)
    })
  )
})

describe("the gates", () => {
  const taughtPolicy = (rest: Partial<HedgePolicy.AdaptiveOptions>) =>
    Effect.tap(policyOf(HedgePolicy.layerAdaptive({ ...options, ...rest })), (policy) => taught(policy))

  it.scoped("holdout is asked before the policy's own, and once for a call", () =>
    Effect.gen(function* () {
      const policy = yield* taughtPolicy({ holdout: 0.999_999, gates: [() => "mine"] })
      expect((yield* refusals(policy)).map(([reason]) => reason)).toStrictEqual(["Holdout"])
    })
  )

  it.scoped("the policy's own before the target, and that before the throttle", () =>
    Effect.gen(function* () {
      const full = HedgeThrottle.make({ name: "full", refusedBy: () => "full", take: () => {} })
      let own: string | undefined = "mine"
      let inFlight: number | undefined
      const policy = yield* taughtPolicy({ gates: [() => own], target: "idle", throttle: full })
      const targets = { leastInFlight: () => inFlight }
      const reason = refusals(policy, 15).pipe(
        Effect.provideService(HedgePolicy.Targets, targets),
        Effect.map(([first]) => first?.[0])
      )
      expect(yield* reason).toBe("mine")
      own = undefined
      expect(yield* reason).toBe("NoDistinctTarget")
      inFlight = 1
      expect(yield* reason).toBe("NoDistinctTarget")
      inFlight = 0
      expect(yield* reason).toBe("Throttled")
    })
  )

  it.scoped("where nobody knows the targets, none is idle, and any will do", () =>
    Effect.gen(function* () {
      expect((yield* refusals(yield* taughtPolicy({ target: "idle" }), 15))[0]![0]).toBe("NoDistinctTarget")
      expect(yield* refusals(yield* taughtPolicy({ target: "any" }))).toStrictEqual([])
      const busy = { leastInFlight: () => 7 }
      const any = refusals(yield* taughtPolicy({ target: "any" }))
      expect(yield* Effect.provideService(any, HedgePolicy.Targets, busy)).toStrictEqual([])
    })
  )

  it.effect(
    "what an attempt says of its siblings' targets holds, unless the caller's context knows better",
    () =>
      Effect.gen(function* () {
        const reasons: Array<string> = []
        const listener: HedgeEvent.Listener = {
          onEvent: (event) => {
            if (event._tag === "HedgeSuppressed") reasons.push(event.reason)
          }
        }
        const nowhere = Hedge.hedgeWith(
          (attempt) =>
            Effect.sync(() => {
              attempt.targets ??= { leastInFlight: () => undefined }
            }).pipe(Effect.zipRight(Effect.sleep("10 millis"))),
          { schedule: HedgeSchedule.parallel, throttle: HedgeThrottle.unlimited }
        )
        const call = nowhere.pipe(Effect.provide(HedgeEvent.layer(listener)))
        const run = (effect: Effect.Effect<void>) =>
          Effect.zipRight(Effect.fork(effect), TestClock.adjust("10 millis"))
        yield* run(call)
        expect(reasons).toStrictEqual(["NoDistinctTarget"])
        yield* run(Effect.provideService(call, HedgePolicy.Targets, { leastInFlight: () => Infinity }))
        expect(reasons).toStrictEqual(["NoDistinctTarget"])
      })
  )

  const sureOfP90 = (rest: { readonly deadline: number; readonly minTimeLeft?: number }) =>
    Effect.tap(
      policyOf(
        HedgePolicy.layer({
          schedule: HedgeSchedule.quantile(0.9, { warmUp: 20 }),
          throttle: HedgeThrottle.unlimited,
          ...rest
        })
      ),
      (policy) => taught(policy)
    )

  for (const [deadline, reasons] of [
    [21, []],
    [19, ["Deadline"]]
  ] as const) {
    it.scoped(
      `where the fastest answers take 10 ms, of which ${deadline - 10} are left: ${reasons[0] ?? "sent"}`,
      () =>
        Effect.gen(function* () {
          const seen = yield* refusals(yield* sureOfP90({ deadline }), deadline - 1)
          expect(seen.map(([reason]) => reason)).toStrictEqual(reasons)
        })
    )
  }

  it.scoped("a minimal time that the policy names is what counts", () =>
    Effect.gen(function* () {
      expect(yield* refusals(yield* sureOfP90({ deadline: 19, minTimeLeft: 1 }), 18)).toStrictEqual([])
    })
  )

  it.scoped("a minimal time of zero, too, and a policy that is modified keeps it", () =>
    Effect.gen(function* () {
      const policy = yield* sureOfP90({ deadline: 19, minTimeLeft: 0 })
      expect(yield* refusals(policy, 18)).toStrictEqual([])
      expect(yield* refusals(HedgePolicy.modify(policy, { name: "renamed" }), 18)).toStrictEqual([])
    })
  )
})

describe("keys", () => {
  it.scoped("are learned apart, and a young one goes by the one that it stands under", () =>
    Effect.gen(function* () {
      const estimator = LatencyEstimator.unsafeMake()
      const policy = yield* policyOf(HedgePolicy.layerAdaptive({ ...options, estimator }))
      const key = (name: string) => ["upstream", name]
      const route = (name: string) => HedgePolicy.keyed(policy, key(name))
      yield* answered(route("fast"), 10, 10)
      for (const elapsed of mostly(10, 98))
        LatencyEstimator.unsafeRecord(estimator, 0, { elapsed, key: key("fast") })
      for (const elapsed of mostly(100, 400))
        LatencyEstimator.unsafeRecord(estimator, 0, { elapsed, key: key("slow") })
      const hedgeAt = (name: string) => Effect.map(startsOf(route(name)), (starts) => Math.round(starts[1]!))
      expect(yield* hedgeAt("fast")).toBe(10)
      expect(yield* hedgeAt("slow")).toBe(100)
      // mostly slow calls
      expect(yield* hedgeAt("new")).toBe(100)
      const samples = (key?: LatencyEstimator.Key) =>
        Effect.map(HedgePolicy.inspect(policy, key), (inspection) => Option.getOrThrow(inspection).samples)
      expect(yield* samples(["upstream", "fast"])).toBe(100)
      expect(yield* samples()).toBe(500)
    })
  )

  it.scoped("of different upstreams have budgets of their own", () =>
    Effect.gen(function* () {
      const policy = yield* policyOf(
        HedgePolicy.layerAdaptive({ extraLoad: 0.0001, warmUp: 1, meanwhile: 10, holdout: 0 })
      )
      const hedges = (key: LatencyEstimator.Key, calls: number) =>
        Effect.gen(function* () {
          const keyed = HedgePolicy.keyed(policy, key)
          let sent = 0
          for (let call = 0; call < calls; call++) {
            const script = yield* HedgeTest.script([{ fail: "down" }], { repeat: true })
            yield* Effect.ignore(Hedge.hedge(script.effect, keyed))
            sent += (yield* script.observed).starts - 1
          }
          return sent
        })
      expect(yield* hedges(["down", "a"], 15)).toBe(10)
      expect(yield* hedges(["down", "b"], 15)).toBe(0)
      expect(yield* hedges(["up", "a"], 15)).toBe(10)
    })
  )

  const withThrottles = policyOf(HedgePolicy.layerAdaptive({ extraLoad: 0.1 }))
  const throttleAt = (policy: AnyPolicy, key: LatencyEstimator.Key) => HedgePolicy.keyed(policy, key).throttle

  it.scoped("that are texts are upstreams as a whole, as is the first part of others", () =>
    Effect.gen(function* () {
      const policy = yield* withThrottles
      expect(throttleAt(policy, "ab")).not.toBe(throttleAt(policy, "ac"))
      expect(throttleAt(policy, "ab")).toBe(throttleAt(policy, ["ab", "route"]))
      expect(throttleAt(policy, [])).toBe(policy.throttle)
    })
  )

  it.scoped("have the upstream's throttle also in a modified policy, unless that changes", () =>
    Effect.gen(function* () {
      const policy = yield* withThrottles
      const more = HedgePolicy.modify(policy, { maxAttempts: 3 })
      expect(throttleAt(more, "a")).toBe(throttleAt(policy, "a"))
      expect(throttleAt(more, "a")).not.toBe(throttleAt(more, "b"))
      const other = HedgePolicy.modify(policy, { throttle: HedgeThrottle.unlimited })
      expect(throttleAt(other, "a")).toBe(HedgeThrottle.unlimited)
    })
  )

  it.scoped("have the upstream's throttle also in a layer that is built of the policy", () =>
    Effect.gen(function* () {
      const policy = yield* withThrottles
      const layered = yield* policyOf(HedgePolicy.layer(policy))
      expect(throttleAt(layered, "a")).toBe(throttleAt(policy, "a"))
      expect(throttleAt(layered, "a")).not.toBe(throttleAt(layered, "b"))
    })
  )

  it.scoped("give the same policy again, but with a new throttle if the upstream's was forgotten", () =>
    Effect.gen(function* () {
      const policy = yield* withThrottles
      const first = HedgePolicy.keyed(policy, "first")
      expect(HedgePolicy.keyed(policy, "first") === first).toBe(true)
      const other = HedgePolicy.modify(policy, { maxAttempts: 3 })
      // those that were used but once would go before it
      for (let i = 0; i < 512; i++) HedgePolicy.keyed(other, `${i >> 1}`)
      expect(throttleAt(policy, "first")).not.toBe(first.throttle)
      expect(throttleAt(policy, "first")).toBe(throttleAt(other, "first"))
    })
  )

  it("are nothing to a policy that does not learn", () => {
    const policy = HedgePolicy.make({ schedule: HedgeSchedule.fixed(80) })
    expect(HedgePolicy.keyed(policy, "a") === policy).toBe(true)
  })

  it.scoped("share the throttle that a policy names", () =>
    Effect.gen(function* () {
      const throttle = HedgeThrottle.loadBudget({ extraLoad: 0.1 })
      const policy = yield* policyOf(HedgePolicy.layerAdaptive({ ...options, throttle }))
      expect(HedgePolicy.keyed(policy, "a").throttle).toBe(throttle)
      expect(
        HedgePolicy.modify(policy, { throttle: HedgeThrottle.unlimited }).pipe(HedgePolicy.keyed("a"))
          .throttle
      ).toBe(HedgeThrottle.unlimited)
    })
  )
})

describe("what is learned", () => {
  const schedule = HedgeSchedule.quantile(0.8, { warmUp: 20 })
  const throttle = HedgeThrottle.unlimited

  it.scoped("belongs to the policy's layer, and to a layer that is built of its policy", () =>
    Effect.gen(function* () {
      class Outer extends HedgePolicy.Tag("test/Outer")<Outer>() {}
      const layer = HedgePolicy.layer({ schedule, throttle })
      const one = yield* policyOf(layer)
      const other = yield* policyOf(Layer.fresh(layer))
      yield* taught(one)
      expect(yield* startsOf(one)).toHaveLength(2)
      expect(yield* startsOf(other)).toHaveLength(1)
      const outer = yield* Layer.build(Outer.layer(one))
      expect(yield* startsOf(outer.unsafeMap.get(Outer.key))).toHaveLength(2)
      expect(yield* startsOf(HedgePolicy.modify(one, { maxAttempts: 3 }))).toHaveLength(3)
    })
  )

  it.scoped("without a layer, to the schedule", () =>
    Effect.gen(function* () {
      const one = HedgePolicy.make({ schedule, throttle })
      yield* taught(one)
      expect(yield* startsOf(HedgePolicy.make({ schedule, throttle }))).toHaveLength(2)
      const other = HedgeSchedule.quantile(0.8, { warmUp: 20 })
      expect(yield* startsOf(HedgePolicy.make({ schedule: other, throttle }))).toHaveLength(1)
      expect(Option.getOrThrow(yield* HedgePolicy.inspect(one)).samples).toBe(20)
    }).pipe(Effect.provideService(LatencyEstimator.Default, LatencyEstimator.makeDefault()))
  )

  it.scoped("is found by a schedule that is combined with others", () =>
    Effect.gen(function* () {
      const policy = HedgePolicy.make({
        schedule: Schedule.intersect(schedule, Schedule.recurs(2)),
        throttle,
        maxAttempts: 9
      })
      expect(yield* startsOf(policy)).toStrictEqual([0])
      yield* taught(policy)
      const starts = (yield* startsOf(policy)).map(Math.round)
      expect(starts).toStrictEqual([0, 10, 20])
    }).pipe(Effect.provideService(LatencyEstimator.Default, LatencyEstimator.makeDefault()))
  )

  it.scoped("belongs to the layer, too, where the schedule is combined with others", () =>
    Effect.gen(function* () {
      class Outer extends HedgePolicy.Tag("test/Outer")<Outer>() {}
      const layer = HedgePolicy.layer({
        schedule: Schedule.intersect(schedule, Schedule.recurs(2)),
        throttle
      })
      const one = yield* policyOf(layer)
      const other = yield* policyOf(Layer.fresh(layer))
      yield* taught(one)
      expect(yield* startsOf(one)).toHaveLength(2)
      expect(yield* startsOf(other)).toHaveLength(1)
      const outer = yield* Layer.build(Outer.layer(one))
      expect(yield* startsOf(outer.unsafeMap.get(Outer.key))).toHaveLength(2)
      expect(yield* startsOf(HedgePolicy.modify(one, { name: "renamed" }))).toHaveLength(2)
    })
  )

  it.effect("by a combined schedule that is first asked after the primary has failed at once: nothing", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      const learning = HedgeSchedule.quantile(0.8, { warmUp: 1, estimator })
      const policy = HedgePolicy.make({ schedule: Schedule.map(learning, () => 0), throttle, maxAttempts: 3 })
      const script = yield* HedgeTest.script<number, string>([{ fail: "down" }, { after: 50, succeed: 1 }])
      const call = yield* Effect.fork(Hedge.hedge(script.effect, policy))
      yield* TestClock.adjust(50)
      expect(yield* Fiber.join(call)).toBe(1)
      expect((yield* LatencyEstimator.distribution(estimator)).samples).toBe(0)
    })
  )

  it.effect("by a schedule that nobody asks for a call: nothing, so it waits for a failure", () =>
    Effect.gen(function* () {
      const driver = yield* Schedule.driver(schedule)
      const state = { attempt: 1, elapsed: Duration.zero, inFlight: 1 }
      const next = yield* Effect.fork(driver.next(state))
      yield* TestClock.adjust("365 days")
      expect(yield* poll(next)).toBe(null)
    })
  )

  it.effect("is inspected of a policy that learns, and of no other", () =>
    Effect.gen(function* () {
      const fixed = HedgePolicy.make({ schedule: HedgeSchedule.fixed(80) })
      expect(yield* HedgePolicy.inspect(fixed)).toStrictEqual(Option.none())
      expect(yield* HedgePolicy.keys(fixed)).toStrictEqual([])
    })
  )

  it.scoped("keeps the delay of a quantile between its bounds", () =>
    Effect.gen(function* () {
      const hedgeAt = (bounds: HedgeSchedule.QuantileOptions) =>
        Effect.gen(function* () {
          const policy = yield* policyOf(
            HedgePolicy.layer({ schedule: HedgeSchedule.quantile(0.8, { warmUp: 20, ...bounds }), throttle })
          )
          yield* taught(policy)
          return Math.round((yield* startsOf(policy))[1]!)
        })
      expect(yield* hedgeAt({})).toBe(10)
      expect(yield* hedgeAt({ min: 50 })).toBe(50)
      expect(yield* hedgeAt({ max: 5 })).toBe(5)
    })
  )
})

describe("an inspection", () => {
  it.scoped("tells what the policy knows and does", () =>
    Effect.gen(function* () {
      const estimator = LatencyEstimator.unsafeMake()
      const policy = yield* policyOf(HedgePolicy.layerAdaptive({ ...options, estimator }))
      const inspected = Effect.map(HedgePolicy.inspect(policy), Option.getOrThrow)
      expect(yield* inspected).toMatchObject({
        status: "WarmUp",
        samples: 0,
        delays: [],
        probabilities: [],
        p99: { unhedged: Duration.infinity, hedged: Duration.infinity },
        achievedExtraLoad: 0,
        neededExtraLoad: undefined
      })
      const latencies = draws(w1, 4000, 40)
      for (const elapsed of latencies) LatencyEstimator.unsafeRecord(estimator, 0, { elapsed })
      const inspection = yield* inspected
      expect(inspection).toMatchObject({
        status: "Active",
        suspendedBy: undefined,
        samples: 4000,
        extraLoad: 0.2,
        objective: 0.99,
        probabilities: [1],
        isReached: true
      })
      const millis = (duration: Duration.Duration) => Duration.toMillis(duration)
      expect(millis(inspection.p99.unhedged) / percentile(sorted(latencies), 0.99)).toBeCloseTo(1, 1)
      expect(millis(inspection.p99.hedged)).toBeLessThan(110)
      expect(millis(inspection.delays[0]!)).toBeLessThan(50)
      expect(inspection.expectedExtraLoad).toBeCloseTo(0.2, 6)
      expect(inspection.neededExtraLoad).toBeLessThan(0.2)
      yield* startsOf(policy)
      expect((yield* inspected).achievedExtraLoad).toBe(1)
    })
  )

  it.scoped("remembers the tail, though for two windows each primary was cut off before it", () =>
    Effect.gen(function* () {
      const estimator = LatencyEstimator.unsafeMake()
      const policy = yield* policyOf(HedgePolicy.layerAdaptive({ ...options, estimator }))
      const latencies = draws(w1, 6000, 41)
      latencies.forEach((latency, i) => {
        const isCutOff = i >= 2000 && latency > 100
        const elapsed = isCutOff ? 100 : latency
        const now = 60_000 * Math.floor(i / 2000)
        LatencyEstimator.unsafeRecord(estimator, now, { elapsed, finished: !isCutOff })
      })
      const { p99 } = Option.getOrThrow(yield* HedgePolicy.inspect(policy))
      const known = percentile(sorted(latencies.slice(0, 2000)), 0.99)
      expect(Duration.toMillis(p99.unhedged) / known).toBeCloseTo(1, 1)
    })
  )

  const ofQuantile = (estimator: LatencyEstimator.LatencyEstimator) =>
    HedgePolicy.make({ schedule: HedgeSchedule.quantile(0.9, { estimator }) })

  it.effect("of a quantile tells of a hedge that is always sent, and the load of it", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      for (let i = 0; i < 1000; i++) LatencyEstimator.unsafeRecord(estimator, 0, { elapsed: 10 + i / 50 })
      const policy = ofQuantile(estimator)
      const inspected = Effect.map(HedgePolicy.inspect(policy), Option.getOrThrow)
      const { delays, expectedExtraLoad, extraLoad, neededExtraLoad, probabilities } = yield* inspected
      expect(Duration.toMillis(delays[0]!)).toBeCloseTo(28, 0)
      expect(probabilities).toStrictEqual([1])
      expect(expectedExtraLoad).toBeCloseTo(0.1, 3)
      expect([extraLoad, neededExtraLoad]).toStrictEqual([undefined, undefined])
      HedgePolicy.unsafeBegin(policy, 0).hedged(28, "Failure")
      expect((yield* inspected).achievedExtraLoad).toBe(1)
    })
  )

  it.effect("of a policy with a key tells of that, unless another is named", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      for (let i = 0; i < 500; i++)
        LatencyEstimator.unsafeRecord(estimator, 0, { elapsed: 10, key: i < 300 ? "a" : "b" })
      const policy = HedgePolicy.keyed(ofQuantile(estimator), "a")
      const samples = (key?: LatencyEstimator.Key) =>
        Effect.map(HedgePolicy.inspect(policy, key), (inspection) => Option.getOrThrow(inspection).samples)
      expect(yield* samples()).toBe(300)
      expect(yield* samples("b")).toBe(200)
      expect(yield* samples([])).toBe(500)
    })
  )

  it.scoped("tells what is, and not what was, where no hedge is sent", () =>
    Effect.gen(function* () {
      const estimator = yield* LatencyEstimator.make
      const policy = yield* policyOf(HedgePolicy.layerAdaptive({ ...options, estimator }))
      // two windows in which some answers are slow, and two in which none is
      for (const [from, slow] of [100, 100, 30, 30].entries())
        for (let i = 0; i < 300; i++)
          LatencyEstimator.unsafeRecord(estimator, 60_000 * from, { elapsed: i % 20 === 0 ? slow : 30 })
      const { p99, status } = Option.getOrThrow(yield* HedgePolicy.inspect(policy))
      expect(status).toBe("NoGain")
      expect(Duration.toMillis(p99.unhedged)).toBeLessThan(31)
    })
  )
})

describe("a modified policy", () => {
  it.scoped("that learns plans as many hedges as it may send", () =>
    Effect.gen(function* () {
      const estimator = LatencyEstimator.unsafeMake()
      for (const elapsed of draws(w1, 4000, 40)) LatencyEstimator.unsafeRecord(estimator, 0, { elapsed })
      const policy = yield* policyOf(
        HedgePolicy.layerAdaptive({ ...options, objective: 0.999, maxAttempts: 3, estimator })
      )
      const hedgesOf = (policy: AnyPolicy) =>
        Effect.map(HedgePolicy.inspect(policy), (inspection) => Option.getOrThrow(inspection).delays.length)
      expect(yield* hedgesOf(policy)).toBe(2)
      expect(yield* hedgesOf(HedgePolicy.modify(policy, { name: "renamed" }))).toBe(2)
      expect(yield* hedgesOf(HedgePolicy.modify(policy, { maxAttempts: 2 }))).toBe(1)
    })
  )

  it.effect("that no layer holds goes on with what its schedule knows", () =>
    Effect.gen(function* () {
      const estimator = LatencyEstimator.unsafeMake()
      for (const elapsed of mostly(10, 20)) LatencyEstimator.unsafeRecord(estimator, 0, { elapsed })
      const schedule = HedgeSchedule.quantile(0.8, { warmUp: 20, estimator })
      const policy = HedgePolicy.make({ schedule, throttle: HedgeThrottle.unlimited })
      const inspection = yield* HedgePolicy.inspect(HedgePolicy.modify(policy, { maxAttempts: 3 }))
      expect(Option.getOrThrow(inspection)).toMatchObject({ status: "Active", samples: 20 })
    })
  )

  it("keeps the least time that must be left", () => {
    const policy = HedgePolicy.make({ schedule: HedgeSchedule.fixed(80), deadline: 200, minTimeLeft: 50 })
    const { minTimeLeft } = HedgePolicy.modify(policy, { maxAttempts: 3 })
    expect(Duration.toMillis(minTimeLeft)).toBe(50)
  })
})

describe("on a busy event loop", () => {
  let loop: FakeLoop
  afterEach(() => loop.restore())

  it("the time in which no answer could be seen is no latency (R11)", async () => {
    loop = new FakeLoop()
    const estimator = LatencyEstimator.unsafeMake()
    const schedule = HedgeSchedule.quantile(0.9, { estimator })
    const answer = Effect.async<void>((resume) => loop.input(20, () => resume(Effect.void)))
    const fiber = Effect.runFork(Hedge.hedge(answer, { schedule }))
    loop.block(500)
    await loop.run(100)
    expect(fiber.unsafePoll()).not.toBe(null)
    const { finished, quantile } = Effect.runSync(LatencyEstimator.distribution(estimator))
    expect(finished).toBe(1)
    expect(Duration.toMillis(quantile(0.5))).toBeLessThan(30)
    // and nothing is left that beats
    await loop.run(100)
    expect(loop.pending).toBe(0)
  })

  it("takes nothing from the time of a call whose schedule learns from later on only", async () => {
    loop = new FakeLoop()
    const estimator = LatencyEstimator.unsafeMake()
    const once = Schedule.intersect(HedgeSchedule.fixed(50), Schedule.recurs(1))
    const schedule = Schedule.andThen(
      once,
      HedgeSchedule.quantile(0.9, { estimator, meanwhile: "10 seconds" })
    )
    const answer = Effect.async<void>((resume) => loop.input(200, () => resume(Effect.void)))
    Effect.runFork(
      Hedge.hedgeWith(({ index }) => (index === 0 ? answer : Effect.never), {
        schedule,
        maxAttempts: 3,
        throttle: HedgeThrottle.unlimited
      })
    )
    await loop.run(300)
    const { finished, survival } = Effect.runSync(LatencyEstimator.distribution(estimator))
    expect([finished, survival(198), survival(202)]).toStrictEqual([1, 1, 0])
  })

  it("takes nothing from the times of calls that come after", async () => {
    loop = new FakeLoop()
    const estimator = LatencyEstimator.unsafeMake()
    const schedule = HedgeSchedule.quantile(0.9, { estimator })
    const answer = Effect.async<void>((resume) => loop.input(30, () => resume(Effect.void)))
    for (const blocked of [500, 0, 0]) {
      Effect.runFork(Hedge.hedge(answer, { schedule }))
      loop.block(blocked)
      await loop.run(100)
    }
    const { finished, survival } = Effect.runSync(LatencyEstimator.distribution(estimator))
    expect(finished).toBe(3)
    expect(survival(29.5)).toBeCloseTo(2 / 3, 6)
    expect(survival(30.5)).toBe(0)
  })
})

describe("what makes no sense", () => {
  for (const [field, make] of [
    ["extraLoad", () => HedgePolicy.layerAdaptive({ extraLoad: 0 })],
    ["extraLoad", () => HedgePolicy.layerAdaptive({} as never)],
    ["extraLoad", () => HedgeSchedule.budgeted({ extraLoad: 1.5 })],
    ["objective", () => HedgePolicy.layerAdaptive({ extraLoad: 0.1, objective: 99 })],
    ["within", () => HedgeSchedule.budgeted({ extraLoad: 0.1, within: 0 })],
    ["holdout", () => HedgeSchedule.budgeted({ extraLoad: 0.1, holdout: 1 })],
    ["warmUp", () => HedgeSchedule.budgeted({ extraLoad: 0.1, warmUp: 20_000 })],
    ["meanwhile", () => HedgeSchedule.quantile(0.9, { meanwhile: -1 })],
    ["estimator", () => HedgeSchedule.quantile(0.9, { estimator: {} as never })],
    ["quantile", () => HedgeSchedule.quantile(95)],
    ["max", () => HedgeSchedule.quantile(0.95, { min: 10, max: 5 })],
    ["extraload", () => HedgePolicy.layerAdaptive({ extraLoad: 0.1, extraload: 0.1 } as never)],
    ["mni", () => HedgeSchedule.quantile(0.95, { mni: 1 } as never)],
    [
      "schedule",
      () => HedgePolicy.layerAdaptive({ extraLoad: 0.1, schedule: HedgeSchedule.parallel } as never)
    ],
    ["maxAttempts", () => HedgePolicy.layerAdaptive({ extraLoad: 0.1, maxAttempts: 1 })],
    ["target", () => HedgePolicy.layerAdaptive({ extraLoad: 0.1, target: "busy" as never })],
    ["config", () => HedgePolicy.layerAdaptiveConfig({ extraLoad: 0.1 } as never)],
    ["key", () => HedgePolicy.keyed(HedgePolicy.make({ schedule: HedgeSchedule.parallel }), 5 as never)],
    [
      "maxAttempts",
      () => HedgeSchedule.solve(LatencyEstimator.fromSamples([1]), { extraLoad: 0.1, maxAttempts: 4 })
    ],
    ["schedule", () => HedgePolicy.unsafeBegin(HedgePolicy.make({ schedule: Schedule.spaced(1) }), 0)]
  ] as const) {
    it(`is refused when it is built: ${field}`, () => {
      expect(make).toThrowError(expect.objectContaining({ _tag: "HedgePolicyError", field }))
    })
  }
})
