import { describe, expect, it } from "@effect/vitest"
import {
  Cause,
  Data,
  Effect,
  Exit,
  Fiber,
  FiberId,
  Logger,
  LogLevel,
  Option,
  RuntimeFlags,
  RuntimeFlagsPatch,
  Schedule,
  TestClock
} from "effect"
import { Hedge, type HedgeAttempt, HedgeOutcome, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"
import { call, poll, settled, start } from "./support.js"

const never = { never: true } as const

class Refused extends Data.TaggedError("Refused")<{ readonly by: string }> {}
class Broken extends Data.TaggedError("Broken")<{ readonly by: string }> {}

/** Everything that is no success may be bettered by another attempt: defects and self-interruptions, too. */
const nonFatalUnlessSuccess = (exit: Exit.Exit<unknown, unknown>): HedgeOutcome.HedgeOutcome =>
  Exit.isSuccess(exit) ? HedgeOutcome.win : HedgeOutcome.nonFatal()

const allNonFatal = (): HedgeOutcome.HedgeOutcome => HedgeOutcome.nonFatal()

/** Every order of the items. */
const permutations = <A>(items: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  items.length === 0
    ? [[]]
    : items.flatMap((item, i) => permutations(items.filter((_, j) => j !== i)).map((rest) => [item, ...rest]))

/** The exit of a call, which must have ended by itself when the clock has gone on for `time` and not before. */
const exitAfter = <A, E>(fiber: Fiber.RuntimeFiber<A, E>, time: number) =>
  Effect.gen(function* () {
    yield* TestClock.adjust(time - 1)
    expect(yield* poll(fiber)).toBe(null)
    yield* TestClock.adjust(1)
    const exit = yield* poll(fiber)
    expect(exit).not.toBe(null)
    return exit!
  })

describe("C9: a Fatal outcome", () => {
  for (const fatal of [0, 1, 2, 3]) {
    it.effect(`of attempt ${fatal} of 4 is the result, alone, and interrupts the rest`, () =>
      Effect.gen(function* () {
        const attempts = [0, 1, 2, 3].map((index) =>
          index === fatal
            ? { after: 1000 - index * 100, fail: new Broken({ by: `attempt ${index}` }) }
            : { after: 1001, succeed: index, unwind: "10 seconds" as const }
        )
        const script = yield* HedgeTest.script<number, Broken>(attempts)
        const fiber = yield* start(script, HedgeSchedule.fixed(100), {
          maxAttempts: 4,
          classify: (exit) => (Exit.isFailure(exit) ? HedgeOutcome.fatal() : HedgeOutcome.win)
        })
        expect(yield* exitAfter(fiber, 1000)).toStrictEqual(Exit.fail(new Broken({ by: `attempt ${fatal}` })))
        expect(yield* script.observed).toMatchObject({ starts: 4, interruptions: 3, finalizers: 1 })
        yield* TestClock.adjust("10 seconds")
        expect(yield* script.observed).toMatchObject({
          inFlight: 0,
          interruptions: 3,
          finalizers: 4,
          discarded: []
        })
      })
    )
  }

  it.effect("leaves out what earlier attempts failed with", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([
        { after: 10, fail: "first" },
        { after: 10, die: "fatal" }
      ])
      const fiber = yield* start(script, HedgeSchedule.onFailure)
      expect(yield* exitAfter(fiber, 20)).toStrictEqual(Exit.die("fatal"))
    })
  )

  it.effect("of a success returns it as it is, and discards nothing but what comes later", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never, { after: 10, succeed: "closed for ever" }])
      const fiber = yield* start(script, HedgeSchedule.fixed(5), { classify: () => HedgeOutcome.fatal() })
      expect(yield* exitAfter(fiber, 15)).toStrictEqual(Exit.succeed("closed for ever"))
      yield* settled
      expect(yield* script.observed).toMatchObject({ interruptions: 1, discarded: [] })
    })
  )
})

describe("C10: one success among NonFatal outcomes is the result", () => {
  for (const count of [2, 3, 4]) {
    const times = Array.from({ length: count }, (_, i) => (i + 1) * 10)
    const orders = count < 4 ? permutations(times) : permutations(times).filter((_, i) => i % 5 === 0)
    for (const order of orders) {
      it.effect(`whichever of ${count} attempts it is, when they answer at ${order.join(", ")} ms`, () =>
        Effect.gen(function* () {
          for (let success = 0; success < count; success++) {
            const script = yield* HedgeTest.script<string, number>(
              order.map((after, index) =>
                index === success ? { after, succeed: "answer" } : { after, fail: index }
              )
            )
            const fiber = yield* start(script, HedgeSchedule.parallel, { maxAttempts: count })
            expect(yield* exitAfter(fiber, order[success]!)).toStrictEqual(Exit.succeed("answer"))
            const later = order.filter((after) => after > order[success]!).length
            expect(yield* script.observed).toMatchObject({
              starts: count,
              interruptions: later,
              discarded: []
            })
          }
        })
      )
    }
  }

  it.effect("when attempts run one after another, too", () =>
    Effect.gen(function* () {
      for (const failures of [0, 1, 2, 5]) {
        const script = yield* HedgeTest.script<string, string>([
          ...Array.from({ length: failures }, () => ({ after: 10, fail: "down" })),
          { after: 10, succeed: "answer" }
        ])
        const fiber = yield* start(script, HedgeSchedule.onFailure, { maxAttempts: 6 })
        expect(yield* exitAfter(fiber, (failures + 1) * 10)).toStrictEqual(Exit.succeed("answer"))
        expect(yield* script.observed).toMatchObject({ starts: failures + 1, maxInFlight: 1 })
      }
    })
  )
})

describe("C11: when all attempts are NonFatal", () => {
  const policy = (maxAttempts: number) => ({
    schedule: HedgeSchedule.parallel,
    throttle: HedgeThrottle.unlimited,
    maxAttempts
  })

  for (const order of permutations([10, 20, 30])) {
    it.effect(
      `the primary's error is the result, at once after the last, in the order ${order.join(", ")}`,
      () =>
        Effect.gen(function* () {
          const script = yield* HedgeTest.script(
            order.map((after, index) => ({ after, fail: `attempt ${index}` }))
          )
          const fiber = yield* Effect.fork(
            Effect.either(call(script, HedgeSchedule.parallel, { maxAttempts: 3 }))
          )
          const exit = yield* exitAfter(fiber, 30)
          expect(exit).toMatchObject(Exit.succeed({ _tag: "Left", left: "attempt 0" }))
        })
    )
  }

  it.effect("the siblings' typed failures stand beside the primary's in the cause, in order", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([
        { after: 30, fail: "a" },
        { after: 10, fail: "b" },
        { after: 20, fail: "c" }
      ])
      const fiber = yield* start(script, HedgeSchedule.parallel, { maxAttempts: 3 })
      const exit = yield* exitAfter(fiber, 30)
      expect(Exit.isFailure(exit) && [...Cause.failures(exit.cause)]).toStrictEqual(["a", "b", "c"])
    })
  )

  for (const [what, beside] of [
    ["a defect", Cause.die("defect")],
    ["an interruption", Cause.interrupt(FiberId.none)]
  ] as const) {
    it.effect(`a sibling whose cause holds ${what} beside its typed failure stays out of the cause`, () =>
      Effect.gen(function* () {
        const hedged = Hedge.hedgeWith(
          ({ index }) =>
            index === 0
              ? Effect.fail("primary")
              : Effect.failCause(Cause.parallel(Cause.fail("hedge"), beside)),
          policy(2)
        )
        expect(yield* Effect.exit(hedged)).toStrictEqual(Exit.fail("primary"))
      })
    )
  }

  it.effect("catchTag sees the primary's error of two typed ones, and not the other", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script<never, Refused | Broken>(
        [{ fail: new Refused({ by: "primary" }) }, { fail: new Broken({ by: "hedge" }) }],
        { repeat: true }
      )
      const hedged = Hedge.hedge(script.effect, policy(2))
      const seen = yield* Effect.catchTag(hedged, "Refused", ({ by }) => Effect.succeed(by))
      expect(seen).toBe("primary")
      const unseen = yield* Effect.exit(Effect.catchTag(hedged, "Broken", ({ by }) => Effect.succeed(by)))
      expect(Exit.isFailure(unseen)).toBe(true)
    })
  )

  /** An exit without the numbers of fibers, which differ from run to run. */
  const plain = (exit: Exit.Exit<unknown, unknown>) =>
    Exit.match(exit, {
      onSuccess: (value) => ({ value }),
      onFailure: (cause) => ({
        failures: [...Cause.failures(cause)],
        defects: [...Cause.defects(cause)],
        interrupted: Cause.isInterrupted(cause)
      })
    })

  /** What surrounds a call sees of it, for each way of looking. */
  const views = <A, E>(effect: Effect.Effect<A, E>) => {
    const looks: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
      Effect.catchAll(effect, (error) => Effect.succeed(error)),
      Effect.catchIf(
        effect,
        (error) => error instanceof Refused,
        () => Effect.succeed("recovered")
      ),
      Effect.either(effect),
      Effect.match(effect, { onFailure: (error) => error, onSuccess: () => "success" }),
      Effect.orElse(effect, () => Effect.succeed("instead")),
      Effect.retry(effect, Schedule.recurs(2))
    ]
    return Effect.forEach(looks, (look) => Effect.map(Effect.exit(look), plain))
  }

  const ends = [
    ["fails", { fail: new Refused({ by: "someone" }) }],
    ["dies", { die: "defect" }],
    ["interrupts itself", { interrupt: true }]
  ] as const
  for (const [how, primary] of ends) {
    for (const [siblingHow, sibling] of ends) {
      if (how === "fails" && siblingHow === "fails") continue
      it.effect(
        `a call whose primary ${how} looks like the primary alone, though a hedge ${siblingHow}`,
        () =>
          Effect.gen(function* () {
            const alone = yield* HedgeTest.script<never, Refused>([primary], { repeat: true })
            const script = yield* HedgeTest.script<never, Refused>([primary, sibling], { repeat: true })
            const hedged = Hedge.hedge(script.effect, { ...policy(2), classify: nonFatalUnlessSuccess })
            expect(yield* views(hedged)).toStrictEqual(yield* views(alone.effect))
            expect((yield* script.observed).starts).toBe(2 * (yield* alone.observed).starts)
          })
      )
    }
  }

  it.effect(
    "and all of them successes, the primary's is the result and the hedges' are discarded at once",
    () =>
      Effect.gen(function* () {
        const script = yield* HedgeTest.script([
          { after: 20, succeed: "primary" },
          { after: 10, succeed: "first" },
          { after: 30, succeed: "second" }
        ])
        const fiber = yield* start(script, HedgeSchedule.parallel, { maxAttempts: 3, classify: allNonFatal })
        yield* TestClock.adjust(10)
        expect((yield* script.observed).discarded).toStrictEqual(["first"])
        expect(yield* exitAfter(fiber, 20)).toStrictEqual(Exit.succeed("primary"))
        yield* settled
        expect((yield* script.observed).discarded).toStrictEqual(["first", "second"])
      })
  )

  it.effect("a primary's rejected success is the result though the hedges failed", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script<string, string>([
        { after: 10, succeed: "poor" },
        { after: 20, fail: "down" },
        { after: 20, fail: "gone" }
      ])
      const fiber = yield* start(script, HedgeSchedule.parallel, { maxAttempts: 3, classify: allNonFatal })
      expect(yield* exitAfter(fiber, 20)).toStrictEqual(Exit.succeed("poor"))
      expect((yield* script.observed).discarded).toStrictEqual([])
    })
  )

  it.effect("a primary's failure is the result though hedges succeeded poorly", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script<string, string>([
        { after: 10, fail: "down" },
        { after: 20, succeed: "poor" }
      ])
      const fiber = yield* start(script, HedgeSchedule.parallel, { classify: allNonFatal })
      expect(yield* exitAfter(fiber, 20)).toStrictEqual(Exit.fail("down"))
      yield* settled
      expect((yield* script.observed).discarded).toStrictEqual(["poor"])
    })
  )

  it.effect("a sibling that succeeded poorly does not part those that failed", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script<string, string>([
        { fail: "down" },
        { succeed: "poor" },
        { fail: "gone" }
      ])
      const options = { maxAttempts: 3, classify: allNonFatal }
      const exit = yield* Effect.exit(call(script, HedgeSchedule.onFailure, options))
      expect(exit).toStrictEqual(Exit.failCause(Cause.parallel(Cause.fail("down"), Cause.fail("gone"))))
    })
  )

  it.effect("CallEnded holds each one's exit", () =>
    Effect.gen(function* () {
      const recorder = yield* HedgeTest.recordEvents
      const script = yield* HedgeTest.script<string, string>([
        { fail: "down" },
        { die: "defect" },
        { succeed: "poor" }
      ])
      const hedged = call(script, HedgeSchedule.onFailure, { maxAttempts: 3, classify: allNonFatal })
      yield* Effect.exit(hedged).pipe(Effect.provide(recorder.layer))
      const [ended] = yield* recorder.tagged("CallEnded")
      expect(ended).toMatchObject({ outcome: "NonFatal", winner: 0, attempts: 3 })
      expect([...ended!.rejected]).toStrictEqual([
        [0, Exit.fail("down")],
        [1, Exit.die("defect")],
        [2, Exit.succeed("poor")]
      ])
    })
  )
})

describe("C12: with no attempt left to send", () => {
  it.effect("the call waits for the one in flight, and takes its success", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script<number, string>([
        { after: 100, fail: "early" },
        { after: 5000, succeed: 1 }
      ])
      const fiber = yield* start(script, HedgeSchedule.fixed(80))
      expect(yield* exitAfter(fiber, 5080)).toStrictEqual(Exit.succeed(1))
      expect((yield* script.observed).starts).toBe(2)
    })
  )

  it.effect("the call waits for the one in flight, and ends when it fails", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([
        { after: 5000, fail: "late" },
        { after: 10, fail: "early" }
      ])
      const fiber = yield* Effect.fork(Effect.flip(call(script, HedgeSchedule.fixed(80))))
      expect(yield* exitAfter(fiber, 5000)).toStrictEqual(Exit.succeed("late"))
    })
  )
})

describe("C13: by default", () => {
  for (const index of [0, 1]) {
    it.effect(`a defect in attempt ${index} is Fatal`, () =>
      Effect.gen(function* () {
        const attempts = [{ never: true as const }, { never: true as const }, never].map((attempt, i) =>
          i === index ? { after: 50, die: "defect" } : attempt
        )
        const script = yield* HedgeTest.script(attempts)
        const fiber = yield* start(script, HedgeSchedule.fixed(10), { maxAttempts: 2 })
        expect(yield* exitAfter(fiber, 50 + 10 * index)).toStrictEqual(Exit.die("defect"))
        expect((yield* script.observed).starts).toBe(2)
      })
    )

    it.effect(`attempt ${index} that interrupts itself is Fatal, and the call ends interrupted`, () =>
      Effect.gen(function* () {
        const attempts = [0, 1].map((i) => (i === index ? { after: 50, interrupt: true as const } : never))
        const script = yield* HedgeTest.script(attempts)
        const fiber = yield* start(script, HedgeSchedule.fixed(10))
        const exit = yield* exitAfter(fiber, 50 + 10 * index)
        expect(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)).toBe(true)
        expect(yield* script.observed).toMatchObject({ starts: 2, interruptions: 1 })
      })
    )
  }

  it.effect("a cause that holds a typed failure is NonFatal, also beside a defect", () =>
    Effect.gen(function* () {
      let starts = 0
      const attempt = Effect.suspend(() =>
        ++starts === 1
          ? Effect.failCause(Cause.parallel(Cause.die("defect"), Cause.fail("error")))
          : Effect.succeed(1)
      )
      expect(yield* Hedge.hedge(attempt, { schedule: HedgeSchedule.onFailure })).toBe(1)
    }).pipe(Effect.provide(HedgeTest.layer))
  )

  it.effect("a function that throws instead of giving an effect is a defect of its attempt", () =>
    Effect.gen(function* () {
      const policy = { schedule: HedgeSchedule.parallel, throttle: HedgeThrottle.unlimited }
      const all = Hedge.hedgeWith((): Effect.Effect<number> => {
        throw "thrown"
      }, policy)
      expect(yield* Effect.exit(all)).toStrictEqual(Exit.die("thrown"))
      const primary = Hedge.hedgeWith(
        ({ index }): Effect.Effect<number> => {
          if (index === 0) throw "thrown"
          return Effect.succeed(index)
        },
        { ...policy, classify: nonFatalUnlessSuccess }
      )
      expect(yield* primary).toBe(1)
    })
  )

  it.effect("classify may say nothing else than an outcome", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([{ succeed: 1 }])
      const exit = yield* Effect.exit(
        call(script, HedgeSchedule.onFailure, { classify: () => undefined as never })
      )
      const defect = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.dieOption(exit.cause)) : undefined
      expect(defect).toStrictEqual(
        new TypeError(
          "classify answered undefined; allowed is an outcome whose _tag is Win, NonFatal or Fatal"
        )
      )
    })
  )

  it("an outcome without pushback has none, not even undefined", () => {
    expect(HedgeOutcome.nonFatal(undefined)).toStrictEqual({ _tag: "NonFatal" })
    expect(HedgeOutcome.fatal(undefined)).toStrictEqual({ _tag: "Fatal" })
  })

  it.effect("classify may say that a defect is NonFatal, and then another attempt may win", () =>
    Effect.gen(function* () {
      for (const first of [
        { after: 50, die: "defect" },
        { after: 50, interrupt: true }
      ] as const) {
        const script = yield* HedgeTest.script<number, never>([first, { after: 10, succeed: 1 }])
        const fiber = yield* start(script, HedgeSchedule.fixed(100), { classify: nonFatalUnlessSuccess })
        expect(yield* exitAfter(fiber, 60)).toStrictEqual(Exit.succeed(1))
      }
    })
  )

  it.effect("classify may say that a failure is a Win, and then it is the result", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script<never, string>([never, { after: 10, fail: "no such user" }])
      const fiber = yield* start(script, HedgeSchedule.fixed(5), { classify: () => HedgeOutcome.win })
      expect(yield* exitAfter(fiber, 15)).toStrictEqual(Exit.fail("no such user"))
      yield* settled
      expect(yield* script.observed).toMatchObject({ starts: 2, interruptions: 1 })
    })
  )
})

describe("C14: a classify that rejects fast empty answers", () => {
  const full = (exit: Exit.Exit<ReadonlyArray<string>, never>): HedgeOutcome.HedgeOutcome =>
    Exit.isSuccess(exit) && exit.value.length === 0 ? HedgeOutcome.nonFatal() : HedgeOutcome.fromExit(exit)
  const empty: ReadonlyArray<string> = []

  it.effect(
    "lets the slower full one win, and the primary's empty one is discarded once, when the call ends",
    () =>
      Effect.gen(function* () {
        const script = yield* HedgeTest.script([
          { after: 5, succeed: empty },
          { after: 100, succeed: ["a"] }
        ])
        const fiber = yield* start(script, HedgeSchedule.fixed(80), { classify: full })
        yield* TestClock.adjust(104)
        expect((yield* script.observed).discarded).toStrictEqual([])
        yield* TestClock.adjust(1)
        expect(yield* Fiber.join(fiber)).toStrictEqual(["a"])
        yield* TestClock.adjust("1 minute")
        expect((yield* script.observed).discarded).toStrictEqual([empty])
      })
  )

  it.effect("lets the slower primary win, and the hedge's empty one is discarded once, at once", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([
        { after: 200, succeed: ["a"] },
        { after: 5, succeed: empty }
      ])
      const fiber = yield* start(script, HedgeSchedule.fixed(80), { classify: full })
      yield* TestClock.adjust(85)
      expect((yield* script.observed).discarded).toStrictEqual([empty])
      yield* TestClock.adjust(115)
      expect(yield* Fiber.join(fiber)).toStrictEqual(["a"])
      yield* TestClock.adjust("1 minute")
      expect((yield* script.observed).discarded).toStrictEqual([empty])
    })
  )
})

describe("classify", () => {
  it.effect("is asked once about each attempt that ends before the call does, with its index", () =>
    Effect.gen(function* () {
      const asked: Array<readonly [number, Exit.Exit<string, string>]> = []
      const script = yield* HedgeTest.script<string, string>([
        { after: 1000, succeed: "late" },
        { after: 10, fail: "early" },
        { after: 50, succeed: "winner" },
        { after: 1000, uninterruptibleFrom: 0, succeed: "never asked about" }
      ])
      const classify = (exit: Exit.Exit<string, string>, { index }: HedgeAttempt.HedgeAttempt) => {
        asked.push([index, exit])
        return HedgeOutcome.fromExit(exit)
      }
      yield* start(script, HedgeSchedule.parallel, { maxAttempts: 4, classify })
      yield* TestClock.adjust("1 minute")
      expect(asked).toStrictEqual([
        [1, Exit.fail("early")],
        [2, Exit.succeed("winner")]
      ])
    })
  )

  it.effect("gives the call to the first of several that succeed in one tick; the others are discarded", () =>
    Effect.gen(function* () {
      const discarded: Array<string> = []
      const answers: Array<(effect: Effect.Effect<string>) => void> = []
      const attempt = Effect.async<string>((resume) => {
        answers.push(resume)
      })
      const stubborn = Effect.zipRight(
        Effect.patchRuntimeFlags(RuntimeFlagsPatch.disable(RuntimeFlags.Interruption)),
        attempt
      )
      const fiber = yield* Effect.fork(
        Hedge.hedge(stubborn, {
          schedule: HedgeSchedule.parallel,
          maxAttempts: 3,
          throttle: HedgeThrottle.unlimited,
          onDiscard: (value) => Effect.sync(() => discarded.push(value))
        })
      )
      yield* settled
      for (const index of [1, 0, 2]) answers[index]!(Effect.succeed(`attempt ${index}`))
      expect(yield* Fiber.join(fiber)).toBe("attempt 1")
      yield* settled
      expect(discarded).toStrictEqual(["attempt 0", "attempt 2"])
    })
  )

  it.effect("may call a success of nothing a win", () =>
    Effect.gen(function* () {
      for (const nothing of [undefined, null, 0, "", Number.NaN]) {
        expect(yield* Hedge.hedge(Effect.succeed(nothing), { schedule: HedgeSchedule.parallel })).toBe(
          nothing
        )
      }
    }).pipe(Effect.provide(HedgeTest.layer))
  )
})

describe("an attempt that fails", () => {
  for (const [how, attempt] of [
    ["with an error", { fail: "error" }],
    ["by a defect", { die: "defect" }],
    ["by interrupting itself", { interrupt: true }]
  ] as const) {
    it.effect(`${how} logs no unhandled error of its own`, () =>
      Effect.gen(function* () {
        const logged: Array<unknown> = []
        const logger = Logger.make(({ message }) => {
          logged.push(message)
        })
        const script = yield* HedgeTest.script<string, string>([attempt, attempt, { succeed: "fine" }])
        const hedged = call(script, HedgeSchedule.onFailure, {
          maxAttempts: 3,
          classify: nonFatalUnlessSuccess
        })
        const answer = yield* hedged.pipe(
          Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
          Logger.withMinimumLogLevel(LogLevel.All)
        )
        expect(answer).toBe("fine")
        expect(logged).toStrictEqual([])
      })
    )
  }
})
