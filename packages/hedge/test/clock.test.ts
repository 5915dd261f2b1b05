import { describe, expect, it } from "@effect/vitest"
import { Clock, Duration, Effect, Exit, Fiber, TestClock } from "effect"
import { Hedge, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"
import { poll, start } from "./support.js"

const never = { never: true } as const

describe("a TestClock whose time has a fraction", () => {
  // times from which a sum of delays comes out a hair too small, found by trial; and those that a test may set
  const bases = [
    0,
    0.1,
    1 / 3,
    63_941.686_369_445_75,
    Date.UTC(2026, 0, 1),
    Date.UTC(2026, 0, 1) + 0.7,
    ...unluckyBases(10)
  ]
  for (const base of bases) {
    it.effect(`starts attempts and ends calls when they are due, from ${base} on`, () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(base)
        const script = yield* HedgeTest.script([{ after: 500, fail: "down" }, never, never])
        const fiber = yield* start(script, HedgeSchedule.fixed(600), { maxAttempts: 3, deadline: 2000 })
        yield* TestClock.adjust(1999)
        expect((yield* script.observed).startedAt).toStrictEqual([0, 500, 1100])
        expect(yield* poll(fiber)).toBe(null)
        yield* TestClock.adjust(1.01)
        expect(yield* poll(fiber)).toMatchObject({ _tag: "Failure" })
      })
    )

    it.effect(`lets an answer that is due with a timer go first, from ${base} on`, () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(base)
        const script = yield* HedgeTest.script([{ after: 80, succeed: 1 }])
        const fiber = yield* start(script, HedgeSchedule.fixed(80))
        yield* TestClock.adjust(80)
        expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(1))
        expect((yield* script.observed).starts).toBe(1)
      })
    )
  }
})

describe("a clock of the user's own", () => {
  /** Real time apart, a clock that says what time it is and how long a sleep takes. */
  const clock = (now: () => number, sleep: (millis: number) => Effect.Effect<void>): Clock.Clock => ({
    ...Clock.make(),
    unsafeCurrentTimeMillis: now,
    currentTimeMillis: Effect.sync(now),
    sleep: (duration) => sleep(Duration.toMillis(duration))
  })

  it.effect("that wakes sleepers a little early loses no hedge and no deadline", () =>
    Effect.gen(function* () {
      let time = 0
      const early = clock(
        () => time,
        (millis) =>
          Effect.zipRight(
            Effect.yieldNow(),
            Effect.sync(() => {
              time += millis > 1 ? millis - 0.4 : millis
            })
          )
      )
      let starts = 0
      const attempt = Effect.suspend(() => {
        starts += 1
        return Effect.never
      })
      const call = Hedge.hedge(attempt, {
        schedule: HedgeSchedule.fixed(80),
        maxAttempts: 3,
        deadline: 1000,
        throttle: HedgeThrottle.unlimited
      })
      const error = yield* Effect.flip(Effect.withClock(call, early))
      expect(error).toBeInstanceOf(Hedge.HedgeError)
      expect(starts).toBe(3)
      expect(time).toBeGreaterThan(999)
    })
  )

  for (const [name, throttle, deadline] of [
    ["three attempts", HedgeThrottle.unlimited, 1000],
    [
      "5,000 refused hedges",
      HedgeThrottle.make({ name: "shut", refusedBy: () => "shut", take: () => {}, tokens: () => 0 }),
      5000 * 80
    ]
  ] as const) {
    it.effect(`that never waits, as mocks do, ends a call of ${name} and overflows no stack`, () =>
      Effect.gen(function* () {
        const still = clock(
          () => 0,
          () => Effect.void
        )
        const call = Hedge.hedge(Effect.never, {
          schedule: HedgeSchedule.fixed(80),
          maxAttempts: 3,
          deadline,
          throttle
        })
        const fiber = yield* Effect.fork(Effect.withClock(Effect.flip(call), still))
        expect(yield* Fiber.join(fiber)).toBeInstanceOf(Hedge.HedgeError)
      })
    )
  }
})

/** Times from which 500 ms less a nanosecond, 600 ms and the rest until 2,000 ms add up to a hair less than 2,000 ms. */
function unluckyBases(count: number): ReadonlyArray<number> {
  const nanos = (millis: number) => Math.round(millis * 1e6) / 1e6
  const found: Array<number> = []
  for (let i = 0; found.length < count; i++) {
    const base = ((i * 2_654_435_761) % 2 ** 32) / 4096
    const failed = base + nanos(500 - 1e-6)
    const hedged = failed + nanos(failed + 600 - failed)
    const deadline = base + 2000
    if (hedged >= failed + 600 && hedged + nanos(deadline - hedged) < deadline) found.push(base)
  }
  return found
}
