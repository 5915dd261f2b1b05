import { describe, expect, it } from "@effect/vitest"
import {
  Context,
  Effect,
  Exit,
  Fiber,
  FiberRef,
  HashMap,
  Layer,
  Logger,
  ManagedRuntime,
  Option,
  Schedule,
  Scope,
  TestClock,
  Tracer
} from "effect"
import { Hedge, HedgeAttempt, HedgeEvent, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"
import { call, poll, roots, settled, start } from "./support.js"

const never = { never: true } as const
const throttle = HedgeThrottle.unlimited
const parallel = { schedule: HedgeSchedule.parallel, throttle }

describe("C52: a hedged call inside an attempt", () => {
  /** An outer call whose every attempt makes an inner call of three attempts, none of which answers. */
  const nested = (outerAttempts: number) =>
    Effect.gen(function* () {
      const recorder = yield* HedgeTest.recordEvents
      const inner = yield* HedgeTest.script([never], { repeat: true })
      const attempt = call(inner, HedgeSchedule.parallel, { maxAttempts: 3 }).pipe(
        Effect.provide(recorder.layer)
      )
      const outer = Hedge.hedge(attempt, { ...parallel, maxAttempts: outerAttempts })
      const fiber = yield* Effect.fork(outer)
      yield* settled
      return { inner, recorder, fiber }
    })

  for (const outerAttempts of [2, 3, 5]) {
    it.effect(`hedges in the primary of ${outerAttempts} attempts, and in no hedge`, () =>
      Effect.gen(function* () {
        const { inner, recorder } = yield* nested(outerAttempts)
        expect((yield* inner.observed).starts).toBe(3 + (outerAttempts - 1))
        const suppressed = yield* recorder.tagged("HedgeSuppressed")
        expect(suppressed.map(({ attempt, reason }) => [attempt, reason])).toStrictEqual(
          Array.from({ length: outerAttempts - 1 }, () => [1, "Nested"])
        )
      })
    )
  }

  it.effect("hedges nowhere below a hedge, however deep", () =>
    Effect.gen(function* () {
      let starts = 0
      const deep = Effect.suspend(() => {
        starts += 1
        return Effect.never
      })
      const levels = [1, 2, 3, 4].reduce<Effect.Effect<never>>((inner) => Hedge.hedge(inner, parallel), deep)
      yield* Effect.fork(levels)
      yield* settled
      // each level adds one hedge, within which nothing is hedged
      expect(starts).toBe(5)
    })
  )

  it.effect("sends a failing primary's successor no less nested", () =>
    Effect.gen(function* () {
      const inner = yield* HedgeTest.script([{ fail: "down" }], { repeat: true })
      const attempt = call(inner, HedgeSchedule.onFailure, { maxAttempts: 3 })
      yield* Effect.exit(Hedge.hedge(attempt, { ...parallel, schedule: HedgeSchedule.onFailure }))
      expect((yield* inner.observed).starts).toBe(4)
    })
  )

  for (const winner of [0, 1]) {
    it.effect(`hedges in what a winner leaves running, attempt ${winner}, from then on`, () =>
      Effect.gen(function* () {
        const recorder = yield* HedgeTest.recordEvents
        const inner = yield* HedgeTest.script([never], { repeat: true })
        const attempt = Effect.flatMap(HedgeAttempt.current, (current) => {
          const later = (millis: number) =>
            Effect.forkDaemon(Effect.delay(call(inner, HedgeSchedule.parallel), millis))
          return Option.getOrThrow(current).index === winner
            ? Effect.zipRight(Effect.zipRight(later(5), later(20)), Effect.sleep(10))
            : Effect.never
        })
        yield* Effect.fork(Effect.provide(Hedge.hedge(attempt, parallel), recorder.layer))
        yield* TestClock.adjust(20)
        const { startedAt } = yield* inner.observed
        expect(startedAt).toStrictEqual(winner === 0 ? [5, 5, 20, 20] : [5, 20, 20])
      })
    )
  }

  it.effect("hedges in no daemon of a loser, however long after", () =>
    Effect.gen(function* () {
      const inner = yield* HedgeTest.script([never], { repeat: true })
      const later = Effect.delay(call(inner, HedgeSchedule.parallel), "1 hour")
      const attempt = Effect.flatMap(HedgeAttempt.current, (current) =>
        Option.getOrThrow(current).index === 0
          ? Effect.sleep(10)
          : // a call that is not hedged lies between
            Effect.zipRight(Effect.forkDaemon(Hedge.hedge(later, parallel)), Effect.never)
      )
      yield* Effect.fork(Hedge.hedge(attempt, parallel))
      yield* TestClock.adjust("1 hour")
      expect((yield* inner.observed).starts).toBe(1)
    })
  )

  it.effect("hedges in the primary of a call that is not hedged itself", () =>
    Effect.gen(function* () {
      const inner = yield* HedgeTest.script([never], { repeat: true })
      const policy = HedgePolicy.ineligible(HedgePolicy.make(parallel))
      yield* Effect.fork(Hedge.hedge(call(inner, HedgeSchedule.parallel), policy))
      yield* settled
      expect((yield* inner.observed).starts).toBe(2)
    })
  )

  it.effect("is known to its attempts as their own call, and the outer one again afterwards", () =>
    Effect.gen(function* () {
      const index = Effect.map(HedgeAttempt.current, (current) => Option.getOrThrow(current).index)
      const id = Effect.map(HedgeAttempt.current, (current) => Option.getOrThrow(current).callId)
      const inner = Hedge.hedgeWith(
        (attempt) => (attempt.index === 0 ? Effect.fail("down") : Effect.zip(index, id)),
        { ...parallel, schedule: HedgeSchedule.onFailure }
      )
      const outer = Hedge.hedge(Effect.all([Effect.zip(index, id), inner, Effect.zip(index, id)]), parallel)
      const [before, inside, after] = yield* outer
      expect(before[0]).toBe(0)
      expect(inside[0]).toBe(1)
      expect(after).toStrictEqual(before)
      expect(inside[1]).not.toBe(before[1])
    })
  )
})

describe("C52: withoutHedging", () => {
  const policies = {
    "a stagger of zero": HedgeSchedule.parallel,
    "a stagger": HedgeSchedule.fixed(80),
    "an infinite stagger": HedgeSchedule.onFailure
  }
  for (const [name, schedule] of Object.entries(policies)) {
    it.effect(`sends one attempt, with ${name}, and says so once`, () =>
      Effect.gen(function* () {
        const recorder = yield* HedgeTest.recordEvents
        const script = yield* HedgeTest.script([{ after: 500, fail: "down" }])
        const fiber = yield* Effect.fork(
          Hedge.withoutHedging(call(script, schedule, { maxAttempts: 3 })).pipe(
            Effect.provide(recorder.layer)
          )
        )
        yield* TestClock.adjust(500)
        expect(yield* poll(fiber)).toStrictEqual(Exit.fail("down"))
        expect((yield* recorder.events).map(({ _tag }) => _tag)).toStrictEqual([
          "CallStarted",
          "AttemptStarted",
          "HedgeSuppressed",
          "AttemptEnded",
          "CallEnded"
        ])
        expect(yield* recorder.tagged("HedgeSuppressed")).toMatchObject([{ attempt: 1, reason: "Disabled" }])
      })
    )
  }

  it.effect("reaches calls of any depth, and ends where it ends", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([{ fail: "down" }], { repeat: true })
      const hedged = Effect.ignore(call(script, HedgeSchedule.parallel, { maxAttempts: 3 }))
      yield* Hedge.withoutHedging(
        Effect.zipRight(hedged, Effect.fork(hedged).pipe(Effect.flatMap(Fiber.join)))
      )
      expect((yield* script.observed).starts).toBe(2)
      yield* hedged
      expect((yield* script.observed).starts).toBe(5)
    })
  )

  it.effect("asks no schedule", () =>
    Effect.gen(function* () {
      const schedule = HedgeSchedule.fixed(5).pipe((self) => self)
      const dying = yield* HedgeTest.script([{ after: 50, succeed: 1 }])
      const fiber = yield* Effect.fork(
        Hedge.withoutHedging(
          Hedge.hedge(dying.effect, {
            schedule,
            throttle,
            gates: [
              () => {
                throw "asked"
              }
            ]
          })
        )
      )
      yield* TestClock.adjust(50)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(1))
    })
  )
})

describe("C57: a policy", () => {
  it.effect("value used in a thousand calls shares nothing but its throttle", () =>
    Effect.gen(function* () {
      const shared = HedgeThrottle.loadBudget({ extraLoad: 0.001, burst: 3 })
      const policy = HedgePolicy.make({ schedule: HedgeSchedule.parallel, throttle: shared })
      const ids = new Set<string>()
      let hedges = 0
      const attempt = (current: HedgeAttempt.HedgeAttempt) => {
        ids.add(current.callId)
        if (current.index > 0) hedges += 1
        return Effect.never
      }
      const fibers = yield* Effect.replicateEffect(Effect.fork(Hedge.hedgeWith(attempt, policy)), 1000)
      yield* settled
      expect(ids.size).toBe(1000)
      // a burst of 3, and a thousandth of a hedge for each call
      expect(hedges).toBe(4)
      yield* Fiber.interruptAll(fibers)
    })
  )

  it.effect("value with an ordinary schedule starts it anew in each call", () =>
    Effect.gen(function* () {
      const policy = HedgePolicy.make({ ...parallel, schedule: HedgeSchedule.fixed(10), maxAttempts: 3 })
      const scripts = yield* Effect.replicateEffect(HedgeTest.script([never], { repeat: true }), 3)
      for (const script of scripts) {
        yield* Effect.fork(Hedge.hedge(script.effect, policy))
        yield* TestClock.adjust(7)
      }
      yield* TestClock.adjust("1 day")
      const starts = yield* Effect.forEach(scripts, (script) => script.observed)
      expect(starts.map(({ startedAt }) => startedAt)).toStrictEqual([
        [0, 10, 20],
        [7, 17, 27],
        [14, 24, 34]
      ])
    })
  )

  it.effect("layer built once is shared by every call: its throttle, and its losers", () =>
    Effect.gen(function* () {
      let builds = 0
      const counted = Layer.effectDiscard(Effect.sync(() => (builds += 1)))
      const layer = HedgePolicy.layer({
        schedule: HedgeSchedule.parallel,
        throttle: HedgeThrottle.loadBudget({ extraLoad: 0.001, burst: 3 })
      }).pipe(Layer.provideMerge(counted))
      const script = yield* HedgeTest.script([{ fail: "down" }], { repeat: true })
      const hedged = Effect.ignore(Hedge.withPolicy(script.effect))
      yield* Effect.replicateEffect(hedged, 100).pipe(Effect.provide(layer))
      expect(builds).toBe(1)
      expect((yield* script.observed).starts).toBe(103)
    })
  )

  it.effect("without a throttle takes HedgeThrottle.Default, as it stands where the call is made", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([{ fail: "down" }], { repeat: true })
      const hedged = Effect.ignore(Hedge.hedge(script.effect, { schedule: HedgeSchedule.parallel }))
      const none = HedgeThrottle.make({ name: "none", refusedBy: () => "none", take: () => {} })
      yield* Effect.provideService(hedged, HedgeThrottle.Default, none)
      expect((yield* script.observed).starts).toBe(1)
      yield* Effect.provideService(hedged, HedgeThrottle.Default, throttle)
      expect((yield* script.observed).starts).toBe(3)
    })
  )

  it.effect("of a tag of one's own stands beside the default one", () =>
    Effect.gen(function* () {
      class SearchPolicy extends HedgePolicy.Tag("test/SearchPolicy")<SearchPolicy>() {}
      const recorder = yield* HedgeTest.recordEvents
      const script = yield* HedgeTest.script([{ fail: "down" }], { repeat: true })
      const program = Effect.all([
        Effect.ignore(Hedge.withPolicy(script.effect)),
        Effect.ignore(script.effect.pipe(Hedge.withPolicy(SearchPolicy))),
        Effect.ignore(Hedge.withPolicy(script.effect, SearchPolicy))
      ])
      yield* program.pipe(
        Effect.provide(HedgePolicy.layer({ ...parallel, maxAttempts: 2 })),
        Effect.provide(SearchPolicy.layer({ ...parallel, maxAttempts: 3 })),
        Effect.provide(recorder.layer)
      )
      expect(
        (yield* recorder.tagged("CallEnded")).map(({ policy, attempts }) => [policy, attempts])
      ).toStrictEqual([
        ["effect-hedge/HedgePolicy", 2],
        ["test/SearchPolicy", 3],
        ["test/SearchPolicy", 3]
      ])
    })
  )

  it.effect("takes what its schedule and onDiscard need from where its layer is built", () =>
    Effect.gen(function* () {
      class Delay extends Context.Tag("test/Delay")<Delay, number>() {}
      class Log extends Context.Tag("test/Log")<Log, Array<unknown>>() {}
      const log: Array<unknown> = []
      const schedule = Schedule.addDelayEffect(Schedule.forever, () => Delay)
      const onDiscard = (value: unknown) => Effect.map(Log, (values) => void values.push(value))
      const layer = HedgePolicy.layer<Delay | Log>({ schedule, throttle, onDiscard }).pipe(
        Layer.provide(Layer.succeed(Delay, 70)),
        Layer.provide(Layer.succeed(Log, log))
      )
      const script = yield* HedgeTest.script([
        { after: 500, uninterruptibleFrom: 0, succeed: "late" },
        { after: 10, succeed: "winner" }
      ])
      const fiber = yield* Effect.fork(Hedge.withPolicy(script.effect).pipe(Effect.provide(layer)))
      yield* TestClock.adjust("1 second")
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed("winner"))
      expect((yield* script.observed).startedAt).toStrictEqual([0, 70])
      expect(log).toStrictEqual(["late"])
    })
  )

  it.effect("without an onDiscard says nothing of a success that comes too late", () =>
    Effect.gen(function* () {
      const logged: Array<unknown> = []
      const logger = Logger.make(({ message }) => void logged.push(message))
      const script = yield* HedgeTest.script([
        { after: 500, uninterruptibleFrom: 0, succeed: "late" },
        { after: 10, succeed: "winner" }
      ])
      const hedged = Effect.provide(Hedge.withPolicy(script.effect), HedgePolicy.layer(parallel))
      yield* Effect.fork(Effect.provide(hedged, Logger.replace(Logger.defaultLogger, logger)))
      yield* TestClock.adjust("1 second")
      yield* settled
      expect(yield* script.observed).toMatchObject({ starts: 2, inFlight: 0 })
      expect(logged).toStrictEqual([])
    })
  )
})

describe("C58: a policy's layer that closes", () => {
  /** A resource that losers use while they unwind, and the order in which things happen. */
  const world = () => {
    const log: Array<string> = []
    class Pool extends Context.Tag("test/Pool")<
      Pool,
      { readonly use: (who: string) => Effect.Effect<void> }
    >() {}
    let open = true
    const pool = Layer.scoped(
      Pool,
      Effect.acquireRelease(
        Effect.succeed({
          use: (who: string) => Effect.sync(() => log.push(`${who} ${open ? "with the pool" : "TOO LATE"}`))
        }),
        () =>
          Effect.sync(() => {
            open = false
            log.push("pool closed")
          })
      )
    )
    const attempt = (answer: number, unwinding: number) =>
      Effect.flatMap(Pool, ({ use }) =>
        Effect.flatMap(HedgeAttempt.current, (current) =>
          Option.getOrThrow(current).index === answer
            ? Effect.as(Effect.sleep(10), answer)
            : Effect.onInterrupt(Effect.never, () =>
                Effect.zipRight(Effect.sleep(unwinding), use("a loser unwinds"))
              )
        )
      )
    return { log, pool, attempt }
  }

  it("has waited for its losers' finalizers when the resources below it are closed, by ManagedRuntime.dispose", async () => {
    const { log, pool, attempt } = world()
    const layer = Layer.provideMerge(HedgePolicy.layer({ ...parallel, maxAttempts: 4 }), pool)
    const runtime = ManagedRuntime.make(layer)
    expect(await runtime.runPromise(Hedge.withPolicy(attempt(2, 50)))).toBe(2)
    await runtime.dispose()
    expect(log).toStrictEqual([
      ...Array.from({ length: 3 }, () => "a loser unwinds with the pool"),
      "pool closed"
    ])
  })

  it("has waited for the discard of what its caller, interrupted meanwhile, did not take", async () => {
    const log: Array<string> = []
    const write = (line: string) => Effect.sync(() => log.push(line))
    const pool = Layer.scopedDiscard(Effect.addFinalizer(() => write("pool closed")))
    const discardable = Effect.runSync(Effect.makeLatch())
    const onDiscard = () => discardable.whenOpen(write("discarded"))
    const policy = HedgePolicy.layer({ ...parallel, onDiscard })
    const runtime = ManagedRuntime.make(Layer.provideMerge(policy, pool))
    const listener: HedgeEvent.Listener = {
      onEvent: ({ _tag }) => {
        if (_tag === "CallEnded") caller.unsafeInterruptAsFork(caller.id())
      }
    }
    const call = Hedge.withPolicy(Hedge.withoutHedging(Effect.zipRight(Effect.yieldNow(), Effect.succeed(1))))
    const caller = runtime.runFork(Effect.provide(call, HedgeEvent.layer(listener)))
    await Effect.runPromise(settled)
    const disposed = runtime.dispose()
    await Effect.runPromise(settled)
    expect(log).toStrictEqual([])
    Effect.runSync(discardable.open)
    await disposed
    expect(log).toStrictEqual(["discarded", "pool closed"])
  })

  it.effect("waits for losers at most loserGrace, then says how many there are", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const logger = Logger.make(({ message }) => {
        logged.push(String(message))
      })
      const before = yield* roots
      const script = yield* HedgeTest.script(
        [
          { never: true, unwind: "30 seconds" },
          { after: 10, succeed: 1 }
        ],
        { repeat: true }
      )
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(
        HedgePolicy.layer({ ...parallel, loserGrace: "5 seconds" }),
        scope
      ).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
      const calls = yield* Effect.fork(
        Effect.all([Hedge.withPolicy(script.effect), Hedge.withPolicy(script.effect)]).pipe(
          Effect.provide(context)
        )
      )
      yield* TestClock.adjust(20)
      expect(yield* poll(calls)).toStrictEqual(Exit.succeed([1, 1]))
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust(4999)
      expect(yield* poll(closing)).toBe(null)
      expect(logged).toStrictEqual([])
      yield* TestClock.adjust(1)
      expect(yield* poll(closing)).toStrictEqual(Exit.void)
      expect(logged).toHaveLength(1)
      expect(logged[0]).toMatch(/2 calls of policy effect-hedge\/HedgePolicy/)
      yield* TestClock.adjust("25 seconds")
      yield* settled
      expect(yield* script.observed).toMatchObject({ inFlight: 0 })
      expect(yield* roots).toBe(before)
    })
  )

  it.effect("waits for the last of several, and says nothing of those that end in time", () =>
    Effect.gen(function* () {
      const logged: Array<unknown> = []
      const logger = Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ message }) => {
          logged.push(message)
        })
      )
      const script = yield* HedgeTest.script([
        { never: true, unwind: 300 },
        { after: 10, succeed: 1 },
        { never: true, unwind: 900 },
        { after: 10, succeed: 2 }
      ])
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(HedgePolicy.layer(parallel), scope).pipe(
        Effect.provide(logger)
      )
      yield* Effect.fork(Effect.provide(Hedge.withPolicy(script.effect), context))
      yield* TestClock.adjust(10)
      yield* Effect.fork(Effect.provide(Hedge.withPolicy(script.effect), context))
      yield* TestClock.adjust(10)
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust(899)
      expect(yield* poll(closing)).toBe(null)
      yield* TestClock.adjust(1)
      expect(yield* poll(closing)).toStrictEqual(Exit.void)
      expect(logged).toStrictEqual([])
    })
  )

  it.effect("closes at once when no loser unwinds, and as soon as the last one has", () =>
    Effect.gen(function* () {
      for (const unwind of [0, 700]) {
        const script = yield* HedgeTest.script([
          { never: true, unwind },
          { after: 10, succeed: 1 }
        ])
        const scope = yield* Scope.make()
        const context = yield* Layer.buildWithScope(HedgePolicy.layer(parallel), scope)
        yield* Effect.fork(Hedge.withPolicy(script.effect).pipe(Effect.provide(context)))
        yield* TestClock.adjust(10)
        const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
        yield* settled
        expect(yield* poll(closing)).toStrictEqual(unwind === 0 ? Exit.void : null)
        yield* TestClock.adjust(699)
        expect(yield* poll(closing)).toStrictEqual(unwind === 0 ? Exit.void : null)
        yield* TestClock.adjust(1)
        expect(yield* poll(closing)).toStrictEqual(Exit.void)
      }
    })
  )

  it.effect("sends no more hedges for calls that are still open", () =>
    Effect.gen(function* () {
      const recorder = yield* HedgeTest.recordEvents
      const script = yield* HedgeTest.script([{ after: 500, succeed: 1 }])
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(
        HedgePolicy.layer({ ...parallel, schedule: HedgeSchedule.fixed(80) }),
        scope
      )
      const fiber = yield* Effect.fork(
        Hedge.withPolicy(script.effect).pipe(Effect.provide(context), Effect.provide(recorder.layer))
      )
      yield* TestClock.adjust(50)
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust(450)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(1))
      expect((yield* recorder.tagged("HedgeSuppressed")).map(({ reason }) => reason)).toContain("Disabled")
      expect((yield* script.observed).starts).toBe(1)
    })
  )
})

describe("C59: what the engine adds for an attempt stays in it:", () => {
  const calls = {
    hedge: <A, E>(effect: Effect.Effect<A, E>) =>
      Hedge.hedge(effect, { ...parallel, schedule: HedgeSchedule.onFailure }),
    hedgeWith: <A, E>(effect: Effect.Effect<A, E>) =>
      Hedge.hedgeWith(() => effect, { ...parallel, schedule: HedgeSchedule.onFailure }),
    hedgeScoped: <A, E>(effect: Effect.Effect<A, E>) =>
      Effect.scoped(Hedge.hedgeScoped(effect, { ...parallel, schedule: HedgeSchedule.onFailure })),
    withPolicy: <A, E>(effect: Effect.Effect<A, E>) =>
      Hedge.withPolicy(effect).pipe(
        Effect.provide(HedgePolicy.layer({ ...parallel, schedule: HedgeSchedule.onFailure }))
      )
  }
  const ref = FiberRef.unsafeMake("before")

  for (const [name, hedged] of Object.entries(calls)) {
    for (const winner of [0, 1]) {
      it.effect(`${name}, won by attempt ${winner}`, () =>
        Effect.gen(function* () {
          class Service extends Context.Tag("test/Service")<Service, string>() {}
          const annotations = Effect.map(FiberRef.get(FiberRef.currentLogAnnotations), (map) =>
            Object.fromEntries(HashMap.toEntries(map))
          )
          const attemptIndex = Effect.map(
            HedgeAttempt.current,
            Option.map(({ index }) => index)
          )
          const parentSpan = Effect.map(
            Effect.serviceOption(Tracer.ParentSpan),
            Option.map(({ spanId }) => spanId)
          )
          const inside: Array<unknown> = []
          const attempt = Effect.gen(function* () {
            const index = Option.getOrThrow(yield* attemptIndex)
            yield* FiberRef.set(ref, `attempt ${index}`)
            inside.push([index, (yield* annotations)["hedge.attempt"], yield* parentSpan])
            if (index !== winner) yield* Effect.fail("down")
          })
          const span = Tracer.externalSpan({ spanId: "of an attempt", traceId: "trace" })
          const listener: HedgeEvent.Listener = { onEvent: () => {}, spanOf: () => span }
          const around = Effect.all([attemptIndex, annotations, parentSpan, Effect.serviceOption(Service)])
          const program = Effect.gen(function* () {
            const before = yield* around
            yield* hedged(attempt)
            return [before, yield* around, yield* FiberRef.get(ref)] as const
          })
          const [before, after, written] = yield* program.pipe(
            Effect.annotateLogs("own", "annotation"),
            Effect.provide(HedgeEvent.layer(listener))
          )
          expect(after).toStrictEqual(before)
          expect(before).toStrictEqual([Option.none(), { own: "annotation" }, Option.none(), Option.none()])
          expect(written).toBe(`attempt ${winner}`)
          expect(inside).toStrictEqual(
            [
              [0, undefined, Option.some("of an attempt")],
              [1, 1, Option.some("of an attempt")]
            ].slice(0, winner + 1)
          )
        })
      )
    }
  }

  it.effect(
    "an annotation that the winner itself set for good is one of its FiberRef writes, without the engine's",
    () =>
      Effect.gen(function* () {
        const attempt = Effect.flatMap(HedgeAttempt.current, (current) =>
          Option.getOrThrow(current).index === 0
            ? Effect.fail("down")
            : FiberRef.update(FiberRef.currentLogAnnotations, HashMap.set<string, unknown>("mine", "kept"))
        )
        yield* Hedge.hedge(attempt, { ...parallel, schedule: HedgeSchedule.onFailure })
        const after = yield* FiberRef.get(FiberRef.currentLogAnnotations)
        expect(Object.fromEntries(HashMap.toEntries(after))).toStrictEqual({ mine: "kept" })
        yield* FiberRef.set(FiberRef.currentLogAnnotations, HashMap.empty())
      })
  )

  it.effect("nothing of a call that failed, either", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([{ fail: "down" }], { repeat: true })
      const fiber = yield* start(script, HedgeSchedule.onFailure)
      yield* Fiber.await(fiber)
      const outcome = yield* Effect.zip(
        Effect.exit(call(script, HedgeSchedule.onFailure)),
        HedgeAttempt.current
      )
      expect(Exit.isFailure(outcome[0])).toBe(true)
      expect(outcome[1]).toStrictEqual(Option.none())
    })
  )
})
