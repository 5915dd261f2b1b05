import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, FiberRef, Layer, Schedule, Scheduler, TestClock } from "effect"
import { Hedge, HedgeOutcome, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"
import { type AnyOptions, call, poll, roots, settled, start } from "./support.js"

const never = { never: true } as const
const parallel = HedgeSchedule.parallel

const isInterruption = (exit: Exit.Exit<unknown, unknown> | null): boolean =>
  exit !== null && Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)

describe("C16: a win", () => {
  for (const winner of [0, 1, 2, 3]) {
    it.effect(`of attempt ${winner} of 4 interrupts the others once each, and waits for no finalizer`, () =>
      Effect.gen(function* () {
        const script = yield* HedgeTest.script<number, never>(
          [0, 1, 2, 3].map((index) =>
            index === winner
              ? { after: 500 - 100 * index, succeed: index }
              : { after: "1 day", succeed: index, unwind: "10 seconds" }
          )
        )
        const before = yield* roots
        const fiber = yield* start(script, HedgeSchedule.fixed(100), { maxAttempts: 4 })
        yield* TestClock.adjust(499)
        expect(yield* script.observed).toMatchObject({ starts: 4, interruptions: 0 })
        yield* TestClock.adjust(1)
        expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(winner))
        expect(yield* script.observed).toMatchObject({ inFlight: 3, interruptions: 3, finalizers: 1 })
        yield* TestClock.adjust("9999 millis")
        expect(yield* script.observed).toMatchObject({ inFlight: 3, finalizers: 1 })
        yield* TestClock.adjust(1)
        yield* settled
        expect(yield* script.observed).toMatchObject({
          inFlight: 0,
          interruptions: 3,
          finalizers: 4,
          discarded: []
        })
        expect(yield* roots).toBe(before)
      })
    )
  }

  it.effect("with `awaitLosers` is the answer once the last loser has unwound", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([
        { after: 500, unwind: "10 seconds", succeed: "primary" },
        { after: 500, unwind: "3 seconds", succeed: "first" },
        { after: 10, succeed: "second" }
      ])
      const fiber = yield* start(script, parallel, { maxAttempts: 3, awaitLosers: true })
      yield* TestClock.adjust(10)
      expect(yield* script.observed).toMatchObject({ interruptions: 2, successes: 1 })
      yield* TestClock.adjust(9999)
      expect(yield* poll(fiber)).toBe(null)
      yield* TestClock.adjust(1)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed("second"))
    })
  )

  it.effect("with `awaitLosers` waits for discards, too", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([
        { after: 500, uninterruptibleFrom: 0, succeed: "late" },
        { after: 10, succeed: "winner" }
      ])
      let released = false
      const onDiscard = () =>
        Effect.sync(() => {
          released = true
        }).pipe(Effect.delay("2 seconds"))
      const fiber = yield* start(script, parallel, { awaitLosers: true, onDiscard })
      yield* TestClock.adjust(2499)
      expect(yield* poll(fiber)).toBe(null)
      expect(released).toBe(false)
      yield* TestClock.adjust(1)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed("winner"))
      expect(released).toBe(true)
    })
  )

  it.effect("with `awaitLosers` and no loser is the answer at once", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([{ succeed: 1 }])
      expect(Effect.runSync(call(script, HedgeSchedule.fixed(80), { awaitLosers: true }))).toBe(1)
    })
  )
})

describe("C17: a caller that is interrupted", () => {
  /** A call in some state after `time`, and how many of its attempts have started by then. */
  interface State {
    readonly name: string
    readonly attempts: ReadonlyArray<HedgeTest.ScriptedAttempt<number, string>>
    readonly rest?: Omit<AnyOptions<number, string>, "schedule">
    readonly schedule: Schedule.Schedule<unknown, HedgeSchedule.HedgeState>
    readonly time: number
    readonly starts: number
    readonly inFlight: number
  }
  const slow = { after: "1 day", succeed: 1, unwind: 700 } as const
  const step = Schedule.addDelayEffect(Schedule.forever, () => Effect.as(Effect.sleep(1000), 0))
  const states: ReadonlyArray<State> = [
    {
      name: "during the first stagger",
      schedule: HedgeSchedule.fixed(80),
      attempts: [slow, slow],
      time: 79,
      starts: 1,
      inFlight: 1
    },
    {
      name: "during a step of the schedule",
      schedule: step,
      attempts: [slow, slow],
      time: 500,
      starts: 1,
      inFlight: 1
    },
    {
      name: "with several in flight and another due",
      schedule: HedgeSchedule.fixed(80),
      attempts: [slow, slow, slow, slow],
      time: 161,
      starts: 3,
      inFlight: 3
    },
    {
      name: "with the last attempt in flight after failures",
      schedule: HedgeSchedule.onFailure,
      attempts: [{ fail: "down" }, { fail: "down" }, slow],
      time: 10,
      starts: 3,
      inFlight: 1
    },
    {
      name: "during a pushback",
      schedule: HedgeSchedule.fixed(80),
      attempts: [{ after: 10, fail: "busy" }, slow],
      rest: { classify: () => HedgeOutcome.nonFatal("900 millis") },
      time: 500,
      starts: 1,
      inFlight: 0
    },
    {
      name: "with a loser unwinding after its timeout",
      schedule: HedgeSchedule.onFailure,
      attempts: [slow, slow],
      rest: { attemptTimeout: 100 },
      time: 150,
      starts: 2,
      inFlight: 2
    },
    {
      name: "before its deadline",
      schedule: HedgeSchedule.onFailure,
      attempts: [slow],
      rest: { deadline: "1 minute" },
      time: 59_999,
      starts: 1,
      inFlight: 1
    }
  ]
  for (const { name, schedule, attempts, rest, time, starts, inFlight } of states) {
    it.effect(
      `${name} ends interrupted when its attempts have unwound, and launches nothing afterwards`,
      () =>
        Effect.gen(function* () {
          const before = yield* roots
          const script = yield* HedgeTest.script(attempts)
          const fiber = yield* start(script, schedule, { maxAttempts: 4, ...rest })
          yield* TestClock.adjust(time)
          expect(yield* script.observed).toMatchObject({ starts, inFlight })
          yield* Fiber.interruptFork(fiber)
          yield* settled
          if (inFlight > 0) {
            expect(yield* poll(fiber)).toBe(null)
            expect((yield* script.observed).interruptions).toBe(inFlight)
          }
          yield* TestClock.adjust(700)
          yield* settled
          expect(isInterruption(yield* poll(fiber))).toBe(true)
          expect(yield* roots).toBe(before)
          yield* TestClock.adjust("2 days")
          expect(yield* script.observed).toMatchObject({
            starts,
            inFlight: 0,
            interruptions: inFlight,
            successes: 0
          })
        })
    )
  }

  it.effect("before its call starts launches nothing", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([{ succeed: 1 }])
      const fiber = yield* Effect.fork(
        Effect.uninterruptibleMask((restore) =>
          Effect.zipRight(Effect.sleep(100), restore(call(script, HedgeSchedule.fixed(80))))
        )
      )
      yield* settled
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust("1 day")
      expect(isInterruption(yield* poll(fiber))).toBe(true)
      expect((yield* script.observed).starts).toBe(0)
    })
  )

  it.effect("by its own attempt ends interrupted", () =>
    Effect.gen(function* () {
      const before = yield* roots
      let starts = 0
      const fiber = yield* Effect.fork(
        Effect.withFiberRuntime<number>((caller) =>
          Hedge.hedge(
            Effect.suspend(() => {
              starts += 1
              caller.unsafeInterruptAsFork(caller.id())
              return Effect.never
            }),
            { schedule: HedgeSchedule.fixed(80), throttle: HedgeThrottle.unlimited }
          )
        )
      )
      yield* TestClock.adjust("1 day")
      expect(isInterruption(yield* poll(fiber))).toBe(true)
      expect(starts).toBe(1)
      expect(yield* roots).toBe(before)
    })
  )

  it.effect("during a loser's unwinding has had its answer, and nothing is left once that has ended", () =>
    Effect.gen(function* () {
      const before = yield* roots
      const script = yield* HedgeTest.script([
        { after: "1 day", unwind: 5000, succeed: 1 },
        { after: 10, succeed: 2 }
      ])
      const fiber = yield* Effect.fork(Effect.zipRight(call(script, parallel), Effect.never))
      yield* TestClock.adjust(100)
      expect(yield* script.observed).toMatchObject({ interruptions: 1, inFlight: 1 })
      yield* Fiber.interrupt(fiber)
      expect(yield* script.observed).toMatchObject({ inFlight: 1 })
      yield* TestClock.adjust(5000)
      yield* settled
      expect(yield* script.observed).toMatchObject({ inFlight: 0, finalizers: 2, discarded: [] })
      expect(yield* roots).toBe(before)
    })
  )

  it.effect("while it waits for losers under `awaitLosers` discards the answer it did not take", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([
        { after: "1 day", unwind: 5000, succeed: 1 },
        { after: 10, succeed: 2 }
      ])
      const recorder = yield* HedgeTest.recordEvents
      const hedged = call(script, parallel, { awaitLosers: true })
      const fiber = yield* Effect.fork(Effect.provide(hedged, recorder.layer))
      yield* TestClock.adjust(100)
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust(4909)
      expect(yield* poll(fiber)).toBe(null)
      yield* TestClock.adjust(1)
      yield* settled
      expect(isInterruption(yield* poll(fiber))).toBe(true)
      expect((yield* script.observed).discarded).toStrictEqual([2])
      expect(yield* recorder.tagged("Discarded")).toMatchObject([{ attempt: 1, reason: "CallerInterrupted" }])
    })
  )

  it.effect("whatever step its fiber has come to, ends interrupted, and what has begun has ended", () =>
    Effect.gen(function* () {
      const begun = new Set<number>()
      for (let at = 0; at < 40; at++) {
        const recorder = yield* HedgeTest.recordEvents
        const listening = yield* Layer.build(recorder.layer)
        let step = 0
        const pausesOnce: Scheduler.Scheduler = {
          scheduleTask: (task, priority) => Scheduler.defaultScheduler.scheduleTask(task, priority),
          shouldYield: () => (step++ === at ? 0 : false)
        }
        const fiber = yield* Hedge.hedge(Effect.never, {
          schedule: parallel,
          throttle: HedgeThrottle.unlimited
        }).pipe(Effect.provide(listening), Effect.withScheduler(pausesOnce), Effect.fork)
        yield* Effect.yieldNow()
        expect(isInterruption(yield* Fiber.interrupt(fiber))).toBe(true)
        yield* settled
        const { length } = yield* recorder.tagged("CallStarted")
        expect((yield* recorder.tagged("CallEnded")).map(({ outcome }) => outcome)).toStrictEqual(
          Array.from({ length }, () => "Interrupted")
        )
        begun.add(length)
      }
      expect([...begun]).toStrictEqual([0, 1])
    }).pipe(Effect.scoped)
  )
})

describe("C18: a success after the call has ended is discarded once", () => {
  const late = (index: number) => ({ after: 500, uninterruptibleFrom: 0, succeed: `late ${index}` })
  const endings: ReadonlyArray<
    readonly [string, HedgeTest.ScriptedAttempt<string, string>, Omit<AnyOptions<string, string>, "schedule">]
  > = [
    ["by a win", { after: 10, succeed: "winner" }, {}],
    ["by a Fatal outcome", { after: 10, fail: "fatal" }, { classify: () => HedgeOutcome.fatal() }],
    ["by a defect", { after: 10, die: "defect" }, {}],
    ["by its deadline", never, { deadline: 10 }]
  ]
  for (const [how, ending, rest] of endings) {
    for (const index of [0, 1, 2]) {
      it.effect(`when it ended ${how} and attempt ${index} came too late`, () =>
        Effect.gen(function* () {
          const attempts = [0, 1, 2].map((i) =>
            i === index ? late(i) : i === (index + 1) % 3 ? ending : never
          )
          const recorder = yield* HedgeTest.recordEvents
          const script = yield* HedgeTest.script(attempts)
          const fiber = yield* start(script, parallel, { maxAttempts: 3, ...rest }).pipe(
            Effect.provide(recorder.layer)
          )
          yield* TestClock.adjust(10)
          expect(yield* poll(fiber)).not.toBe(null)
          expect((yield* script.observed).discarded).toStrictEqual([])
          yield* TestClock.adjust("1 day")
          expect((yield* script.observed).discarded).toStrictEqual([`late ${index}`])
          expect(
            (yield* recorder.tagged("Discarded")).map(({ attempt, reason }) => [attempt, reason])
          ).toStrictEqual([[index, "Late"]])
        })
      )
    }
  }

  it.effect("when its caller was interrupted, who waits for it", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([late(0), late(1)])
      const fiber = yield* start(script, parallel)
      yield* TestClock.adjust(100)
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust(399)
      expect(yield* poll(fiber)).toBe(null)
      yield* TestClock.adjust(1)
      yield* settled
      expect(isInterruption(yield* poll(fiber))).toBe(true)
      expect([...(yield* script.observed).discarded].sort()).toStrictEqual(["late 0", "late 1"])
    })
  )

  it.effect("when only its attempt had timed out, while another one goes on to win", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([
        { after: 300, uninterruptibleFrom: 0, succeed: "late" },
        { after: 190, succeed: "winner" }
      ])
      const fiber = yield* start(script, HedgeSchedule.onFailure, { attemptTimeout: 200 })
      yield* TestClock.adjust(299)
      expect((yield* script.observed).discarded).toStrictEqual([])
      yield* TestClock.adjust(1)
      expect((yield* script.observed).discarded).toStrictEqual(["late"])
      yield* TestClock.adjust(90)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed("winner"))
      yield* TestClock.adjust("1 day")
      expect((yield* script.observed).discarded).toStrictEqual(["late"])
    })
  )

  it.effect("and so is the rejected success of a primary that a hedge has beaten", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([
        { after: 10, succeed: 1 },
        { after: 50, succeed: 2 }
      ])
      const fiber = yield* start(script, parallel, {
        classify: (exit) =>
          Exit.isSuccess(exit) && exit.value === 1 ? HedgeOutcome.nonFatal() : HedgeOutcome.win
      })
      yield* TestClock.adjust(50)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(2))
      yield* settled
      expect((yield* script.observed).discarded).toStrictEqual([1])
    })
  )
})

describe("C19: what a winner leaves in its caller", () => {
  const policy = { schedule: HedgeSchedule.fixed(100), throttle: HedgeThrottle.unlimited }

  for (const winner of [0, 1, 2]) {
    it.effect(`are attempt ${winner}'s FiberRef writes, and no loser's`, () =>
      Effect.gen(function* () {
        const ref = FiberRef.unsafeMake("before")
        const untouched = FiberRef.unsafeMake("untouched")
        const fiber = yield* Effect.fork(
          Effect.gen(function* () {
            yield* Hedge.hedgeWith(
              ({ index }) =>
                FiberRef.set(ref, `attempt ${index}`).pipe(
                  Effect.zipRight(index === winner ? Effect.sleep(400 - 100 * index) : Effect.never),
                  Effect.zipRight(index === winner ? Effect.void : FiberRef.set(untouched, "touched")),
                  Effect.ensuring(FiberRef.set(untouched, index === winner ? "untouched" : "touched"))
                ),
              { ...policy, maxAttempts: 3 }
            )
            return [yield* FiberRef.get(ref), yield* FiberRef.get(untouched)]
          })
        )
        yield* TestClock.adjust(400)
        expect(yield* Fiber.join(fiber)).toStrictEqual([`attempt ${winner}`, "untouched"])
      })
    )
  }

  it.effect("is joined as the FiberRef says", () =>
    Effect.gen(function* () {
      const sum = FiberRef.unsafeMake(1, { join: (mine, theirs) => mine + theirs })
      yield* FiberRef.set(sum, 10)
      yield* Hedge.hedge(FiberRef.set(sum, 5), policy)
      expect(yield* FiberRef.get(sum)).toBe(15)
    })
  )

  it.effect("is forked as the FiberRef says, as for any fiber", () =>
    Effect.gen(function* () {
      const doubled = FiberRef.unsafeMake(1, { fork: (n) => n * 2 })
      const seen = (attempt: Effect.Effect<number>) =>
        Effect.zip(Effect.zipRight(FiberRef.set(doubled, 3), attempt), FiberRef.get(doubled))
      const plain = yield* seen(Effect.flatMap(Effect.fork(FiberRef.get(doubled)), Fiber.join))
      expect(plain[0]).toBe(6)
      expect(yield* seen(Hedge.hedge(FiberRef.get(doubled), policy))).toStrictEqual(plain)
    })
  )

  it.effect("is the same as what Effect.inheritAll leaves of a fiber, for writes, locals and deletions", () =>
    Effect.gen(function* () {
      const a = FiberRef.unsafeMake("a")
      const b = FiberRef.unsafeMake("b")
      const c = FiberRef.unsafeMake("c")
      const attempt = Effect.gen(function* () {
        yield* FiberRef.set(a, "written")
        yield* Effect.locally(FiberRef.set(b, "inner"), b, "local")
        yield* FiberRef.reset(c)
      })
      const read = Effect.all([FiberRef.get(a), FiberRef.get(b), FiberRef.get(c)])
      const after = (inherited: Effect.Effect<void>) =>
        Effect.flatMap(
          Effect.fork(Effect.zipRight(FiberRef.set(c, "set before"), Effect.zipRight(inherited, read))),
          Fiber.await
        )
      const plain = yield* after(Effect.flatMap(Effect.fork(attempt), Fiber.join))
      const hedged = yield* after(Hedge.hedge(attempt, policy))
      expect(hedged).toStrictEqual(plain)
      expect(hedged).toStrictEqual(Exit.succeed(["written", "b", "c"]))
    })
  )

  it.effect("is nothing when it failed, and what it wrote when that is the result", () =>
    Effect.gen(function* () {
      const ref = FiberRef.unsafeMake("before")
      const attempt = ({ index }: { readonly index: number }) =>
        Effect.zipRight(
          FiberRef.set(ref, `attempt ${index}`),
          index === 0 ? Effect.fail("no") : Effect.succeed("yes")
        )
      yield* Hedge.hedgeWith(attempt, policy)
      expect(yield* FiberRef.get(ref)).toBe("attempt 1")
    })
  )

  it.effect("are its daemons, which live on; fibers that attempts fork end with them", () =>
    Effect.gen(function* () {
      const ended: Array<string> = []
      const child = (name: string) =>
        Effect.onInterrupt(Effect.never, () => Effect.sync(() => ended.push(name)))
      const daemons: Array<Fiber.RuntimeFiber<never>> = []
      const fiber = yield* Effect.fork(
        Hedge.hedgeWith(
          ({ index }) =>
            Effect.gen(function* () {
              yield* Effect.fork(child(`child of ${index}`))
              daemons.push(yield* Effect.forkDaemon(child(`daemon of ${index}`)))
              yield* Effect.sleep(index === 1 ? 50 : 1000)
              return index
            }),
          policy
        )
      )
      yield* TestClock.adjust(150)
      expect(yield* Fiber.join(fiber)).toBe(1)
      yield* settled
      expect([...ended].sort()).toStrictEqual(["child of 0", "child of 1"])
      expect(daemons.map((daemon) => daemon.unsafePoll())).toStrictEqual([null, null])
      yield* Fiber.interruptAll(daemons)
    })
  )
})

describe("C54: an uninterruptible caller that is interrupted", () => {
  it.effect("lets its call complete, and no attempt is killed", () =>
    Effect.gen(function* () {
      let answer: number | undefined
      const script = yield* HedgeTest.script<number, string>([
        { after: 1000, fail: "down" },
        { after: 2000, fail: "down" },
        { after: 500, succeed: 3 }
      ])
      const fiber = yield* Effect.fork(
        Effect.uninterruptible(
          Effect.map(call(script, HedgeSchedule.fixed(100), { maxAttempts: 3 }), (value) => {
            answer = value
          })
        )
      )
      yield* TestClock.adjust(150)
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust(549)
      expect(yield* script.observed).toMatchObject({ starts: 3, interruptions: 0 })
      yield* TestClock.adjust(1)
      yield* settled
      expect(isInterruption(yield* poll(fiber))).toBe(true)
      expect(answer).toBe(3)
      expect(yield* script.observed).toMatchObject({ interruptions: 2, discarded: [] })
    })
  )

  it.effect("before the call starts still runs it", () =>
    Effect.gen(function* () {
      let answer: number | undefined
      const script = yield* HedgeTest.script([
        { after: 1000, succeed: 1 },
        { after: 100, succeed: 2 }
      ])
      const fiber = yield* Effect.fork(
        Effect.uninterruptible(
          Effect.zipRight(
            Effect.sleep(10),
            Effect.map(call(script, HedgeSchedule.fixed(100)), (value) => {
              answer = value
            })
          )
        )
      )
      yield* settled
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust("1 second")
      expect(answer).toBe(2)
    })
  )

  it.effect("with `awaitLosers` waits for them and takes its answer", () =>
    Effect.gen(function* () {
      let answer: number | undefined
      const script = yield* HedgeTest.script([
        { after: 1000, unwind: 500, succeed: 1 },
        { after: 100, succeed: 2 }
      ])
      const fiber = yield* Effect.fork(
        Effect.uninterruptible(
          Effect.map(call(script, HedgeSchedule.fixed(100), { awaitLosers: true }), (value) => {
            answer = value
          })
        )
      )
      yield* TestClock.adjust(300)
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust(399)
      expect(answer).toBe(undefined)
      yield* TestClock.adjust(1)
      expect(answer).toBe(2)
      expect((yield* script.observed).discarded).toStrictEqual([])
    })
  )

  it.effect("within Effect.interruptible is one that can be", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never, never])
      const fiber = yield* Effect.fork(
        Effect.uninterruptible(Effect.interruptible(call(script, HedgeSchedule.fixed(100))))
      )
      yield* TestClock.adjust(150)
      yield* Fiber.interruptFork(fiber)
      yield* settled
      expect(isInterruption(yield* poll(fiber))).toBe(true)
      expect(yield* script.observed).toMatchObject({ starts: 2, interruptions: 2, inFlight: 0 })
    })
  )

  it.effect("has attempts that lose by interruption all the same", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never, { after: 10, succeed: "hedge" }])
      const fiber = yield* Effect.fork(Effect.uninterruptible(call(script, HedgeSchedule.fixed(100))))
      yield* TestClock.adjust(110)
      expect(yield* Fiber.join(fiber)).toBe("hedge")
      yield* settled
      expect(yield* script.observed).toMatchObject({ interruptions: 1, inFlight: 0 })
    })
  )

  it.effect("has attempts in which Effect.uninterruptible and Effect.interruptible mean what they say", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const part = (name: string, wait: Effect.Effect<void>) =>
        wait.pipe(
          Effect.zipRight(Effect.sync(() => log.push(`${name} ended`))),
          Effect.onInterrupt(() => Effect.sync(() => log.push(`${name} interrupted`)))
        )
      const wait = Effect.sleep(100)
      const primary = Effect.uninterruptible(
        Effect.zipRight(part("guarded", wait), part("open", Effect.interruptible(wait)))
      )
      const fiber = yield* Effect.fork(
        Effect.uninterruptible(
          Hedge.hedgeWith(({ index }) => (index === 0 ? primary : Effect.sleep(50)), {
            schedule: HedgeSchedule.parallel,
            throttle: HedgeThrottle.unlimited
          })
        )
      )
      yield* TestClock.adjust(50)
      yield* Fiber.join(fiber)
      yield* TestClock.adjust("1 day")
      expect(log).toStrictEqual(["guarded ended", "open interrupted"])
    })
  )
})
