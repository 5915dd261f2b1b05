import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Schedule, TestClock } from "effect"
import { type HedgeEvent, HedgeOutcome, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"
import { type AnyOptions, call, poll, start } from "./support.js"

const never = { never: true } as const

/** An error that carries the pushback of its outcome. */
interface Busy {
  readonly pushback?: HedgeOutcome.Pushback | undefined
  readonly fatal?: boolean
}

const classify = (exit: Exit.Exit<unknown, Busy>): HedgeOutcome.HedgeOutcome => {
  if (Exit.isSuccess(exit)) return HedgeOutcome.win
  const busy = exit.cause._tag === "Fail" ? exit.cause.error : {}
  return busy.fatal ? HedgeOutcome.fatal(busy.pushback) : HedgeOutcome.nonFatal(busy.pushback)
}

const busy = (after: number, pushback?: HedgeOutcome.Pushback) => ({
  after,
  fail: { pushback } satisfies Busy
})

type Attempts = ReadonlyArray<HedgeTest.ScriptedAttempt<string, Busy>>

const startBusy = (
  attempts: Attempts,
  schedule: Schedule.Schedule<unknown, HedgeSchedule.HedgeState>,
  rest: Omit<AnyOptions<string, Busy>, "schedule"> = {}
) =>
  Effect.gen(function* () {
    const recorder = yield* HedgeTest.recordEvents
    const script = yield* HedgeTest.script<string, Busy>(attempts)
    const fiber = yield* start(script, schedule, { classify, maxAttempts: 4, ...rest }).pipe(
      Effect.provide(recorder.layer)
    )
    const suppressed = Effect.map(recorder.tagged("HedgeSuppressed"), (events) =>
      events.map((event: HedgeEvent.HedgeSuppressed) => [
        event.attempt,
        event.reason,
        Math.round(Duration.toMillis(event.elapsed))
      ])
    )
    return { script, fiber, suppressed }
  })

describe("C31: hedging ends, and what is in flight may still win, after a pushback that", () => {
  const ending: ReadonlyArray<
    readonly [
      name: string,
      pushback: HedgeOutcome.Pushback,
      rest?: Omit<AnyOptions<string, Busy>, "schedule">
    ]
  > = [
    ["says do-not-retry", "DoNotRetry"],
    ["is negative", -1],
    ["is a negative text", "-5 seconds"],
    ["is not a number", Number.NaN],
    ["cannot be read", "next tuesday" as never],
    ["is a negative bigint", -1n],
    ["is 3,600 s long", "3600 seconds"],
    ["is a little longer than maxPushback's default of 1 s", 1001],
    ["is longer than maxPushback", 201, { maxPushback: 200 }],
    ["is infinite", Duration.infinity],
    ["ends after the deadline", 491, { deadline: 500 }]
  ]
  for (const [name, pushback, rest] of ending) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const attempts: Attempts = [{ after: 450, succeed: "primary" }, busy(10, pushback)]
        const { script, fiber, suppressed } = yield* startBusy(attempts, HedgeSchedule.parallel, {
          maxAttempts: 2,
          ...rest
        })
        yield* TestClock.adjust(450)
        expect(yield* poll(fiber)).toStrictEqual(Exit.succeed("primary"))
        // with no attempt left it means nothing
        expect(yield* suppressed).toStrictEqual([])
        expect((yield* script.observed).starts).toBe(2)
      })
    )

    it.effect(`${name}, with attempts left: one event, and no stagger goes on`, () =>
      Effect.gen(function* () {
        const attempts: Attempts = [{ after: 450, succeed: "primary" }, busy(1, pushback)]
        const { script, fiber, suppressed } = yield* startBusy(attempts, HedgeSchedule.fixed(9), rest)
        yield* TestClock.adjust(450)
        expect(yield* poll(fiber)).toStrictEqual(Exit.succeed("primary"))
        expect(yield* suppressed).toStrictEqual([[2, "Pushback", 10]])
        expect((yield* script.observed).startedAt).toStrictEqual([0, 9])
      })
    )

    it.effect(`${name}, with nothing in flight: the call ends at once`, () =>
      Effect.gen(function* () {
        const { script, fiber, suppressed } = yield* startBusy(
          [busy(10, pushback)],
          HedgeSchedule.fixed(100),
          rest
        )
        yield* TestClock.adjust(9)
        expect(yield* poll(fiber)).toBe(null)
        yield* TestClock.adjust(1)
        expect(yield* poll(fiber)).toStrictEqual(Exit.fail({ pushback }))
        expect(yield* suppressed).toStrictEqual([[1, "Pushback", 10]])
        expect((yield* script.observed).starts).toBe(1)
      })
    )
  }

  it.effect("comes with a later failure of the others: the call ends with the primary's", () =>
    Effect.gen(function* () {
      const { fiber } = yield* startBusy([busy(50), busy(1, "DoNotRetry")], HedgeSchedule.fixed(9))
      yield* TestClock.adjust(50)
      const exit = yield* Fiber.await(fiber)
      expect(Exit.isFailure(exit)).toBe(true)
    })
  )

  it.effect("ends at the very deadline", () =>
    Effect.gen(function* () {
      const { fiber, suppressed } = yield* startBusy([{ fail: { pushback: 500 } }], HedgeSchedule.onFailure, {
        deadline: 500
      })
      expect(yield* poll(fiber)).toStrictEqual(Exit.fail({ pushback: 500 }))
      expect(yield* suppressed).toStrictEqual([[1, "Pushback", 0]])
    })
  )

  it.effect("comes while a shorter one runs: nothing is sent at the shorter one's end", () =>
    Effect.gen(function* () {
      const attempts: Attempts = [busy(10, 200), busy(50, "DoNotRetry"), { after: 400, succeed: "third" }]
      const { script, fiber, suppressed } = yield* startBusy(attempts, Schedule.fromDelays(0, 0, 100))
      yield* TestClock.adjust(400)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed("third"))
      expect(yield* suppressed).toStrictEqual([[3, "Pushback", 50]])
      expect((yield* script.observed).startedAt).toStrictEqual([0, 0, 0])
    })
  )

  it.effect("comes while the schedule is asked: the call waits for what is in flight", () =>
    Effect.gen(function* () {
      const attempts: Attempts = [{ after: 400, succeed: "first" }, busy(50, "DoNotRetry")]
      const asking = Schedule.addDelayEffect(Schedule.forever, (n) =>
        n === 0 ? Effect.succeed(10) : Effect.never
      )
      const { script, fiber, suppressed } = yield* startBusy(attempts, asking)
      yield* TestClock.adjust(400)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed("first"))
      expect(yield* suppressed).toStrictEqual([[2, "Pushback", 60]])
      expect((yield* script.observed).startedAt).toStrictEqual([0, 10])
    })
  )

  it.effect("comes while a shorter one runs, with nothing else in flight: the call ends at once", () =>
    Effect.gen(function* () {
      const attempts: Attempts = [busy(10, 200), busy(50, "DoNotRetry")]
      const { fiber, suppressed } = yield* startBusy(attempts, Schedule.fromDelays(0, 100))
      yield* TestClock.adjust(49)
      expect(yield* poll(fiber)).toBe(null)
      yield* TestClock.adjust(1)
      expect(yield* poll(fiber)).toMatchObject({ _tag: "Failure" })
      expect(yield* suppressed).toStrictEqual([[2, "Pushback", 50]])
    })
  )
})

describe("C32: a pushback of n ms", () => {
  for (const pushback of [1, 50, 300, 1000]) {
    it.effect(`(${pushback}) sends the next attempt after n, and later ones by the stagger after it`, () =>
      Effect.gen(function* () {
        const { script, suppressed } = yield* startBusy(
          [busy(10, pushback), never, never, never],
          HedgeSchedule.fixed(100)
        )
        yield* TestClock.adjust("1 day")
        const next = 10 + pushback
        expect((yield* script.observed).startedAt).toStrictEqual([0, next, next + 100, next + 200])
        expect(yield* suppressed).toStrictEqual([])
      })
    )
  }

  it.effect("holds staggered hedges back, too; one launch at its end serves both", () =>
    Effect.gen(function* () {
      const attempts: Attempts = [never, busy(10, 500), never, never]
      const { script } = yield* startBusy(attempts, HedgeSchedule.fixed(100))
      yield* TestClock.adjust("1 day")
      // the second starts at 100 and fails at 110; the stagger that ends at 200 waits with the failure until 610
      expect((yield* script.observed).startedAt).toStrictEqual([0, 100, 610, 710])
    })
  )

  it.effect("of two, the later end holds, whichever comes first", () =>
    Effect.gen(function* () {
      for (const [first, second, end] of [
        [600, 50, 610],
        [50, 600, 620],
        [300, 290, 310]
      ] as const) {
        const { script, fiber } = yield* startBusy(
          [busy(10, first), busy(20, second), never, never],
          Schedule.fromDelays(0, 100, 100),
          { maxAttempts: 4 }
        )
        yield* TestClock.adjust(9)
        expect((yield* script.observed).starts).toBe(2)
        yield* TestClock.adjust("1 minute")
        // two failures are owed one launch at the later end
        expect((yield* script.observed).startedAt).toStrictEqual([0, 0, end, end + 100])
        yield* Fiber.interrupt(fiber)
      }
    })
  )

  it.effect("holds back what a failure without pushback asks for while it runs", () =>
    Effect.gen(function* () {
      const { script } = yield* startBusy(
        [busy(10, 400), busy(100), never, never],
        Schedule.fromDelays(0, 1000, 1000)
      )
      yield* TestClock.adjust("1 day")
      expect((yield* script.observed).startedAt).toStrictEqual([0, 0, 410, 1410])
    })
  )

  it.effect("as long as maxPushback is waited for", () =>
    Effect.gen(function* () {
      const { script } = yield* startBusy([busy(10, 200), never], HedgeSchedule.onFailure, {
        maxPushback: 200
      })
      yield* TestClock.adjust("1 day")
      expect((yield* script.observed).startedAt).toStrictEqual([0, 210])
    })
  )

  it.effect("that ends before the deadline is waited for", () =>
    Effect.gen(function* () {
      const { script } = yield* startBusy([busy(10, 489), never], HedgeSchedule.onFailure, { deadline: 500 })
      yield* TestClock.adjust("1 day")
      expect((yield* script.observed).startedAt).toStrictEqual([0, 499])
    })
  )

  it.effect("of 0 ms is none", () =>
    Effect.gen(function* () {
      const { script } = yield* startBusy([busy(10, 0), never], HedgeSchedule.onFailure)
      yield* TestClock.adjust("1 day")
      expect((yield* script.observed).startedAt).toStrictEqual([0, 10])
    })
  )

  it.effect("lets an attempt in flight win meanwhile", () =>
    Effect.gen(function* () {
      const { script, fiber } = yield* startBusy(
        [{ after: 300, succeed: "primary" }, busy(10, 800)],
        HedgeSchedule.fixed(50)
      )
      yield* TestClock.adjust(300)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed("primary"))
      yield* TestClock.adjust("1 day")
      expect((yield* script.observed).starts).toBe(2)
    })
  )

  it.effect("after the last attempt, with none in flight, is ignored: the call ends at once", () =>
    Effect.gen(function* () {
      const { fiber, suppressed } = yield* startBusy([busy(10, 50), busy(10, 900)], HedgeSchedule.onFailure, {
        maxAttempts: 2
      })
      yield* TestClock.adjust(69)
      expect(yield* poll(fiber)).toBe(null)
      yield* TestClock.adjust(1)
      expect(yield* poll(fiber)).not.toBe(null)
      expect(yield* suppressed).toStrictEqual([])
    })
  )

  it.effect("after the schedule's last step is ignored as well", () =>
    Effect.gen(function* () {
      const { fiber, suppressed } = yield* startBusy([busy(10, 50)], Schedule.stop)
      yield* TestClock.adjust(10)
      expect(yield* poll(fiber)).toStrictEqual(Exit.fail({ pushback: 50 }))
      expect(yield* suppressed).toStrictEqual([])
    })
  )

  it.effect("of a Fatal outcome delays nothing: the call has ended", () =>
    Effect.gen(function* () {
      const fatal: Busy = { pushback: 500, fatal: true }
      const { script, fiber, suppressed } = yield* startBusy(
        [{ after: 10, fail: fatal }],
        HedgeSchedule.fixed(100)
      )
      yield* TestClock.adjust(10)
      expect(yield* poll(fiber)).toStrictEqual(Exit.fail(fatal))
      yield* TestClock.adjust("1 day")
      expect((yield* script.observed).starts).toBe(1)
      expect(yield* suppressed).toStrictEqual([])
    })
  )

  it.effect("is no refusal: with nothing in flight the call waits for its end", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script<string, Busy>([
        busy(10, 400),
        { after: 10, succeed: "after it" }
      ])
      const fiber = yield* Effect.fork(call(script, HedgeSchedule.onFailure, { classify }))
      yield* TestClock.adjust(419)
      expect(yield* poll(fiber)).toBe(null)
      yield* TestClock.adjust(1)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed("after it"))
    })
  )
})

describe("of several reasons against a hedge, the event names the first in the order of the gates:", () => {
  /** Each reason, with what brings it about at the primary's failure 250 ms after the start. */
  const reasons: ReadonlyArray<
    readonly [
      reason: string,
      pushback: HedgeOutcome.Pushback | undefined,
      Omit<AnyOptions<string, Busy>, "schedule">
    ]
  > = [
    ["Pushback", "DoNotRetry", {}],
    ["Deadline", undefined, { deadline: 500, minTimeLeft: 300 }],
    ["first gate", undefined, { gates: [() => "first gate", () => "second gate"] }],
    [
      "Throttled",
      undefined,
      { throttle: HedgeThrottle.make({ name: "closed", refusedBy: () => "closed", take: () => {} }) }
    ]
  ]
  for (let first = 0; first < reasons.length; first++) {
    const rest = reasons.slice(first)
    it.effect(`${rest.map(([reason]) => reason).join(", ")}`, () =>
      Effect.gen(function* () {
        const pushback = rest.map(([, pushback]) => pushback).find((pushback) => pushback !== undefined)
        const all = Object.assign({}, ...rest.map(([, , options]) => options))
        const { suppressed } = yield* startBusy([busy(250, pushback)], HedgeSchedule.onFailure, all)
        yield* TestClock.adjust(250)
        expect((yield* suppressed).map(([, reason]) => reason)).toStrictEqual([rest[0]![0]])
      })
    )
  }
})
