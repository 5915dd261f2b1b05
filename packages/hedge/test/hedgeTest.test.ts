import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Option, TestClock } from "effect"
import { Hedge, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"
import { poll, settled } from "./support.js"

describe("a scripted attempt", () => {
  it.effect("answers a nanosecond before its time", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([{ after: "500 millis", succeed: 1 }])
      const attempt = yield* Effect.fork(script.effect)
      yield* TestClock.adjust("499.999998 millis")
      expect(yield* poll(attempt)).toBe(null)
      yield* TestClock.adjust("0.000001 millis")
      expect(yield* poll(attempt)).toStrictEqual(Exit.succeed(1))
    })
  )

  it.effect("without `after` answers synchronously", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([{ succeed: "at once" }])
      expect(Effect.runSync(script.effect)).toBe("at once")
    })
  )

  it.effect("fails, dies, interrupts itself or never ends, as written", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([
        { fail: "error" },
        { die: "defect" },
        { interrupt: true },
        { never: true }
      ])
      expect(yield* Effect.exit(script.effect)).toStrictEqual(Exit.fail("error"))
      expect(yield* Effect.exit(script.effect)).toStrictEqual(Exit.die("defect"))
      const interrupted = yield* Effect.exit(script.effect)
      expect(Exit.isFailure(interrupted) && Cause.isInterruptedOnly(interrupted.cause)).toBe(true)
      const never = yield* Effect.fork(script.effect)
      yield* TestClock.adjust("1000 days")
      expect(yield* poll(never)).toBe(null)
      const { starts, interruptions, finalizers } = yield* script.observed
      expect({ starts, interruptions, finalizers }).toStrictEqual({
        starts: 4,
        interruptions: 0,
        finalizers: 3
      })
    })
  )

  it.effect("counts an interruption, and its finalizer once that has run", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([{ after: "1 second", unwind: "10 seconds", succeed: 1 }])
      const attempt = yield* Effect.fork(script.effect)
      yield* TestClock.adjust("200 millis")
      const interrupting = yield* Effect.fork(Fiber.interrupt(attempt))
      yield* TestClock.adjust("9999 millis")
      expect(yield* script.observed).toMatchObject({ interruptions: 1, finalizers: 0, inFlight: 1 })
      yield* TestClock.adjust("1 millis")
      expect(yield* script.observed).toMatchObject({
        interruptions: 1,
        finalizers: 1,
        inFlight: 0,
        successes: 0
      })
      expect(Exit.isInterrupted(yield* Fiber.join(interrupting))).toBe(true)
    })
  )

  it.effect("succeeds in spite of an interruption that comes after `uninterruptibleFrom`", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([
        { after: "1 second", uninterruptibleFrom: "200 millis", succeed: 1 },
        { after: "1 second", uninterruptibleFrom: "200 millis", succeed: 2 }
      ])
      const first = yield* Effect.fork(script.effect)
      yield* TestClock.adjust("199 millis")
      yield* Fiber.interruptFork(first)
      const second = yield* Effect.fork(script.effect)
      yield* TestClock.adjust("200 millis")
      yield* Fiber.interruptFork(second)
      yield* TestClock.adjust("800 millis")
      expect(Exit.isInterrupted(yield* Fiber.await(first))).toBe(true)
      expect(yield* Fiber.await(second)).toStrictEqual(Exit.succeed(2))
      expect(yield* script.observed).toMatchObject({
        starts: 2,
        interruptions: 1,
        finalizers: 2,
        successes: 1
      })
    })
  )

  it.effect("is found by index, for `hedgeWith`, and observed with its start", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([{ never: true }, { after: "5 millis", succeed: "hedge" }])
      yield* TestClock.adjust("3 seconds")
      const schedule = HedgeSchedule.fixed("80 millis")
      const call = yield* Effect.fork(Hedge.hedgeWith(script.attempt, { schedule }))
      yield* TestClock.adjust("85 millis")
      expect(yield* Fiber.join(call)).toBe("hedge")
      yield* settled
      expect(yield* script.observed).toStrictEqual({
        starts: 2,
        startedAt: [3000, 3080],
        inFlight: 0,
        maxInFlight: 2,
        interruptions: 1,
        finalizers: 2,
        successes: 1,
        discarded: []
      })
    }).pipe(Effect.provide(HedgeTest.layer))
  )
})

describe("a script", () => {
  it.effect("dies when an execution finds no attempt left, unless it repeats", () =>
    Effect.gen(function* () {
      const once = yield* HedgeTest.script([{ succeed: 1 }])
      yield* once.effect
      const exit = yield* Effect.exit(once.effect)
      const error = Exit.isFailure(exit) && Cause.squash(exit.cause)
      expect(error).toBeInstanceOf(HedgePolicy.HedgePolicyError)
      expect(error).toMatchObject({
        message:
          "attempts.length is 1; allowed is at least 2, or repeat: true: an execution found none left in the script"
      })
      const repeated = yield* HedgeTest.script([{ succeed: 1 }, { succeed: 2 }], { repeat: true })
      expect(yield* Effect.replicateEffect(repeated.effect, 5)).toStrictEqual([1, 2, 1, 2, 1])
    })
  )

  const anArray = 'an array of at least one attempt, such as { after: "20 millis", succeed: 1 }'
  const oneEnding = "an attempt with exactly one of succeed, fail, die, interrupt, never"
  const fields = "the options after, unwind, uninterruptibleFrom, succeed, fail, die, interrupt, never"
  const aDuration = 'a duration that is not negative, such as 80, "80 millis" or Duration.millis(80)'
  const wrong: ReadonlyArray<readonly [what: string, attempts: unknown, field: string, allowed: string]> = [
    ["no attempts", [], "attempts", anArray],
    ["no array", "abc", "attempts", anArray],
    ["an attempt that is none", [{ succeed: 1 }, null], "attempts[1]", `an object with ${fields}`],
    ["no ending", [{ after: 1 }], "attempts[0]", oneEnding],
    ["two endings", [{ succeed: 1 }, { succeed: 1, fail: 2 }], "attempts[1]", oneEnding],
    ["a negative time", [{ after: -1, succeed: 1 }], "attempts[0].after", aDuration],
    ["a time that cannot be read", [{ after: "soon", succeed: 1 }], "attempts[0].after", aDuration],
    ["a negative unwinding", [{ unwind: "-2 seconds", succeed: 1 }], "attempts[0].unwind", aDuration],
    [
      "an uninterruptible part after the end",
      [{ after: 1, uninterruptibleFrom: 2, succeed: 1 }],
      "attempts[0].uninterruptibleFrom",
      "no later than after"
    ],
    [
      "a time for never",
      [{ after: 1, never: true }],
      "attempts[0].after",
      "nothing, for an attempt that never answers"
    ],
    [
      "an interruption that is not true",
      [{ interrupt: false }],
      "attempts[0].interrupt",
      "true, or to be left out"
    ],
    ["a never that is not true", [{ never: false }], "attempts[0].never", "true, or to be left out"],
    ["an unknown field", [{ afetr: 1, succeed: 1 }], "attempts[0].afetr", `one of ${fields}`]
  ]
  for (const [what, attempts, field, allowed] of wrong) {
    it.effect(`with ${what} is refused, and the error names ${field}`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(HedgeTest.script(attempts as never))
        expect(error).toBeInstanceOf(HedgePolicy.HedgePolicyError)
        expect(error).toMatchObject({ field, allowed })
      })
    )
  }
})

describe("surroundings", () => {
  const schedule = HedgeSchedule.parallel
  const hedgesOf = (calls: number) =>
    Effect.gen(function* () {
      const recorder = yield* HedgeTest.recordEvents
      const call = Hedge.hedge(Effect.fail("down"), { schedule, maxAttempts: 2 })
      yield* Effect.replicateEffect(Effect.ignore(call), calls).pipe(Effect.provide(recorder.layer))
      return (yield* recorder.tagged("AttemptStarted")).filter(({ attempt }) => attempt > 0).length
    })

  it.effect("`layer` gives each build a fresh default throttle", () =>
    Effect.gen(function* () {
      const first = yield* hedgesOf(20).pipe(Effect.provide(HedgeTest.layer))
      const second = yield* hedgesOf(20).pipe(Effect.provide(HedgeTest.layer))
      // burst 10, and a fifth of a hedge for each call
      expect([first, second]).toStrictEqual([14, 14])
    })
  )

  /** Of a program, which has it outside every layer: it is known to all its tests. */
  const learning = HedgeSchedule.quantile(0.5, { warmUp: 1 })
  const program = HedgePolicy.make({ schedule: learning })

  /** A test of the program: what the schedule knows before a call, and after it. */
  const known = Effect.gen(function* () {
    const samples = Effect.map(
      HedgePolicy.inspect(program),
      (inspection) => Option.getOrThrow(inspection).samples
    )
    const before = yield* samples
    yield* Hedge.hedge(Effect.yieldNow(), program)
    return [before, yield* samples]
  })

  for (const [name, layer] of [
    ["layer", HedgeTest.layer],
    ["layerUnlimited", HedgeTest.layerUnlimited]
  ] as const) {
    it.effect(`with \`${name}\` a test learns nothing of another, nor while both run`, () =>
      Effect.gen(function* () {
        const test = Effect.provide(known, layer)
        expect(yield* test).toStrictEqual([0, 1])
        expect(yield* Effect.all([test, test], { concurrency: 2 })).toStrictEqual([
          [0, 1],
          [0, 1]
        ])
      })
    )
  }

  it.effect("without it, a test goes on from what another has learned", () =>
    Effect.gen(function* () {
      const [, learned] = yield* known
      expect(yield* known).toStrictEqual([learned, learned! + 1])
    })
  )

  it.effect("`layerUnlimited` refuses nothing", () =>
    Effect.gen(function* () {
      expect(yield* hedgesOf(300).pipe(Effect.provide(HedgeTest.layerUnlimited))).toBe(300)
    })
  )

  it.effect("neither touches a policy's own throttle", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([{ fail: "down" }], { repeat: true })
      const throttle = HedgeThrottle.loadBudget({ extraLoad: 0.1, burst: 1 })
      const call = Hedge.hedge(script.effect, { schedule, throttle })
      yield* Effect.replicateEffect(Effect.ignore(call), 5)
      expect((yield* script.observed).starts).toBe(6)
    }).pipe(Effect.provide(HedgeTest.layerUnlimited))
  )

  it.effect("`recordEvents` keeps all events in order, and finds those with a tag", () =>
    Effect.gen(function* () {
      const recorder = yield* HedgeTest.recordEvents
      const call = Hedge.hedge(Effect.fail("down"), {
        schedule: HedgeSchedule.onFailure,
        gates: [() => "maintenance"]
      })
      yield* Effect.ignore(call).pipe(Effect.provide(recorder.layer))
      expect((yield* recorder.events).map(({ _tag }) => _tag)).toStrictEqual([
        "CallStarted",
        "AttemptStarted",
        "AttemptEnded",
        "HedgeSuppressed",
        "CallEnded"
      ])
      expect((yield* recorder.tagged("HedgeSuppressed")).map(({ reason }) => reason)).toStrictEqual([
        "maintenance"
      ])
    })
  )
})
