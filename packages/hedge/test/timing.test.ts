import { describe, expect, it } from "@effect/vitest"
import { Clock, Duration, Effect, Exit, Fiber, Random, Ref, Schedule, Scheduler, TestClock } from "effect"
import {
  Hedge,
  type HedgeAttempt,
  type HedgeEvent,
  HedgePolicy,
  HedgeSchedule,
  HedgeThrottle
} from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"
import { options, poll, roots, settled, start } from "./support.js"

const never = { never: true } as const
const day = Duration.days(1)

/** When the attempts of a call start that is left alone for a day. */
const startsOf = (
  schedule: Schedule.Schedule<unknown, HedgeSchedule.HedgeState>,
  maxAttempts: number,
  attempts: ReadonlyArray<HedgeTest.ScriptedAttempt<never, string>> = [never]
) =>
  Effect.gen(function* () {
    const script = yield* HedgeTest.script(attempts, { repeat: attempts.length === 1 })
    yield* start(script, schedule, { maxAttempts })
    yield* TestClock.adjust(day)
    return (yield* script.observed).startedAt
  })

const launchesOf = (recorder: HedgeTest.Recorder) =>
  Effect.map(recorder.tagged("AttemptStarted"), (events) =>
    events.map(({ attempt, reason }) => [attempt, reason] as const)
  )

describe("the stagger", () => {
  for (const [maxAttempts, delay] of [
    [4, 500],
    [2, 1],
    [3, 80],
    [7, 1333]
  ] as const) {
    it.effect(`C1: ${maxAttempts} attempts, ${delay} ms apart, none of which answers`, () =>
      Effect.gen(function* () {
        const script = yield* HedgeTest.script([never], { repeat: true })
        const call = yield* start(script, HedgeSchedule.fixed(delay), { maxAttempts })
        for (let launched = 1; launched < maxAttempts; launched++) {
          yield* TestClock.adjust(delay - 1)
          expect(yield* script.observed).toMatchObject({ starts: launched, inFlight: launched })
          yield* TestClock.adjust(1)
          expect(yield* script.observed).toMatchObject({ starts: launched + 1, inFlight: launched + 1 })
        }
        yield* TestClock.adjust(day)
        expect(yield* script.observed).toMatchObject({ starts: maxAttempts, inFlight: maxAttempts })
        expect(yield* poll(call)).toBe(null)
      })
    )
  }

  /** A call whose attempts never answer, and when they have started. */
  const recorded = (
    run: (attempt: HedgeAttempt.HedgeAttempt) => Effect.Effect<void, string>,
    gates: ReadonlyArray<(state: HedgeSchedule.HedgeState) => string | undefined> = []
  ) => {
    const starts: Array<number> = []
    const call = Hedge.hedgeWith(
      (attempt) =>
        Effect.gen(function* () {
          starts.push(yield* Clock.currentTimeMillis)
          yield* run(attempt)
          yield* Effect.never
        }),
      { schedule: HedgeSchedule.fixed(80), throttle: HedgeThrottle.unlimited, maxAttempts: 3, gates }
    )
    return { starts, call }
  }

  it.effect(
    "R11: begins anew when the attempt says that it is sent only now; the next begins with its launch",
    () =>
      Effect.gen(function* () {
        const { starts, call } = recorded((attempt) =>
          attempt.index === 0
            ? Effect.delay(
                Effect.sync(() => attempt.sent()),
                30
              )
            : Effect.void
        )
        yield* Effect.fork(call)
        yield* TestClock.adjust(109)
        expect(starts).toStrictEqual([0])
        yield* TestClock.adjust(day)
        expect(starts).toStrictEqual([0, 110, 190])
      })
  )

  describe("does not run while the attempt before is queued", () => {
    const startsWhen = (...args: Parameters<typeof recorded>) =>
      Effect.gen(function* () {
        const { starts, call } = recorded(...args)
        const fiber = yield* Effect.fork(call)
        yield* TestClock.adjust(day)
        yield* Fiber.interrupt(fiber)
        return starts
      })

    for (const [name, delay] of [
      ["from its launch on", 0],
      ["from later on", 30]
    ] as const) {
      it.effect(name, () =>
        Effect.gen(function* () {
          const starts = yield* startsWhen((attempt) =>
            Effect.gen(function* () {
              if (attempt.index > 0) return
              yield* Effect.sleep(delay)
              attempt.queued()
              yield* Effect.sleep(500)
              attempt.sent()
            })
          )
          expect(starts).toStrictEqual([0, delay + 580, delay + 660])
        })
      )
    }

    it.effect("and runs when that has ended without being sent", () =>
      Effect.gen(function* () {
        const notAtOnce = ({ elapsed }: HedgeSchedule.HedgeState) =>
          Duration.toMillis(elapsed) === 100 ? "AtOnce" : undefined
        const starts = yield* startsWhen(
          (attempt) =>
            Effect.gen(function* () {
              if (attempt.index !== 1) return
              attempt.queued()
              yield* Effect.sleep(20)
              yield* Effect.fail("no connection")
            }),
          [notAtOnce]
        )
        expect(starts).toStrictEqual([0, 80, 180])
      })
    )

    it.effect("which is no matter after another has been launched", () =>
      Effect.gen(function* () {
        const attempts: Array<HedgeAttempt.HedgeAttempt> = []
        const starts = yield* startsWhen((attempt) =>
          Effect.sync(() => {
            attempts.push(attempt)
            attempts[0]!.queued()
            if (attempt.index === 0) attempt.sent()
          })
        )
        expect(starts).toStrictEqual([0, 80, 160])
      })
    )
  })

  it.effect("that took longer to say than it lasts is over", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([{ never: true }, { never: true }])
      const slow = Schedule.delayedEffect(Schedule.spaced(50), (delay) =>
        Effect.delay(Effect.succeed(delay), 100)
      )
      yield* start(script, slow)
      yield* TestClock.adjust(99)
      expect((yield* script.observed).starts).toBe(1)
      yield* TestClock.adjust(1)
      expect((yield* script.observed).starts).toBe(2)
    })
  )

  it.effect("is asked for with the time that the call has taken, whenever it started", () =>
    Effect.gen(function* () {
      const asked: Array<HedgeSchedule.HedgeState> = []
      const gate = (state: HedgeSchedule.HedgeState) => {
        asked.push(state)
        return undefined
      }
      yield* TestClock.adjust("1 hour")
      yield* Effect.fork(
        Hedge.hedge(Effect.never, {
          schedule: HedgeSchedule.fixed(80),
          throttle: HedgeThrottle.unlimited,
          maxAttempts: 3,
          gates: [gate]
        })
      )
      yield* TestClock.adjust(160)
      expect(asked).toStrictEqual([
        { attempt: 1, elapsed: Duration.millis(80), inFlight: 1 },
        { attempt: 2, elapsed: Duration.millis(160), inFlight: 2 }
      ])
    })
  )

  it.effect("does not begin anew for an attempt after which another was launched, nor after the call", () =>
    Effect.gen(function* () {
      const starts: Array<number> = []
      const attempts: Array<HedgeAttempt.HedgeAttempt> = []
      const call = Hedge.hedgeWith(
        (attempt) =>
          Effect.gen(function* () {
            starts.push(yield* Clock.currentTimeMillis)
            attempts.push(attempt)
            yield* Effect.sleep(attempt.index === 2 ? 10 : day)
          }),
        { schedule: HedgeSchedule.fixed(80), throttle: HedgeThrottle.unlimited, maxAttempts: 4 }
      )
      yield* Effect.fork(call)
      yield* TestClock.adjust(100)
      attempts[0]!.sent()
      yield* TestClock.adjust(70)
      expect(starts).toStrictEqual([0, 80, 160])
      attempts[2]!.sent()
      yield* TestClock.adjust(day)
      expect(starts).toStrictEqual([0, 80, 160])
    })
  )

  for (const [name, schedule] of [
    ["HedgeSchedule.parallel", HedgeSchedule.parallel],
    ["HedgeSchedule.fixed(0)", HedgeSchedule.fixed(0)],
    ["Schedule.forever", Schedule.forever],
    ["Schedule.spaced(0)", Schedule.spaced(0)]
  ] as const) {
    it.effect(`C2: a delay of zero, by ${name}, starts all attempts at once`, () =>
      Effect.gen(function* () {
        const script = yield* HedgeTest.script([never], { repeat: true })
        yield* start(script, schedule, { maxAttempts: 5 })
        expect((yield* script.observed).startedAt).toStrictEqual([0, 0, 0, 0, 0])
      })
    )
  }

  for (const [name, schedule] of [
    ["HedgeSchedule.onFailure", HedgeSchedule.onFailure],
    ["Schedule.spaced(Infinity)", Schedule.spaced(Duration.infinity)]
  ] as const) {
    it.effect(`C2: an infinite delay, by ${name}, never runs two at once, and waits for a failure`, () =>
      Effect.gen(function* () {
        const script = yield* HedgeTest.script([
          { after: "3 seconds", fail: "first" },
          { after: "5 days", fail: "second" },
          { after: "1 millis", succeed: 1 }
        ])
        const call = yield* start(script, schedule, { maxAttempts: 3 })
        yield* TestClock.adjust("10 days")
        expect(yield* Fiber.join(call)).toBe(1)
        const { startedAt, maxInFlight } = yield* script.observed
        expect({ startedAt, maxInFlight }).toStrictEqual({
          startedAt: [0, 3000, 3000 + 5 * 86_400_000],
          maxInFlight: 1
        })
      })
    )
  }

  it.effect(
    "C3: a primary that answers before the stagger ends is the only attempt, and leaves no timer",
    () =>
      Effect.gen(function* () {
        const before = yield* roots
        const script = yield* HedgeTest.script([{ after: "79 millis", succeed: 1 }])
        const call = yield* start(script, HedgeSchedule.fixed("80 millis"), { deadline: "10 seconds" })
        // the attempt and the alarm
        expect(yield* roots).toBe(before + 2)
        yield* TestClock.adjust("79 millis")
        expect(yield* Fiber.join(call)).toBe(1)
        yield* settled
        expect(yield* roots).toBe(before)
        yield* TestClock.adjust(day)
        expect((yield* script.observed).startedAt).toStrictEqual([0])
      })
  )

  it.effect(
    "C4: a primary that answers before the hedge it was given wins, and the hedge is interrupted once",
    () =>
      Effect.gen(function* () {
        const script = yield* HedgeTest.script([
          { after: "150 millis", succeed: "primary" },
          { after: "100 millis", succeed: "hedge" }
        ])
        const call = yield* start(script, HedgeSchedule.fixed("80 millis"))
        yield* TestClock.adjust("150 millis")
        expect(yield* Fiber.join(call)).toBe("primary")
        yield* TestClock.adjust(day)
        expect(yield* script.observed).toMatchObject({
          starts: 2,
          interruptions: 1,
          finalizers: 2,
          successes: 1,
          discarded: []
        })
      })
  )

  it.effect("C5: a NonFatal at 0 ms starts the second attempt at 0 ms and the third a delay later", () =>
    Effect.gen(function* () {
      const attempts = [{ fail: "at once" }, never, never]
      expect(yield* startsOf(HedgeSchedule.fixed("1 second"), 3, attempts)).toStrictEqual([0, 0, 1000])
      expect(yield* startsOf(Schedule.spaced("1 second"), 3, attempts)).toStrictEqual([0, 0, 1000])
    })
  )

  it.effect("C5: a NonFatal later than 0 ms starts the next attempt at once and the stagger afresh", () =>
    Effect.gen(function* () {
      const attempts = [{ after: 30, fail: "late" }, never, { after: 45, fail: "later" }, never, never]
      const expected = [0, 30, 130, 175, 275]
      expect(yield* startsOf(HedgeSchedule.fixed(100), 5, attempts)).toStrictEqual(expected)
      expect(yield* startsOf(Schedule.spaced(100), 5, attempts)).toStrictEqual(expected)
    })
  )
})

describe("any Schedule", () => {
  const cases: ReadonlyArray<
    readonly [string, Schedule.Schedule<unknown, HedgeSchedule.HedgeState>, ReadonlyArray<number>]
  > = [
    ["exponential", Schedule.exponential("100 millis"), [0, 100, 300, 700, 1500]],
    ["exponential of factor 3", Schedule.exponential("10 millis", 3), [0, 10, 40, 130, 400]],
    ["fibonacci", Schedule.fibonacci("10 millis"), [0, 10, 20, 40, 70]],
    ["linear", Schedule.linear("10 millis"), [0, 10, 30, 60, 100]],
    [
      "spaced & recurs",
      Schedule.spaced("50 millis").pipe(Schedule.intersect(Schedule.recurs(2))),
      [0, 50, 100]
    ],
    [
      "spaced | recurs",
      Schedule.union(Schedule.spaced("50 millis"), Schedule.recurs(1)),
      [0, 0, 50, 100, 150]
    ],
    ["fixed", Schedule.fixed("60 millis"), [0, 60, 120, 180, 240]],
    ["windowed", Schedule.windowed("60 millis"), [0, 60, 120, 180, 240]],
    ["given delays", Schedule.fromDelays("10 millis", "20 millis", "70 millis"), [0, 10, 30, 100]],
    [
      "one after another",
      Schedule.andThen(Schedule.recurs(2), Schedule.spaced("40 millis")),
      [0, 0, 0, 40, 80]
    ],
    [
      "a HedgeSchedule, limited",
      HedgeSchedule.fixed("25 millis").pipe(Schedule.intersect(Schedule.recurs(3))),
      [0, 25, 50, 75]
    ],
    [
      "its input's attempt number",
      Schedule.identity<HedgeSchedule.HedgeState>().pipe(Schedule.addDelay(({ attempt }) => attempt * 100)),
      [0, 100, 300, 600, 1000]
    ],
    [
      "its input's elapsed time",
      Schedule.spaced("40 millis").pipe(
        Schedule.whileInput(({ elapsed }: HedgeSchedule.HedgeState) => Duration.toMillis(elapsed) < 80)
      ),
      [0, 40, 80]
    ],
    [
      "its input's attempts in flight",
      Schedule.spaced("40 millis").pipe(
        Schedule.whileInput(({ inFlight }: HedgeSchedule.HedgeState) => inFlight < 3)
      ),
      [0, 40, 80]
    ]
  ]
  for (const [name, schedule, starts] of cases) {
    it.effect(`C6: ${name} starts attempts where it says`, () =>
      Effect.gen(function* () {
        expect(yield* startsOf(schedule, 5)).toStrictEqual(starts)
      })
    )
  }

  it.effect("C6: a jittered schedule starts attempts where its random numbers say", () =>
    Effect.gen(function* () {
      const schedule = Schedule.jittered(Schedule.spaced("100 millis"))
      expect(
        yield* startsOf(schedule, 4).pipe(Effect.withRandom(Random.fixed([0.25, 0.75, 0.5])))
      ).toStrictEqual([0, 90, 200, 300])
    })
  )

  it.effect("C6: a schedule that reads a Ref is asked after each launch, and not before", () =>
    Effect.gen(function* () {
      const delay = yield* Ref.make(10)
      const schedule = Schedule.addDelayEffect(Schedule.forever, () => Ref.get(delay))
      const script = yield* HedgeTest.script([never], { repeat: true })
      yield* start(script, schedule, { maxAttempts: 4 })
      yield* Ref.set(delay, 500)
      yield* TestClock.adjust("10 millis")
      yield* Ref.set(delay, 7)
      yield* TestClock.adjust(day)
      expect((yield* script.observed).startedAt).toStrictEqual([0, 10, 510, 517])
    })
  )

  it.effect("C6: a schedule whose step takes time starts the next attempt no earlier than that", () =>
    Effect.gen(function* () {
      const schedule = Schedule.addDelayEffect(Schedule.forever, () =>
        Effect.as(Effect.sleep("30 millis"), 100)
      )
      expect(yield* startsOf(schedule, 3)).toStrictEqual([0, 100, 200])
      const slow = Schedule.addDelayEffect(Schedule.forever, () => Effect.as(Effect.sleep("30 millis"), 10))
      expect(yield* startsOf(slow, 3)).toStrictEqual([0, 30, 60])
    })
  )

  it.effect("C6: a NonFatal that arrives during a step waits for it and uses it", () =>
    Effect.gen(function* () {
      const schedule = Schedule.addDelayEffect(Schedule.forever, () =>
        Effect.as(Effect.sleep("30 millis"), 100)
      )
      const attempts = [{ after: 10, fail: "during the step" }, never, never]
      // the failure's launch at 30 restarts the stagger; its step is asked for at 30
      expect(yield* startsOf(schedule, 3, attempts)).toStrictEqual([0, 30, 130])
    })
  )

  it.effect("C6: Schedule.fixed keeps its beat after an attempt that a failure launched", () =>
    Effect.gen(function* () {
      const attempts = [{ after: 30, fail: "early" }, never, never]
      expect(yield* startsOf(Schedule.fixed(100), 3, attempts)).toStrictEqual([0, 30, 100])
    })
  )

  it.effect("C7: a zero in the middle of a schedule starts two attempts at once", () =>
    Effect.gen(function* () {
      expect(yield* startsOf(Schedule.fromDelays(100, 0, 50), 4)).toStrictEqual([0, 100, 100, 150])
      expect(yield* startsOf(Schedule.fromDelays(0, 100, 0), 4)).toStrictEqual([0, 0, 100, 100])
    })
  )

  for (const [name, schedule] of [
    ["Schedule.stop", Schedule.stop],
    ["Schedule.recurs(0)", Schedule.recurs(0)]
  ] as const) {
    it.effect(`C7: a schedule that is done at once, ${name}, sends no hedge, not even after a failure`, () =>
      Effect.gen(function* () {
        expect(yield* startsOf(schedule, 4)).toStrictEqual([0])
        const script = yield* HedgeTest.script([{ after: 50, fail: "alone" }])
        const call = yield* start(script, schedule, { maxAttempts: 4 })
        yield* TestClock.adjust(50)
        expect(yield* poll(call)).toStrictEqual(Exit.fail("alone"))
      })
    )
  }

  it.effect("C7: a schedule that is done after some steps ends hedges after failures, too", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([
        { after: 500, fail: "primary" },
        { after: 100, fail: "hedge" }
      ])
      const call = yield* start(script, Schedule.fromDelays(80), { maxAttempts: 4 })
      yield* TestClock.adjust(500)
      const exit = yield* poll(call)
      expect(exit?._tag).toBe("Failure")
      expect((yield* script.observed).startedAt).toStrictEqual([0, 80])
    })
  )

  it.effect("a step that never ends sends no hedge and is interrupted with the call", () =>
    Effect.gen(function* () {
      let interrupted = 0
      const step = Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
      const schedule = Schedule.addDelayEffect(Schedule.forever, () => step)
      const before = yield* roots
      const script = yield* HedgeTest.script([{ after: "1 minute", succeed: 1 }])
      const call = yield* start(script, schedule)
      yield* TestClock.adjust("59 seconds")
      expect(interrupted).toBe(0)
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.join(call)).toBe(1)
      yield* settled
      expect({ interrupted, roots: yield* roots }).toStrictEqual({ interrupted: 1, roots: before })
    })
  )

  it.effect("a delay that is no number starts the next attempt at once", () =>
    Effect.gen(function* () {
      const schedule = Schedule.addDelay(Schedule.forever, () => Number.NaN)
      expect(yield* startsOf(schedule, 3)).toStrictEqual([0, 0, 0])
    })
  )
})

describe("C8: an answer that is due with a timer goes first", () => {
  for (const delay of [1, 80, 1000]) {
    it.effect(`at ${delay} ms it wins, and no hedge is sent`, () =>
      Effect.gen(function* () {
        const script = yield* HedgeTest.script([{ after: delay, succeed: 1 }])
        const call = yield* start(script, HedgeSchedule.fixed(delay))
        yield* TestClock.adjust(delay)
        expect(yield* Fiber.join(call)).toBe(1)
        expect((yield* script.observed).starts).toBe(1)
      })
    )

    it.effect(`at ${delay} ms before the deadline it is the result`, () =>
      Effect.gen(function* () {
        const script = yield* HedgeTest.script([never, { after: delay, succeed: "hedge" }])
        const call = yield* start(script, HedgeSchedule.fixed(delay), { deadline: 2 * delay })
        yield* TestClock.adjust(2 * delay)
        expect(yield* Fiber.join(call)).toBe("hedge")
      })
    )

    it.effect(`at ${delay} ms before its attempt's timeout it is the result`, () =>
      Effect.gen(function* () {
        const script = yield* HedgeTest.script([{ after: delay, succeed: 1 }])
        const call = yield* start(script, HedgeSchedule.onFailure, { attemptTimeout: delay })
        yield* TestClock.adjust(delay)
        expect(yield* Fiber.join(call)).toBe(1)
        expect((yield* script.observed).starts).toBe(1)
      })
    )

    it.effect(`at ${delay} ms a failure launches the one hedge, and the stagger counts afresh from it`, () =>
      Effect.gen(function* () {
        const recorder = yield* HedgeTest.recordEvents
        const script = yield* HedgeTest.script([{ after: delay, fail: "due" }, never, never])
        yield* start(script, HedgeSchedule.fixed(delay), { maxAttempts: 3 }).pipe(
          Effect.provide(recorder.layer)
        )
        yield* TestClock.adjust(2 * delay - 1)
        expect((yield* script.observed).startedAt).toStrictEqual([0, delay])
        yield* TestClock.adjust(1)
        expect((yield* script.observed).startedAt).toStrictEqual([0, delay, 2 * delay])
        const launches: ReadonlyArray<readonly [number, HedgeEvent.LaunchReason]> = [
          [0, "Primary"],
          [1, "Failure"],
          [2, "Stagger"]
        ]
        expect(yield* launchesOf(recorder)).toStrictEqual(launches)
      })
    )
  }
})

describe("C60: a delay", () => {
  for (const delay of [Number.POSITIVE_INFINITY, Duration.infinity, 2 ** 31, 2 ** 40, "25 days"] as const) {
    it.effect(`of ${String(delay)} sends no hedge by itself`, () =>
      Effect.gen(function* () {
        expect(yield* startsOf(HedgeSchedule.fixed(delay), 3)).toStrictEqual([0])
        expect(yield* startsOf(Schedule.spaced(delay), 3)).toStrictEqual([0])
      })
    )

    it.effect(`of ${String(delay)} waits for a failure`, () =>
      Effect.gen(function* () {
        const attempts = [{ after: 70, fail: "first" }, never, never]
        expect(yield* startsOf(HedgeSchedule.fixed(delay), 3, attempts)).toStrictEqual([0, 70])
      })
    )
  }

  for (const [name, combine] of [
    ["a schedule that goes on", Schedule.intersect(Schedule.forever)],
    ["some recurrences", Schedule.intersect(Schedule.recurs(5))],
    ["an exponential one", Schedule.intersect(Schedule.exponential(10))],
    ["a time that must not have passed", Schedule.upTo("1 second")]
  ] as const) {
    it.effect(`without end, of which and of ${name} the longer counts, waits for a failure`, () =>
      Effect.gen(function* () {
        const attempts = [{ after: 70, fail: "first" }, never, never]
        expect(yield* startsOf(combine(HedgeSchedule.onFailure), 3, attempts)).toStrictEqual([0, 70])
      })
    )
  }

  for (const [name, schedule] of [
    ["left", Schedule.intersect(HedgeSchedule.quantile(0.95), Schedule.recurs(5))],
    ["right", Schedule.intersect(Schedule.recurs(5), HedgeSchedule.quantile(0.95))]
  ] as const) {
    it.effect(
      `of a schedule that has learned nothing yet, combined on the ${name}, waits for a failure`,
      () =>
        Effect.gen(function* () {
          const attempts = [{ after: 70, fail: "first" }, never, never]
          expect(yield* startsOf(schedule, 3, attempts)).toStrictEqual([0, 70])
        })
    )
  }

  it.effect("of 2^31 - 1 ms is the longest for which a timer is set", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never], { repeat: true })
      yield* start(script, HedgeSchedule.fixed(2 ** 31 - 1), { maxAttempts: 3 })
      yield* TestClock.adjust(2 ** 31 - 2)
      expect((yield* script.observed).starts).toBe(1)
      yield* TestClock.adjust(1)
      expect((yield* script.observed).startedAt).toStrictEqual([0, 2 ** 31 - 1])
    })
  )

  for (const delay of [-1, "-1 millis", "-3 seconds", Number.NaN, -1n, [-1, 0] as const] as const) {
    it(`of ${String(delay)} is refused when the schedule is built`, () => {
      expect(() => HedgeSchedule.fixed(delay)).toThrowError(HedgePolicy.HedgePolicyError)
      expect(() => HedgeSchedule.fixed(delay)).toThrowError(/^delay is /)
    })
  }
})

describe("C55: attempts that end synchronously", () => {
  const failing = (attempts: number) => {
    let starts = 0
    const attempt = Effect.suspend(() => {
      starts += 1
      return starts === attempts ? Effect.succeed("last") : Effect.fail("again")
    })
    return { attempt, starts: () => starts }
  }

  for (const [name, schedule] of [
    ["a stagger of zero", HedgeSchedule.parallel],
    ["an infinite stagger", HedgeSchedule.onFailure],
    ["an ordinary schedule", Schedule.forever]
  ] as const) {
    it.effect(`10,000 of them in one call, with ${name}, overflow no stack`, () =>
      Effect.gen(function* () {
        const { attempt, starts } = failing(10_000)
        const policy = { schedule, maxAttempts: 20_000, throttle: HedgeThrottle.unlimited }
        expect(yield* Hedge.hedge(attempt, policy)).toBe("last")
        expect(starts()).toBe(10_000)
      })
    )

    it(`and start at most 16 in a turn of the scheduler, with ${name}`, () => {
      const { attempt, starts } = failing(1000)
      const policy = { schedule, maxAttempts: 20_000, throttle: HedgeThrottle.unlimited }
      const scheduler = new Scheduler.ControlledScheduler()
      const call = Effect.runFork(Hedge.hedge(attempt, policy), { scheduler })
      const perTurn = [starts()]
      while (call.unsafePoll() === null) {
        const before = starts()
        scheduler.step()
        perTurn.push(starts() - before)
      }
      expect(call.unsafePoll()).toStrictEqual(Exit.succeed("last"))
      expect(Math.max(...perTurn)).toBeLessThanOrEqual(16)
    })
  }

  it.effect("1,000 that never answer are launched over several turns, too", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never], { repeat: true })
      const call = yield* Effect.fork(
        Hedge.hedge(script.effect, options(script, HedgeSchedule.parallel, { maxAttempts: 1000 }))
      )
      yield* Effect.promise(() => Promise.resolve())
      expect((yield* script.observed).starts).toBeLessThanOrEqual(32)
      yield* settled
      expect((yield* script.observed).starts).toBe(1000)
      yield* Fiber.interrupt(call)
      expect(yield* script.observed).toMatchObject({ interruptions: 1000, inFlight: 0 })
    })
  )
})
