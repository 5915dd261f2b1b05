import { describe, expect, it } from "@effect/vitest"
import { Cause, Deferred, Duration, Effect, Exit, Fiber, FiberRef, Option, TestClock } from "effect"
import { Hedge, HedgeAttempt, HedgeOutcome, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"
import { poll, roots, settled, start } from "./support.js"

const never = { never: true } as const

const errorOf = (exit: Exit.Exit<unknown, unknown> | null): Hedge.HedgeError => {
  const error = exit !== null && Exit.isFailure(exit) ? Cause.failureOption(exit.cause) : Option.none()
  if (Option.isSome(error) && error.value instanceof Hedge.HedgeError) return error.value
  throw new Error(`no HedgeError: ${exit}`)
}

/** What the error says that each attempt was doing, and for how many milliseconds. */
const reports = (error: Hedge.HedgeError) =>
  error.attempts.map(({ index, status, elapsed }) => [index, status, Math.round(Duration.toMillis(elapsed))])

describe("the message of a HedgeError says what took too long, and what each attempt was doing:", () => {
  const attempts = [
    { index: 0, status: "TimedOut", elapsed: Duration.millis(100) },
    { index: 1, status: "Running", elapsed: Duration.seconds(2) }
  ] as const

  for (const [reason, what] of [
    ["DeadlineExceeded", "The call's deadline passed"],
    ["AttemptTimeout", "The attempt timed out"]
  ] as const) {
    it(reason, () => {
      expect(new Hedge.HedgeError({ reason, attempts }).message).toBe(
        `${what}: attempt 0 TimedOut after 100ms, attempt 1 Running after 2s`
      )
    })
  }
})

describe("an attempt that takes too long", () => {
  it.effect("counts against the throttle as one that is NonFatal, and no more", () =>
    Effect.gen(function* () {
      const outcomes: Array<readonly [HedgeOutcome.HedgeOutcome["_tag"], boolean]> = []
      const throttle = HedgeThrottle.make({
        name: "mine",
        refusedBy: () => undefined,
        take: () => {},
        onOutcome: (outcome, doNotRetry) => {
          outcomes.push([outcome, doNotRetry])
        }
      })
      const script = yield* HedgeTest.script([never, { after: 10, succeed: 1 }])
      yield* start(script, HedgeSchedule.onFailure, { attemptTimeout: 100, throttle })
      yield* TestClock.adjust(110)
      expect(outcomes).toStrictEqual([
        ["NonFatal", false],
        ["Win", false]
      ])
    })
  )
})

describe("C20: the deadline", () => {
  it.effect("is shared by all attempts, and its error names each with its elapsed time", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never, { after: 250, fail: "down" }, never, never])
      const fiber = yield* start(script, HedgeSchedule.fixed(300), { maxAttempts: 4, deadline: 1000 })
      yield* TestClock.adjust(999)
      expect(yield* poll(fiber)).toBe(null)
      yield* TestClock.adjust(1)
      const error = errorOf(yield* poll(fiber))
      expect(error.reason).toBe("DeadlineExceeded")
      expect(reports(error)).toStrictEqual([
        [0, "Running", 1000],
        [1, "NonFatal", 250],
        [2, "Running", 450],
        [3, "Running", 150]
      ])
      expect(error.message).toMatch(/attempt 0 Running after 1s, attempt 1 NonFatal after /)
    })
  )

  it.effect("interrupts what is in flight, in the background, and leaves nothing", () =>
    Effect.gen(function* () {
      const before = yield* roots
      const slow = { never: true, unwind: "10 seconds" } as const
      const script = yield* HedgeTest.script([slow, slow])
      const fiber = yield* start(script, HedgeSchedule.fixed(80), { deadline: 500 })
      yield* TestClock.adjust(500)
      expect(errorOf(yield* poll(fiber)).reason).toBe("DeadlineExceeded")
      expect(yield* script.observed).toMatchObject({ interruptions: 2, inFlight: 2 })
      yield* TestClock.adjust("10 seconds")
      yield* settled
      expect(yield* script.observed).toMatchObject({ interruptions: 2, finalizers: 2, inFlight: 0 })
      expect(yield* roots).toBe(before)
    })
  )

  it.effect("comes before a hedge that is due with it", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never, never])
      yield* start(script, HedgeSchedule.fixed(500), { deadline: 500 })
      yield* TestClock.adjust("1 day")
      expect((yield* script.observed).starts).toBe(1)
    })
  )

  it.effect("comes before a hedge after a failure at that very moment", () =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<never, string>()
      let starts = 0
      const attempt = Effect.suspend(() => {
        starts += 1
        return Deferred.await(answer)
      })
      yield* Effect.fork(Hedge.hedge(attempt, { schedule: HedgeSchedule.onFailure, deadline: 500 }))
      yield* settled
      yield* Effect.fork(Effect.delay(Deferred.fail(answer, "down"), 500))
      yield* TestClock.adjust(500)
      expect(starts).toBe(1)
    })
  )

  it.effect("discards a primary's success that was rejected and held", () =>
    Effect.gen(function* () {
      const recorder = yield* HedgeTest.recordEvents
      const script = yield* HedgeTest.script([{ after: 10, succeed: "poor" }, never])
      const fiber = yield* start(script, HedgeSchedule.onFailure, {
        deadline: 500,
        classify: () => HedgeOutcome.nonFatal()
      }).pipe(Effect.provide(recorder.layer))
      yield* TestClock.adjust(499)
      expect((yield* script.observed).discarded).toStrictEqual([])
      yield* TestClock.adjust(1)
      expect(errorOf(yield* poll(fiber)).reason).toBe("DeadlineExceeded")
      expect((yield* script.observed).discarded).toStrictEqual(["poor"])
      expect(
        (yield* recorder.tagged("Discarded")).map(({ attempt, reason }) => [attempt, reason])
      ).toStrictEqual([[0, "Rejected"]])
    })
  )

  it.effect("holds where there is no hedging, too", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never])
      const options = { schedule: HedgeSchedule.parallel, deadline: 500 }
      const fiber = yield* Effect.fork(Hedge.withoutHedging(Hedge.hedge(script.effect, options)))
      yield* TestClock.adjust(500)
      expect(reports(errorOf(yield* poll(fiber)))).toStrictEqual([[0, "Running", 500]])
    })
  )

  it.effect("is what an attempt is told of the time left", () =>
    Effect.gen(function* () {
      const seen: Array<number | undefined> = []
      const attempt = Effect.flatMap(HedgeAttempt.current, (current) =>
        Effect.map(Option.getOrThrow(current).timeLeft, (left) => {
          seen.push(Option.getOrUndefined(Option.map(left, Duration.toMillis)))
        })
      )
      const rest = { throttle: HedgeThrottle.unlimited, maxAttempts: 3, schedule: HedgeSchedule.fixed(200) }
      const slow = Effect.zipRight(attempt, Effect.never)
      yield* Effect.fork(Hedge.hedge(slow, { ...rest, deadline: 1000 }))
      yield* TestClock.adjust(1000)
      yield* Hedge.hedge(attempt, rest)
      expect(seen).toStrictEqual([1000, 800, 600, undefined])
    })
  )

  it.effect("is never less than nothing to an attempt that unwinds after it", () =>
    Effect.gen(function* () {
      let left: Option.Option<Duration.Duration> = Option.none()
      const attempt = Effect.flatMap(HedgeAttempt.current, (current) =>
        Effect.onInterrupt(Effect.never, () =>
          Effect.zipRight(
            Effect.sleep(300),
            Effect.map(Option.getOrThrow(current).timeLeft, (now) => {
              left = now
            })
          )
        )
      )
      yield* Effect.fork(Hedge.hedge(attempt, { schedule: HedgeSchedule.onFailure, deadline: 100 }))
      yield* TestClock.adjust(400)
      expect(left).toStrictEqual(Option.some(Duration.zero))
    })
  )

  it.effect("of 2^31 ms and more is never reached, and ends nothing at once", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([{ after: "26 days", succeed: 1 }])
      const fiber = yield* start(script, HedgeSchedule.onFailure, { deadline: 2 ** 31 })
      yield* TestClock.adjust("26 days")
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(1))
    })
  )
})

describe("C20: minTimeLeft", () => {
  for (const [stagger, sent] of [
    [350, [0, 350, 700]],
    [351, [0, 351]],
    [700, [0, 700]],
    [701, [0]]
  ] as const) {
    it.effect(
      `of 300 ms before a deadline at 1,000 ms sends the hedges of a ${stagger} ms stagger at ${sent}`,
      () =>
        Effect.gen(function* () {
          const recorder = yield* HedgeTest.recordEvents
          const script = yield* HedgeTest.script([never, never, never, never])
          yield* start(script, HedgeSchedule.fixed(stagger), {
            maxAttempts: 4,
            deadline: 1000,
            minTimeLeft: 300
          }).pipe(Effect.provide(recorder.layer))
          yield* TestClock.adjust("1 day")
          expect((yield* script.observed).startedAt).toStrictEqual(sent)
          const reasons = (yield* recorder.tagged("HedgeSuppressed")).map(({ reason }) => reason)
          const due = Math.ceil(1000 / stagger) - 1
          expect(reasons).toStrictEqual(Array.from({ length: due + 1 - sent.length }, () => "Deadline"))
        })
    )
  }

  it.effect("refuses a hedge after a failure, and with nothing in flight the call ends with its error", () =>
    Effect.gen(function* () {
      for (const [after, starts] of [
        [700, 2],
        [701.01, 1]
      ] as const) {
        const script = yield* HedgeTest.script<never, string>([{ after, fail: "down" }, never])
        const fiber = yield* start(script, HedgeSchedule.onFailure, { deadline: 1000, minTimeLeft: 300 })
        yield* TestClock.adjust(702)
        expect((yield* script.observed).starts).toBe(starts)
        expect(yield* poll(fiber)).toStrictEqual(starts === 1 ? Exit.fail("down") : null)
        yield* Fiber.interrupt(fiber)
      }
    })
  )
})

describe("C20: the attempt timeout", () => {
  it.effect("of every attempt in turn fails the call with the primary's", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never, never, never])
      const fiber = yield* start(script, HedgeSchedule.onFailure, { maxAttempts: 3, attemptTimeout: 100 })
      yield* TestClock.adjust(299)
      expect(yield* poll(fiber)).toBe(null)
      yield* TestClock.adjust(1)
      const error = errorOf(yield* poll(fiber))
      expect(error.reason).toBe("AttemptTimeout")
      expect(reports(error)).toStrictEqual([[0, "TimedOut", 100]])
      expect(yield* script.observed).toMatchObject({ startedAt: [0, 100, 200], interruptions: 3 })
    })
  )

  for (const unwinding of [0, 1000]) {
    it.effect(`leaves nothing that the attempt wrote in the caller, which unwound for ${unwinding} ms`, () =>
      Effect.gen(function* () {
        const ref = FiberRef.unsafeMake("before")
        const half = Effect.zipRight(FiberRef.set(ref, "half"), Effect.never)
        const call = Hedge.hedgeWith(
          ({ index }) =>
            index === 0
              ? Effect.onInterrupt(half, () => Effect.sleep(unwinding))
              : Effect.delay(Effect.fail("down"), 50),
          { schedule: HedgeSchedule.onFailure, throttle: HedgeThrottle.unlimited, attemptTimeout: 100 }
        )
        const fiber = yield* Effect.fork(Effect.zip(Effect.exit(call), FiberRef.get(ref)))
        yield* TestClock.adjust(150)
        const [exit, after] = yield* Fiber.join(fiber)
        expect(errorOf(exit).reason).toBe("AttemptTimeout")
        expect(after).toBe("before")
      })
    )
  }

  it.effect("counts from an attempt's own launch", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never, never, never])
      const fiber = yield* start(script, HedgeSchedule.fixed(60), { maxAttempts: 3, attemptTimeout: 100 })
      yield* TestClock.adjust(100)
      // the primary's timeout launches the third at once
      expect(yield* script.observed).toMatchObject({ startedAt: [0, 60, 100], interruptions: 1 })
      yield* TestClock.adjust(60)
      expect((yield* script.observed).interruptions).toBe(2)
      yield* TestClock.adjust(39)
      expect(yield* poll(fiber)).toBe(null)
      yield* TestClock.adjust(1)
      expect(reports(errorOf(yield* poll(fiber)))).toStrictEqual([[0, "TimedOut", 100]])
    })
  )

  it.effect("of the primary alone leaves the call to a hedge", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([
        { after: 1000, unwind: "1 minute", succeed: 1 },
        { after: 90, succeed: 2 }
      ])
      const fiber = yield* start(script, HedgeSchedule.onFailure, { attemptTimeout: 100 })
      yield* TestClock.adjust(190)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(2))
      expect(yield* script.observed).toMatchObject({ startedAt: [0, 100], interruptions: 1 })
    })
  )

  it.effect("of a hedge alone leaves the call to the primary", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script<number, string>([
        { fail: "down" },
        never,
        { after: 30, succeed: 3 }
      ])
      const fiber = yield* start(script, HedgeSchedule.onFailure, { maxAttempts: 3, attemptTimeout: 100 })
      yield* TestClock.adjust(130)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(3))
    })
  )

  it.effect("of a hedge beside a primary that failed: the primary's error comes first", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script<number, string>([{ fail: "down" }, never])
      const fiber = yield* Effect.fork(
        Effect.flip(
          Hedge.hedge(script.effect, {
            schedule: HedgeSchedule.onFailure,
            attemptTimeout: 100,
            throttle: HedgeThrottle.unlimited
          })
        )
      )
      yield* TestClock.adjust(100)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed("down"))
    })
  )

  it.effect(
    "sends the next attempt while the one that timed out still unwinds, and tells why it was interrupted",
    () =>
      Effect.gen(function* () {
        const recorder = yield* HedgeTest.recordEvents
        const script = yield* HedgeTest.script([
          { never: true, unwind: 500 },
          { after: 50, succeed: 2 }
        ])
        yield* start(script, HedgeSchedule.onFailure, { attemptTimeout: 100 }).pipe(
          Effect.provide(recorder.layer)
        )
        yield* TestClock.adjust("1 second")
        const ended = (yield* recorder.tagged("AttemptEnded")).map((event) => ({
          attempt: event.attempt,
          outcome: event.outcome,
          interrupted: event.interrupted,
          ran: Math.round(Duration.toMillis(event.ran)),
          unwind: Math.round(Duration.toMillis(event.unwind))
        }))
        expect(ended).toStrictEqual([
          { attempt: 1, outcome: "Win", interrupted: undefined, ran: 50, unwind: 0 },
          { attempt: 0, outcome: "NonFatal", interrupted: "AttemptTimeout", ran: 100, unwind: 500 }
        ])
      })
  )

  it.effect("asks classify nothing, and the attempt's own end afterwards means nothing", () =>
    Effect.gen(function* () {
      let asked = 0
      const script = yield* HedgeTest.script([
        { after: 150, uninterruptibleFrom: 0, succeed: "late" },
        { after: 99, succeed: "winner" }
      ])
      const fiber = yield* start(script, HedgeSchedule.onFailure, {
        attemptTimeout: 100,
        classify: (exit) => {
          asked += 1
          return HedgeOutcome.fromExit(exit)
        }
      })
      yield* TestClock.adjust(150)
      expect(asked).toBe(0)
      expect(yield* poll(fiber)).toBe(null)
      yield* TestClock.adjust(49)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed("winner"))
      expect(asked).toBe(1)
    })
  )

  it.effect("due with the deadline gives way to it", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never, never])
      const fiber = yield* start(script, HedgeSchedule.onFailure, { attemptTimeout: 100, deadline: 100 })
      yield* TestClock.adjust(100)
      expect(errorOf(yield* poll(fiber)).reason).toBe("DeadlineExceeded")
      expect((yield* script.observed).starts).toBe(1)
    })
  )

  it.effect("comes before a stagger that is due with it: one hedge, and the stagger counts afresh", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never, never, never])
      yield* start(script, HedgeSchedule.fixed(100), { maxAttempts: 3, attemptTimeout: 100 })
      yield* TestClock.adjust(199)
      expect((yield* script.observed).startedAt).toStrictEqual([0, 100])
      yield* TestClock.adjust(1)
      expect((yield* script.observed).startedAt).toStrictEqual([0, 100, 200])
    })
  )
})
