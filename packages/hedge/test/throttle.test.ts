import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Schedule, TestClock } from "effect"
import { Hedge, HedgeOutcome, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"
import { pace } from "../src/internal/throttle.js"
import { call, poll, settled, start } from "./support.js"

const never = { never: true } as const

/** A call that ends at once with one outcome, and sends no hedge: its schedule is done. */
const outcomeOf = (throttle: HedgeThrottle.HedgeThrottle, outcome: HedgeOutcome.HedgeOutcome) =>
  Hedge.hedge(Effect.void, { schedule: Schedule.stop, throttle, classify: () => outcome })

const times =
  (count: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.replicateEffect(effect, count)

const mayHedge = (throttle: HedgeThrottle.HedgeThrottle): boolean => throttle.refusedBy(0) === undefined

describe("tokens of several throttles", () => {
  const counting = (tokens: number | undefined) =>
    HedgeThrottle.make({ name: "mine", refusedBy: () => undefined, take: () => {}, tokens: () => tokens })

  it.each([
    [[3, 2, 5], 2],
    [[2, 2], 2],
    [[undefined, 4, undefined, 7], 4],
    [[0, undefined, 1], 0],
    [[undefined], undefined]
  ] as const)("%j: the least that one counts", (tokens, least) => {
    expect(HedgeThrottle.all(...tokens.map(counting)).tokens?.(0)).toBe(least)
  })

  it("are none if none counts them", () => {
    expect(HedgeThrottle.all(HedgeThrottle.unlimited).tokens?.(0)).toBe(undefined)
  })
})

describe("at a call's end the tokens", () => {
  for (const [name, tokens, refusing, told] of [
    ["of a throttle that would let a hedge through are told", 7, false, 7],
    ["of one that refuses are none", 7, true, 0],
    ["of one that refuses and counts none are unknown", undefined, true, undefined]
  ] as const) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const recorder = yield* HedgeTest.recordEvents
        const throttle = HedgeThrottle.make({
          name: "mine",
          refusedBy: () => (refusing ? "mine" : undefined),
          take: () => {},
          tokens: () => tokens
        })
        yield* outcomeOf(throttle, HedgeOutcome.win).pipe(Effect.provide(recorder.layer))
        const [ended] = yield* recorder.tagged("CallEnded")
        expect(ended!.tokens).toBe(told)
      })
    )
  }
})

describe("pace", () => {
  it("lets forty hedges ahead, and then half as many more as the extra load says", () => {
    const throttle = pace(0.1)
    const taken = (most: number): number => {
      for (let count = 0; count < most; count++) {
        if (throttle.refusedBy(0) !== undefined) return count
        throttle.take(0)
      }
      return most
    }
    const calls = (count: number) => {
      for (let i = 0; i < count; i++) throttle.onCall?.(0)
    }
    expect(taken(100)).toBe(40)
    expect(throttle.refusedBy(0)).toBe("pace")
    // a call is worth 0.15 of a hedge
    calls(1)
    expect(taken(100)).toBe(1)
    calls(5)
    expect(taken(100)).toBe(0)
    calls(1)
    expect(taken(100)).toBe(1)
    // never more than forty, however many calls there were
    calls(10_000)
    expect(taken(100)).toBe(40)
  })
})

describe("C23: tokenBucket", () => {
  it.effect("(4, 0.8) starts full, allows at 3, refuses at 2, 1 and 0, and stays at 0", () =>
    Effect.gen(function* () {
      const throttle = HedgeThrottle.tokenBucket({ maxTokens: 4, tokenRatio: 0.8 })
      const seen: Array<readonly [number | undefined, boolean]> = []
      for (let failures = 0; failures < 7; failures++) {
        seen.push([throttle.tokens?.(0), mayHedge(throttle)])
        yield* outcomeOf(throttle, HedgeOutcome.nonFatal())
      }
      expect(seen).toStrictEqual([
        [4, true],
        [3, true],
        [2, false],
        [1, false],
        [0, false],
        [0, false],
        [0, false]
      ])
    })
  )

  it.effect("(4, 0.8) gains 0.8 with each success, and never exceeds 4", () =>
    Effect.gen(function* () {
      const throttle = HedgeThrottle.tokenBucket({ maxTokens: 4, tokenRatio: 0.8 })
      yield* times(4)(outcomeOf(throttle, HedgeOutcome.nonFatal()))
      const seen: Array<readonly [number | undefined, boolean]> = []
      for (let successes = 0; successes < 7; successes++) {
        seen.push([throttle.tokens?.(0), mayHedge(throttle)])
        yield* outcomeOf(throttle, HedgeOutcome.win)
      }
      expect(seen).toStrictEqual([
        [0, false],
        [0.8, false],
        [1.6, false],
        [2.4, true],
        [3.2, true],
        [4, true],
        [4, true]
      ])
    })
  )

  for (const [ratio, counted] of [
    [0.5466, 0.546],
    [0.5469999, 0.546],
    [0.001, 0.001],
    [0.0019, 0.001],
    [0.1, 0.1],
    [0.29, 0.29],
    [1.0009, 1]
  ] as const) {
    it.effect(`counts a ratio of ${ratio} as ${counted}`, () =>
      Effect.gen(function* () {
        const throttle = HedgeThrottle.tokenBucket({ maxTokens: 10, tokenRatio: ratio })
        yield* times(10)(outcomeOf(throttle, HedgeOutcome.nonFatal()))
        yield* outcomeOf(throttle, HedgeOutcome.win)
        expect(throttle.tokens?.(0)).toBe(counted)
      })
    )
  }

  it.effect("adds up thousandths without rounding: 1,000 successes of 0.001 make one token", () =>
    Effect.gen(function* () {
      const throttle = HedgeThrottle.tokenBucket({ maxTokens: 2, tokenRatio: 0.001 })
      yield* times(2)(outcomeOf(throttle, HedgeOutcome.nonFatal()))
      yield* times(1000)(outcomeOf(throttle, HedgeOutcome.win))
      expect(throttle.tokens?.(0)).toBe(1)
      expect(mayHedge(throttle)).toBe(false)
      yield* outcomeOf(throttle, HedgeOutcome.win)
      expect(mayHedge(throttle)).toBe(true)
    })
  )

  it.effect("counts every attempt of a call, hedges too, and charges nothing for sending one", () =>
    Effect.gen(function* () {
      const throttle = HedgeThrottle.tokenBucket({ maxTokens: 10, tokenRatio: 0.5 })
      const script = yield* HedgeTest.script<number, string>([{ fail: "a" }, { fail: "b" }, { succeed: 1 }])
      yield* call(script, HedgeSchedule.onFailure, { maxAttempts: 3, throttle })
      expect(throttle.tokens?.(0)).toBe(8.5)
    })
  )

  it.effect("counts neither losers nor attempts that the caller's interruption ended", () =>
    Effect.gen(function* () {
      const throttle = HedgeThrottle.tokenBucket({ maxTokens: 10, tokenRatio: 0.5 })
      const script = yield* HedgeTest.script([never, never])
      const fiber = yield* start(script, HedgeSchedule.parallel, { throttle })
      yield* Fiber.interrupt(fiber)
      expect(throttle.tokens?.(0)).toBe(10)
    })
  )

  it.effect("counts an attempt's timeout as non-fatal, once", () =>
    Effect.gen(function* () {
      const throttle = HedgeThrottle.tokenBucket({ maxTokens: 10, tokenRatio: 0.5 })
      const script = yield* HedgeTest.script([
        { after: 500, uninterruptibleFrom: 0, succeed: "late" },
        { after: 900, uninterruptibleFrom: 0, succeed: "late" }
      ])
      yield* start(script, HedgeSchedule.onFailure, { throttle, attemptTimeout: 100 })
      yield* TestClock.adjust("1 minute")
      expect(throttle.tokens?.(0)).toBe(8)
    })
  )
})

describe("C24: a constructor refuses, and names the field:", () => {
  const schedule = HedgeSchedule.parallel
  const wrong: ReadonlyArray<readonly [name: string, build: () => unknown, field: string]> = [
    ...[0, -1, 1001, 1000.5, Number.NaN, Number.POSITIVE_INFINITY, 0.0001, "4"].map(
      (maxTokens) =>
        [
          `maxTokens ${maxTokens}`,
          () => HedgeThrottle.tokenBucket({ maxTokens: maxTokens as number, tokenRatio: 0.1 }),
          "maxTokens"
        ] as const
    ),
    ...[0, -0.1, 0.0009, Number.NaN, Number.POSITIVE_INFINITY, null].map(
      (tokenRatio) =>
        [
          `tokenRatio ${tokenRatio}`,
          () => HedgeThrottle.tokenBucket({ maxTokens: 10, tokenRatio: tokenRatio as number }),
          "tokenRatio"
        ] as const
    ),
    ...[0, -0.2, Number.NaN, Number.POSITIVE_INFINITY].map(
      (extraLoad) =>
        [`extraLoad ${extraLoad}`, () => HedgeThrottle.loadBudget({ extraLoad }), "extraLoad"] as const
    ),
    ...[-1, Number.NaN, Number.POSITIVE_INFINITY].map(
      (burst) =>
        [`burst ${burst}`, () => HedgeThrottle.loadBudget({ extraLoad: 0.1, burst }), "burst"] as const
    ),
    ...[0, -1, 1.5, Number.NaN].map(
      (n) => [`concurrency ${n}`, () => HedgeThrottle.concurrency(n), "concurrency"] as const
    ),
    ["all of nothing", () => HedgeThrottle.all(), "all"],
    ["all of what is no throttle", () => HedgeThrottle.all(HedgeThrottle.unlimited, {} as never), "all[1]"],
    ...[1, 0, -3, 2.5, Number.NaN, Number.POSITIVE_INFINITY, "3"].map(
      (maxAttempts) =>
        [
          `maxAttempts ${maxAttempts}`,
          () => HedgePolicy.make({ schedule, maxAttempts: maxAttempts as number }),
          "maxAttempts"
        ] as const
    ),
    ["no schedule", () => HedgePolicy.make({} as never), "schedule"],
    [
      "a delay in the place of a schedule",
      () => HedgePolicy.make({ schedule: "80 millis" as never }),
      "schedule"
    ],
    ["a deadline of 0", () => HedgePolicy.make({ schedule, deadline: 0 }), "deadline"],
    ["a negative deadline", () => HedgePolicy.make({ schedule, deadline: "-1 seconds" }), "deadline"],
    ["an attempt timeout of 0", () => HedgePolicy.make({ schedule, attemptTimeout: 0 }), "attemptTimeout"],
    ["a negative maxPushback", () => HedgePolicy.make({ schedule, maxPushback: -1 }), "maxPushback"],
    [
      "a loserGrace that cannot be read",
      () => HedgePolicy.make({ schedule, loserGrace: "soon" as never }),
      "loserGrace"
    ],
    [
      "a minTimeLeft as long as the deadline",
      () => HedgePolicy.make({ schedule, deadline: 100, minTimeLeft: 100 }),
      "minTimeLeft"
    ],
    ["a throttle that is none", () => HedgePolicy.make({ schedule, throttle: {} as never }), "throttle"],
    ["a misspelt option", () => HedgePolicy.make({ schedule, maxAttemps: 3 } as never), "maxAttemps"],
    ["inline options", () => Hedge.hedge(Effect.void, { schedule, maxAttempts: 1 }), "maxAttempts"],
    ["inline options before the effect", () => Hedge.hedge({ schedule, maxAttempts: 1 }), "maxAttempts"],
    ["a layer's options", () => HedgePolicy.layer({ schedule, maxAttempts: 1 }), "maxAttempts"],
    [
      "a modification",
      () => HedgePolicy.modify(HedgePolicy.make({ schedule }), { maxAttempts: 1 }),
      "maxAttempts"
    ]
  ]
  for (const [name, build, field] of wrong) {
    it(name, () => {
      let error: unknown
      try {
        build()
      } catch (thrown) {
        error = thrown
      }
      expect(error).toBeInstanceOf(HedgePolicy.HedgePolicyError)
      expect((error as HedgePolicy.HedgePolicyError).field).toBe(field)
      expect((error as HedgePolicy.HedgePolicyError).message).toMatch(/allowed is ./)
    })
  }
})

it("a token bucket may hold up to a thousand tokens", () => {
  expect(HedgeThrottle.tokenBucket({ maxTokens: 1000, tokenRatio: 0.1 }).tokens?.(0)).toBe(1000)
})

it("throttles together have the names of all", () => {
  const both = HedgeThrottle.all(HedgeThrottle.unlimited, HedgeThrottle.concurrency(1))
  expect(both.name).toBe("unlimited+concurrency")
})

describe("C25: of Fatal outcomes", () => {
  it.effect("those without pushback leave the tokens alone, and so does a Fatal one with a delay", () =>
    Effect.gen(function* () {
      const throttle = HedgeThrottle.tokenBucket({ maxTokens: 10, tokenRatio: 0.5 })
      yield* times(3)(outcomeOf(throttle, HedgeOutcome.fatal()))
      yield* outcomeOf(throttle, HedgeOutcome.fatal("1 second"))
      expect(throttle.tokens?.(0)).toBe(10)
    })
  )

  it.effect("those with a do-not-retry pushback take one, as a NonFatal one does, once", () =>
    Effect.gen(function* () {
      const throttle = HedgeThrottle.tokenBucket({ maxTokens: 10, tokenRatio: 0.5 })
      yield* outcomeOf(throttle, HedgeOutcome.fatal("DoNotRetry"))
      expect(throttle.tokens?.(0)).toBe(9)
      yield* outcomeOf(throttle, HedgeOutcome.nonFatal("DoNotRetry"))
      expect(throttle.tokens?.(0)).toBe(8)
    })
  )

  it.effect("a pushback that cannot be read takes one, too", () =>
    Effect.gen(function* () {
      const throttle = HedgeThrottle.tokenBucket({ maxTokens: 10, tokenRatio: 0.5 })
      yield* outcomeOf(throttle, HedgeOutcome.fatal(-1))
      expect(throttle.tokens?.(0)).toBe(9)
    })
  )
})

describe("C26: tokens that another call drains while the timer runs", () => {
  it.effect("suppress the hedge at the moment it is due, by the name of the throttle", () =>
    Effect.gen(function* () {
      const recorder = yield* HedgeTest.recordEvents
      const throttle = HedgeThrottle.tokenBucket({ maxTokens: 4, tokenRatio: 0.5 })
      const script = yield* HedgeTest.script([never])
      yield* start(script, HedgeSchedule.fixed(80), { throttle }).pipe(Effect.provide(recorder.layer))
      yield* TestClock.adjust(79)
      yield* times(2)(outcomeOf(throttle, HedgeOutcome.nonFatal()))
      yield* TestClock.adjust(1)
      expect((yield* script.observed).starts).toBe(1)
      expect(yield* recorder.tagged("HedgeSuppressed")).toMatchObject([
        { attempt: 1, reason: "Throttled", throttle: "tokenBucket" }
      ])
    })
  )

  it.effect("and that come back let a later step of the schedule send it", () =>
    Effect.gen(function* () {
      const throttle = HedgeThrottle.tokenBucket({ maxTokens: 4, tokenRatio: 0.5 })
      const script = yield* HedgeTest.script([never, never])
      yield* start(script, HedgeSchedule.fixed(80), { throttle })
      yield* times(2)(outcomeOf(throttle, HedgeOutcome.nonFatal()))
      yield* TestClock.adjust(239)
      yield* outcomeOf(throttle, HedgeOutcome.win)
      yield* TestClock.adjust(1)
      expect((yield* script.observed).startedAt).toStrictEqual([0, 240])
    })
  )
})

describe("C27: a refused hedge", () => {
  const closed = (from = 0, until = Number.POSITIVE_INFINITY) => {
    let asked = 0
    return {
      throttle: HedgeThrottle.make({
        name: "closed",
        refusedBy: (now) => {
          asked += 1
          return now >= from && now < until ? "closed" : undefined
        },
        take: () => {}
      }),
      asked: () => asked
    }
  }

  it.effect("with others in flight disturbs none of them, and the stagger goes on", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never, never, { after: 10, succeed: 2 }])
      const fiber = yield* start(script, HedgeSchedule.fixed(100), {
        maxAttempts: 3,
        throttle: closed(150, 450).throttle
      })
      yield* TestClock.adjust(499)
      expect(yield* script.observed).toMatchObject({ startedAt: [0, 100], interruptions: 0, inFlight: 2 })
      yield* TestClock.adjust(11)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(2))
      expect((yield* script.observed).startedAt).toStrictEqual([0, 100, 500])
    })
  )

  it.effect("after a failure, with others in flight, takes no step: the pending stagger keeps its end", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never, { after: 50, fail: "down" }, { after: 10, succeed: 2 }])
      const fiber = yield* start(script, HedgeSchedule.fixed(100), {
        maxAttempts: 3,
        throttle: closed(140, 160).throttle
      })
      yield* TestClock.adjust(210)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(2))
      expect((yield* script.observed).startedAt).toStrictEqual([0, 100, 200])
    })
  )

  it.effect(
    "with none in flight ends the call at once with its error, though the schedule has steps left",
    () =>
      Effect.gen(function* () {
        const script = yield* HedgeTest.script([{ after: 50, fail: "down" }])
        const fiber = yield* start(script, HedgeSchedule.fixed(100), {
          maxAttempts: 5,
          throttle: closed().throttle
        })
        yield* TestClock.adjust(49)
        expect(yield* poll(fiber)).toBe(null)
        yield* TestClock.adjust(1)
        expect(yield* poll(fiber)).toStrictEqual(Exit.fail("down"))
      })
  )

  it.effect("with none in flight ends it with the primary's error, though a hedge failed last", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([
        { after: 50, fail: "primary" },
        { after: 50, fail: "hedge" }
      ])
      const fiber = yield* Effect.fork(
        Effect.flip(call(script, HedgeSchedule.fixed(100), { maxAttempts: 5, throttle: closed(60).throttle }))
      )
      yield* TestClock.adjust(100)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed("primary"))
      expect((yield* script.observed).starts).toBe(2)
    })
  )

  it.effect("uses up no attempt", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never], { repeat: true })
      yield* start(script, HedgeSchedule.fixed(100), { maxAttempts: 3, throttle: closed(50, 1050).throttle })
      yield* TestClock.adjust("1 day")
      expect((yield* script.observed).startedAt).toStrictEqual([0, 1100, 1200])
    })
  )

  it.effect("of a schedule's last step is the last one", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never], { repeat: true })
      yield* start(script, Schedule.fromDelays(10, 20), { maxAttempts: 9, throttle: closed().throttle })
      yield* TestClock.adjust("1 day")
      expect((yield* script.observed).starts).toBe(1)
    })
  )

  it.effect("does not spin when the stagger is zero: it waits for the next outcome", () =>
    Effect.gen(function* () {
      for (const [schedule, open] of [
        [HedgeSchedule.parallel, 500],
        [Schedule.forever, 1510]
      ] as const) {
        const { throttle, asked } = closed(0, open)
        const script = yield* HedgeTest.script([
          { after: 1000, fail: "down" },
          { after: 10, succeed: 1 }
        ])
        const fiber = yield* start(script, schedule, { throttle })
        yield* TestClock.adjust(999)
        expect(asked()).toBe(1)
        yield* TestClock.adjust(11)
        expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(1))
      }
    })
  )

  it.effect(
    "by a gate of the policy's own says so with the gate's reason, before the throttle is asked",
    () =>
      Effect.gen(function* () {
        const { throttle, asked } = closed()
        const recorder = yield* HedgeTest.recordEvents
        const seen: Array<unknown> = []
        const script = yield* HedgeTest.script([never])
        yield* start(script, HedgeSchedule.fixed(80), {
          throttle,
          gates: [
            (state) => {
              seen.push({ ...state, elapsed: Number(state.elapsed.toString().length > 0) })
              return undefined
            },
            () => "maintenance",
            () => "never asked"
          ]
        }).pipe(Effect.provide(recorder.layer))
        yield* TestClock.adjust(80)
        expect((yield* recorder.tagged("HedgeSuppressed")).map(({ reason }) => reason)).toStrictEqual([
          "maintenance"
        ])
        expect(asked()).toBe(0)
        expect(seen).toStrictEqual([{ attempt: 1, elapsed: 1, inFlight: 1 }])
      })
  )
})

describe("a throttle that is asked at the wrong time", () => {
  it("keeps its budget when one call is a fraction of a millisecond ahead of the next", () => {
    const budget = HedgeThrottle.loadBudget({ extraLoad: 1, burst: 0 })
    for (let i = 0; i < 50; i++) budget.onCall!(1_000)
    budget.onCall!(1_100.2)
    budget.onCall!(1_099.9)
    expect(budget.tokens!(1_099.9)).toBe(52)
  })

  it.effect("takes for a retry without holding a place among the hedges in flight", () =>
    Effect.gen(function* () {
      const throttle = HedgeThrottle.all(
        HedgeThrottle.loadBudget({ extraLoad: 0.1, burst: 3 }),
        HedgeThrottle.concurrency(1)
      )
      const taken = yield* Effect.all(Array.from({ length: 5 }, () => HedgeThrottle.take(throttle)))
      expect(taken).toEqual([true, true, true, false, false])
    })
  )
})

describe("perUpstream", () => {
  it("keeps the throttles of the 256 upstreams that were asked for last", () => {
    const throttleOf = HedgeThrottle.perUpstream(HedgeThrottle.makeDefault)
    const [first, second] = [throttleOf("0"), throttleOf("1")]
    for (let i = 2; i < 256; i++) throttleOf(`${i}`)
    expect(throttleOf("0")).toBe(first)
    throttleOf("256")
    expect(throttleOf("0")).toBe(first)
    expect(throttleOf("1")).not.toBe(second)
  })
})

describe("C28: loadBudget", () => {
  /** The hedges sent by calls that are all slow and come at a rate, in calls a second. */
  const hedges = (options: {
    readonly calls: number
    readonly rate: number
    readonly extraLoad: number
    readonly burst: number
    /** After so many calls comes a pause, in milliseconds. */
    readonly pause?: readonly [after: number, millis: number]
  }): number => {
    const { burst, extraLoad } = options
    const throttle = HedgeThrottle.loadBudget({ burst, extraLoad })
    let now = 0
    let sent = 0
    for (let call = 1; call <= options.calls; call++) {
      throttle.onCall?.(now)
      if (throttle.refusedBy(now) === undefined) {
        throttle.take(now)
        sent += 1
      }
      now += 1000 / options.rate
      if (options.pause?.[0] === call) now += options.pause[1]
    }
    return sent
  }

  for (const rate of [0.01, 1, 10, 1000, 100_000]) {
    for (const [extraLoad, burst] of [
      [0.1, 10],
      [0.2, 0],
      [1, 3],
      [0.013, 7]
    ] as const) {
      it(`of ${extraLoad} and ${burst} sends at most burst + n × extraLoad hedges at ${rate} calls a second`, () => {
        for (const calls of [1, 10, 100, 5000]) {
          const sent = hedges({ calls, rate, extraLoad, burst })
          expect(sent).toBeLessThanOrEqual(burst + calls * extraLoad + 1e-9)
          // and no more than one fewer, while the calls of the last 10 s allow it
          if (rate >= 10) expect(sent).toBeGreaterThan(Math.min(calls, burst + calls * extraLoad) - 1 - 1e-9)
        }
      })
    }
  }

  it("saves nothing over a pause: what is left of the budget is what the last 10 s allow", () => {
    const throttle = HedgeThrottle.loadBudget({ extraLoad: 0.5, burst: 2 })
    for (let call = 0; call < 1000; call++) throttle.onCall?.(call)
    expect(throttle.tokens?.(1000)).toBeCloseTo(502, 6)
    expect(throttle.tokens?.(10_300)).toBeLessThan(502)
    expect(throttle.tokens?.(11_200)).toBe(2)
    // spent tokens do not come back with time, only with calls
    throttle.take(11_200)
    throttle.take(11_200)
    expect(throttle.tokens?.(1_000_000)).toBe(0)
    expect(throttle.refusedBy(1_000_000)).toBe("loadBudget")
  })

  it("allows no more across a pause than without one", () => {
    const options = { calls: 2000, rate: 100, extraLoad: 0.1, burst: 5 }
    for (const millis of [1, 5000, 9999, 10_000, 60_000, 86_400_000]) {
      expect(hedges({ ...options, pause: [1000, millis] })).toBeLessThanOrEqual(5 + 2000 * 0.1)
    }
  })

  it("of tenths gives the tenth call its hedge", () => {
    const throttle = HedgeThrottle.loadBudget({ extraLoad: 0.1, burst: 0 })
    for (let call = 1; call <= 9; call++) throttle.onCall?.(0)
    expect(throttle.refusedBy(0)).toBe("loadBudget")
    throttle.onCall?.(0)
    expect(throttle.refusedBy(0)).toBe(undefined)
  })
})

describe("C29: in a total outage", () => {
  for (const [name, make, most] of [
    ["loadBudget", () => HedgeThrottle.loadBudget({ extraLoad: 0.1, burst: 2 }), 2 + 0.1 * 30],
    ["the default throttle", HedgeThrottle.makeDefault, 10 + 0.2 * 30]
  ] as const) {
    it.effect(`with every attempt slow and failing, the extra load stays within ${name}`, () =>
      Effect.gen(function* () {
        const script = yield* HedgeTest.script([{ after: 3000, fail: "down" }], { repeat: true })
        const throttle = make()
        const one = Effect.ignore(call(script, HedgeSchedule.fixed(80), { maxAttempts: 3, throttle }))
        for (let batch = 0; batch < 6; batch++) {
          yield* times(5)(Effect.fork(one))
          yield* TestClock.adjust(100)
        }
        yield* TestClock.adjust("1 minute")
        const { starts, inFlight } = yield* script.observed
        expect(inFlight).toBe(0)
        expect(starts).toBeLessThanOrEqual(30 + most)
        expect(starts).toBeGreaterThan(30 + most / 2)
      })
    )
  }

  it.effect("with every attempt failing at once, too", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([{ fail: "down" }], { repeat: true })
      const one = Effect.ignore(
        call(script, HedgeSchedule.fixed(80), { maxAttempts: 3, throttle: HedgeThrottle.makeDefault() })
      )
      yield* times(2000)(one)
      expect((yield* script.observed).starts).toBeLessThanOrEqual(2000 + 10 + 0.2 * 2000)
    })
  )
})

describe("C30: throttles together", () => {
  const counting = (name: string, refuses: boolean) => {
    const counts = { taken: 0, calls: 0, outcomes: 0, ends: 0 }
    const throttle = HedgeThrottle.make({
      name,
      refusedBy: () => (refuses ? name : undefined),
      take: () => {
        counts.taken += 1
      },
      onCall: () => {
        counts.calls += 1
      },
      onOutcome: () => {
        counts.outcomes += 1
      },
      onHedgeEnd: () => {
        counts.ends += 1
      }
    })
    return { throttle, counts }
  }

  it.effect("all(a, b): when b refuses, a is not charged, and b is named", () =>
    Effect.gen(function* () {
      const a = counting("a", false)
      const b = counting("b", true)
      const recorder = yield* HedgeTest.recordEvents
      const script = yield* HedgeTest.script([{ fail: "down" }])
      yield* Effect.exit(
        call(script, HedgeSchedule.onFailure, { throttle: HedgeThrottle.all(a.throttle, b.throttle) })
      ).pipe(Effect.provide(recorder.layer))
      expect([a.counts, b.counts]).toStrictEqual([
        { taken: 0, calls: 1, outcomes: 1, ends: 0 },
        { taken: 0, calls: 1, outcomes: 1, ends: 0 }
      ])
      expect((yield* recorder.tagged("HedgeSuppressed")).map(({ throttle }) => throttle)).toStrictEqual(["b"])
    })
  )

  it.effect("all(a, b): when both agree, both are charged and told of everything, once", () =>
    Effect.gen(function* () {
      const a = counting("a", false)
      const b = counting("b", false)
      const script = yield* HedgeTest.script<number, string>([{ fail: "down" }, { succeed: 1 }])
      const throttle = HedgeThrottle.all(a.throttle, HedgeThrottle.all(b.throttle))
      yield* call(script, HedgeSchedule.onFailure, { throttle })
      expect([a.counts, b.counts]).toStrictEqual([
        { taken: 1, calls: 1, outcomes: 2, ends: 1 },
        { taken: 1, calls: 1, outcomes: 2, ends: 1 }
      ])
    })
  )

  it.effect("one throttle of two policies counts for both", () =>
    Effect.gen(function* () {
      const throttle = HedgeThrottle.loadBudget({ extraLoad: 0.0001, burst: 3 })
      const one = HedgePolicy.make({ schedule: HedgeSchedule.parallel, throttle })
      const other = HedgePolicy.make({ schedule: HedgeSchedule.onFailure, throttle, maxAttempts: 3 })
      const script = yield* HedgeTest.script([{ fail: "down" }], { repeat: true })
      yield* times(2)(Effect.exit(Hedge.hedge(script.effect, one)))
      yield* times(2)(Effect.exit(Hedge.hedge(script.effect, other)))
      expect((yield* script.observed).starts).toBe(7)
    })
  )

  it.effect("an upstream's retries take from the same budget, and are refused by it", () =>
    Effect.gen(function* () {
      const throttle = HedgeThrottle.loadBudget({ extraLoad: 0.0001, burst: 3 })
      const script = yield* HedgeTest.script([{ fail: "down" }], { repeat: true })
      const hedged = Hedge.hedge(script.effect, { schedule: HedgeSchedule.parallel, throttle })
      yield* Effect.exit(Effect.retry(hedged, { times: 5, while: () => HedgeThrottle.take(throttle) }))
      // two calls with a hedge each, and a retry between them that took the third token
      expect((yield* script.observed).starts).toBe(4)
      expect(yield* HedgeThrottle.take(throttle)).toBe(false)
    })
  )
})

describe("concurrency", () => {
  it.effect("counts a hedge that lost until it has unwound", () =>
    Effect.gen(function* () {
      const throttle = HedgeThrottle.concurrency(1)
      const first = yield* HedgeTest.script([
        { after: 100, succeed: 1 },
        { never: true, unwind: 1000 }
      ])
      const fiber = yield* start(first, HedgeSchedule.fixed(50), { throttle })
      yield* TestClock.adjust(100)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(1))
      const second = yield* HedgeTest.script([never, never])
      yield* start(second, HedgeSchedule.fixed(100), { throttle })
      yield* TestClock.adjust(999)
      expect((yield* second.observed).starts).toBe(1)
      yield* TestClock.adjust(1)
      yield* settled
      yield* TestClock.adjust(100)
      expect((yield* second.observed).starts).toBe(2)
      expect(throttle.tokens?.(0)).toBe(0)
    })
  )

  it.effect("is given back however a hedge ends", () =>
    Effect.gen(function* () {
      const throttle = HedgeThrottle.concurrency(2)
      for (const ending of [
        { succeed: 1 },
        { fail: "down" },
        { die: "defect" },
        { interrupt: true },
        { after: 5, uninterruptibleFrom: 0, succeed: 2 }
      ] as const) {
        const script = yield* HedgeTest.script<number, string>([{ fail: "down" }, ending])
        yield* start(script, HedgeSchedule.onFailure, { throttle })
        yield* TestClock.adjust(5)
      }
      const script = yield* HedgeTest.script([never, never])
      const fiber = yield* start(script, HedgeSchedule.parallel, { throttle })
      expect(throttle.tokens?.(0)).toBe(1)
      yield* Fiber.interrupt(fiber)
      expect(throttle.tokens?.(0)).toBe(2)
    })
  )
})
