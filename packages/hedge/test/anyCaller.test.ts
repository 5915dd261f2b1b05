import { describe, expect, it } from "@effect/vitest"
import {
  Cause,
  Deferred,
  Effect,
  Exit,
  Fiber,
  FiberId,
  Option,
  Runtime,
  Schedule,
  type Scheduler,
  Supervisor,
  TestClock
} from "effect"
import { Hedge, HedgeAttempt, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"
import { call, poll, roots, settled } from "./support.js"

const never = { never: true } as const
const throttle = HedgeThrottle.unlimited
const staggers = {
  "a stagger of zero": HedgeSchedule.parallel,
  "a stagger": HedgeSchedule.fixed("80 millis"),
  "an infinite stagger": HedgeSchedule.onFailure,
  "an ordinary schedule": Schedule.spaced("80 millis")
}

describe("Effect.runSync of a hedged call", () => {
  for (const [name, schedule] of Object.entries(staggers)) {
    const policy = {
      schedule,
      throttle,
      maxAttempts: 3,
      deadline: "1 second",
      attemptTimeout: "500 millis"
    } as const

    it(`that is answered synchronously gives its answer, with ${name}`, () => {
      const before = Effect.runSync(roots)
      expect(Effect.runSync(Hedge.hedge(Effect.succeed(1), policy))).toBe(1)
      expect(Effect.runSync(Hedge.hedgeWith(({ index }) => Effect.succeed(index), policy))).toBe(0)
      expect(Effect.runSync(Effect.scoped(Hedge.hedgeScoped(Effect.succeed(2), policy)))).toBe(2)
      expect(
        Effect.runSync(Effect.provide(Hedge.withPolicy(Effect.succeed(3)), HedgePolicy.layer(policy)))
      ).toBe(3)
      expect(Effect.runSync(Hedge.withoutHedging(Hedge.hedge(Effect.succeed(4), policy)))).toBe(4)
      expect(Effect.runSync(roots)).toBe(before)
    })

    it(`whose attempts all fail synchronously fails, with ${name}`, () => {
      const exit = Effect.runSyncExit(Hedge.hedge(Effect.fail("down"), { ...policy, maxAttempts: 40 }))
      expect(Exit.isFailure(exit) && Cause.isFailure(exit.cause)).toBe(true)
    })

    it(`that would have to wait says so, as for any effect, and can be interrupted, with ${name}`, async () => {
      const before = Effect.runSync(roots)
      const exit = Effect.runSyncExit(Hedge.hedge(Effect.never, policy))
      const defect = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
      expect(Runtime.isAsyncFiberException(defect)).toBe(true)
      await Effect.runPromise(Fiber.interrupt((defect as Runtime.AsyncFiberException<unknown>).fiber))
      await Effect.runPromise(settled)
      expect(Effect.runSync(roots)).toBe(before)
    })
  }
})

describe("a scheduler of the caller's own", () => {
  /** Runs what it is given at once, within whatever is running. */
  const immediate: Scheduler.Scheduler = {
    scheduleTask: (task) => task(),
    shouldYield: () => false
  }
  /** Runs one task per macrotask, and lets no fiber run for long. */
  const slow: Scheduler.Scheduler = {
    scheduleTask: (task) => {
      setImmediate(task)
    },
    shouldYield: (fiber) => (fiber.currentOpCount > 20 ? 0 : false)
  }
  for (const [name, scheduler] of Object.entries({ immediate, slow })) {
    it(`(${name}) runs attempts, hedges, losers and discards`, async () => {
      const before = Effect.runSync(roots)
      const discarded: Array<string> = []
      let starts = 0
      const gates = [
        Deferred.unsafeMake<void>(FiberId.none),
        Deferred.unsafeMake<void>(FiberId.none)
      ] as const
      const attempt = Effect.suspend(() => {
        const index = starts++
        return Effect.as(Deferred.await(gates[index]!), `attempt ${index}`)
      })
      const fiber = Effect.runFork(
        Hedge.hedge(attempt, {
          schedule: HedgeSchedule.parallel,
          throttle,
          onDiscard: (value) => Effect.sync(() => discarded.push(value))
        }),
        { scheduler }
      )
      await Effect.runPromise(settled)
      expect(starts).toBe(2)
      Deferred.unsafeDone(gates[1], Effect.void)
      expect(await Effect.runPromise(Fiber.join(fiber))).toBe("attempt 1")
      for (let turn = 0; turn < 20; turn++) await Effect.runPromise(settled)
      expect(discarded).toStrictEqual([])
      expect(Effect.runSync(roots)).toBe(before)
    })

    it(`(${name}) interrupts a call with all that belongs to it`, async () => {
      const before = Effect.runSync(roots)
      let interrupted = 0
      const attempt = Effect.onInterrupt(Effect.never, () =>
        Effect.sync(() => {
          interrupted += 1
        })
      )
      const fiber = Effect.runFork(
        Hedge.hedge(attempt, { schedule: HedgeSchedule.parallel, throttle, maxAttempts: 4 }),
        { scheduler }
      )
      await Effect.runPromise(settled)
      await Effect.runPromise(Fiber.interrupt(fiber))
      expect(interrupted).toBe(4)
      await Effect.runPromise(settled)
      expect(Effect.runSync(roots)).toBe(before)
    })

    it(`(${name}) runs a thousand attempts that fail synchronously`, async () => {
      let starts = 0
      const attempt = Effect.suspend(() =>
        ++starts === 1000 ? Effect.succeed("last") : Effect.fail("again")
      )
      const fiber = Effect.runFork(
        Hedge.hedge(attempt, { schedule: HedgeSchedule.onFailure, throttle, maxAttempts: 2000 }),
        { scheduler }
      )
      expect(await Effect.runPromise(Fiber.join(fiber))).toBe("last")
    })
  }

  // with fewer than 9, Effect itself makes no progress
  it.effect("and fibers that yield after a few operations give the same answers", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script<number, string>([
        { fail: "down" },
        never,
        { after: 10, succeed: 3 }
      ])
      const fiber = yield* Effect.fork(
        Effect.withMaxOpsBeforeYield(call(script, HedgeSchedule.fixed(80), { maxAttempts: 3 }), 12)
      )
      yield* TestClock.adjust(90)
      yield* settled
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(3))
      expect(yield* script.observed).toMatchObject({ startedAt: [0, 0, 80], interruptions: 1 })
    })
  )
})

describe("a supervisor of the caller's", () => {
  it.effect("is told of every attempt's start and end", () =>
    Effect.gen(function* () {
      const supervisor = yield* Supervisor.track
      const answer = yield* Deferred.make<number>()
      const attempt = Hedge.hedgeWith(({ index }) => (index === 2 ? Deferred.await(answer) : Effect.never), {
        schedule: HedgeSchedule.parallel,
        throttle,
        maxAttempts: 3
      })
      const fiber = yield* Effect.fork(Effect.supervised(attempt, supervisor))
      yield* settled
      expect((yield* supervisor.value).length).toBe(3)
      yield* Deferred.succeed(answer, 3)
      expect(yield* Fiber.join(fiber)).toBe(3)
      yield* settled
      expect(yield* supervisor.value).toStrictEqual([])
    })
  )
})

describe("calls within calls", () => {
  it.effect("a thousand deep overflow no stack", () =>
    Effect.gen(function* () {
      const policy = { schedule: HedgeSchedule.fixed("1 hour"), throttle }
      let deep: Effect.Effect<number, string> = Effect.succeed(1)
      for (let i = 0; i < 1000; i++) deep = Hedge.hedge(deep, policy)
      expect(yield* deep).toBe(1)
      // each level's hedge runs all that is below it once more
      let failing: Effect.Effect<number, string> = Effect.fail("down")
      for (let i = 0; i < 50; i++) failing = Hedge.hedge(failing, policy)
      const exit = yield* Effect.exit(failing)
      expect(Exit.isFailure(exit) && Cause.isFailure(exit.cause)).toBe(true)
    })
  )

  it.effect("are interrupted with the outermost, to the last attempt", () =>
    Effect.gen(function* () {
      const before = yield* roots
      const inner = yield* HedgeTest.script([never], { repeat: true })
      const middle = call(inner, HedgeSchedule.parallel, { maxAttempts: 3 })
      const outer = Hedge.hedge(Hedge.hedge(middle, { schedule: HedgeSchedule.parallel, throttle }), {
        schedule: HedgeSchedule.parallel,
        throttle
      })
      const fiber = yield* Effect.fork(outer)
      yield* settled
      expect((yield* inner.observed).inFlight).toBe(5)
      yield* Fiber.interrupt(fiber)
      yield* settled
      expect(yield* inner.observed).toMatchObject({ inFlight: 0, interruptions: 5 })
      expect(yield* roots).toBe(before)
    })
  )
})

describe("a hedged effect is a value", () => {
  it.effect("that many fibers can run at once, each as a call of its own", () =>
    Effect.gen(function* () {
      const ids = new Set<string>()
      const attempt = Effect.flatMap(HedgeAttempt.current, (current) =>
        Effect.as(
          Effect.sleep(100),
          Effect.sync(() => ids.add(current._tag === "Some" ? current.value.callId : ""))
        ).pipe(Effect.flatten)
      )
      const hedged = Hedge.hedge(attempt, { schedule: HedgeSchedule.fixed(80), throttle })
      const fiber = yield* Effect.fork(
        Effect.all(
          Array.from({ length: 50 }, () => hedged),
          { concurrency: "unbounded" }
        )
      )
      yield* TestClock.adjust(100)
      yield* Fiber.join(fiber)
      expect(ids.size).toBe(50)
    })
  )

  it.effect("that does nothing until it is run, and starts over at each run", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([{ succeed: 1 }], { repeat: true })
      const hedged = call(script, HedgeSchedule.fixed(80))
      yield* settled
      expect((yield* script.observed).starts).toBe(0)
      yield* Effect.repeatN(hedged, 2)
      expect((yield* script.observed).starts).toBe(3)
    })
  )
})

describe("an effect of a class of its own, which has the mark of a stream, is hedged as an effect by withPolicy:", () => {
  for (const [name, effect] of [
    ["an Option", Option.some(1)],
    ["a Deferred", Effect.runSync(Effect.tap(Deferred.make<number>(), Deferred.succeed(1)))]
  ] as const) {
    it.effect(name, () =>
      Effect.provide(Hedge.withPolicy(effect), HedgePolicy.layer({ schedule: HedgeSchedule.parallel })).pipe(
        Effect.map((answer) => expect(answer).toBe(1))
      )
    )
  }
})

describe("a call within Effect's own combinators", () => {
  it.effect("loses a race: all its attempts are interrupted", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never, never])
      const fiber = yield* Effect.fork(
        Effect.race(call(script, HedgeSchedule.fixed(80)), Effect.as(Effect.sleep(100), "other"))
      )
      yield* TestClock.adjust(100)
      expect(yield* Fiber.join(fiber)).toBe("other")
      expect(yield* script.observed).toMatchObject({ starts: 2, interruptions: 2, inFlight: 0 })
    })
  )

  it.effect("is ended by Effect.timeout, which waits for its attempts as it would for one", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([{ never: true, unwind: 50 }], { repeat: true })
      const fiber = yield* Effect.fork(Effect.timeoutOption(call(script, HedgeSchedule.fixed(80)), 100))
      yield* TestClock.adjust(149)
      expect(yield* poll(fiber)).toBe(null)
      yield* TestClock.adjust(1)
      expect(yield* poll(fiber)).toMatchObject({ _tag: "Success", value: { _tag: "None" } })
      expect(yield* script.observed).toMatchObject({ starts: 2, interruptions: 2, inFlight: 0 })
    })
  )

  it.effect("is retried as a whole", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script<number, string>([
        { fail: "1" },
        { fail: "2" },
        { fail: "3" },
        { succeed: 4 }
      ])
      expect(yield* Effect.retry(call(script, HedgeSchedule.onFailure), { times: 1 })).toBe(4)
    })
  )

  it.effect("in a group that fails, is interrupted with it", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never, never])
      const group = Effect.all(
        [call(script, HedgeSchedule.parallel), Effect.zipRight(Effect.sleep(10), Effect.fail("other"))],
        {
          concurrency: "unbounded"
        }
      )
      const fiber = yield* Effect.fork(Effect.flip(group))
      yield* TestClock.adjust(10)
      expect(yield* Fiber.join(fiber)).toBe("other")
      expect(yield* script.observed).toMatchObject({ starts: 2, interruptions: 2, inFlight: 0 })
    })
  )

  it.effect("in a child fiber, ends with the parent", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never, never])
      const child = Effect.fork(call(script, HedgeSchedule.parallel))
      yield* Effect.fork(Effect.zipRight(child, Effect.sleep(10)))
      yield* settled
      expect(yield* script.observed).toMatchObject({ starts: 2, inFlight: 2 })
      yield* TestClock.adjust(10)
      yield* settled
      expect(yield* script.observed).toMatchObject({ interruptions: 2, inFlight: 0 })
    })
  )

  it.effect("disconnected, lets its caller go and unwinds in the background", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([{ never: true, unwind: 500 }], { repeat: true })
      const fiber = yield* Effect.fork(Effect.disconnect(call(script, HedgeSchedule.parallel)))
      yield* settled
      yield* Fiber.interrupt(fiber)
      expect((yield* script.observed).inFlight).toBe(2)
      yield* TestClock.adjust(500)
      yield* settled
      expect((yield* script.observed).inFlight).toBe(0)
    })
  )

  it.effect(
    "under Effect.cached shares its slow call: a hedge around it does nothing, as the documentation says",
    () =>
      Effect.gen(function* () {
        const script = yield* HedgeTest.script([{ after: 500, succeed: 1 }])
        const cached = yield* Effect.cached(script.effect)
        const fiber = yield* Effect.fork(Hedge.hedge(cached, { schedule: HedgeSchedule.fixed(80), throttle }))
        yield* TestClock.adjust(499)
        expect(yield* poll(fiber)).toBe(null)
        yield* TestClock.adjust(1)
        yield* settled
        expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(1))
        expect((yield* script.observed).starts).toBe(1)
      })
  )
})
