import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit, type Fiber, Logger, Schedule, TestClock } from "effect"
import { Hedge, HedgeEvent, HedgeOutcome, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"
import { type AnyOptions, call, poll, roots, settled, start } from "./support.js"

const never = { never: true } as const

const boom = (): never => {
  throw "boom"
}

const isInterruption = (exit: Exit.Exit<unknown, unknown> | null): boolean =>
  exit !== null && Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)

/** Keeps what is logged while an effect runs. */
const logged = <A, E, R>(effect: (log: ReadonlyArray<string>) => Effect.Effect<A, E, R>) => {
  const log: Array<string> = []
  const logger = Logger.make(({ cause, message }) => {
    log.push(`${String(message)}: ${Cause.pretty(cause)}`)
  })
  return effect(log).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
}

const tags = [
  "CallStarted",
  "AttemptStarted",
  "AttemptEnded",
  "HedgeSuppressed",
  "Discarded",
  "CallEnded"
] as const

/** A call in which everything happens: a rejected primary, a refused hedge, a late success, a win. */
const eventful = Effect.gen(function* () {
  let refused = false
  const script = yield* HedgeTest.script<number, string>([
    { after: 10, succeed: 0 },
    { after: 500, uninterruptibleFrom: 0, succeed: 1 },
    { after: 100, succeed: 2 }
  ])
  const hedged = call(script, HedgeSchedule.fixed(80), {
    maxAttempts: 3,
    classify: (exit) =>
      Exit.isSuccess(exit) && exit.value === 0 ? HedgeOutcome.nonFatal() : HedgeOutcome.win,
    gates: [
      ({ attempt }) => {
        if (attempt !== 2 || refused) return undefined
        refused = true
        return "once"
      }
    ]
  })
  return { script, hedged }
})

describe("C21: a listener", () => {
  it.effect("that throws at no event at all, sees each kind of them: the next tests are not idle", () =>
    Effect.gen(function* () {
      const recorder = yield* HedgeTest.recordEvents
      const { hedged } = yield* eventful
      yield* Effect.fork(hedged.pipe(Effect.provide(recorder.layer)))
      yield* TestClock.adjust("1 minute")
      const seen = new Set((yield* recorder.events).map(({ _tag }) => _tag))
      expect([...seen].sort()).toStrictEqual([...tags].sort())
    })
  )

  for (const tag of tags) {
    it.effect(`that wants ${tag} alone is told of nothing else, whatever others want`, () =>
      Effect.gen(function* () {
        const recorder = yield* HedgeTest.recordEvents
        const told: Array<HedgeEvent.HedgeEvent> = []
        const { hedged } = yield* eventful
        const listener = HedgeEvent.layer({ only: [tag], onEvent: (event) => told.push(event) })
        yield* Effect.fork(hedged.pipe(Effect.provide(recorder.layer), Effect.provide(listener)))
        yield* TestClock.adjust("1 minute")
        expect(told.length).toBeGreaterThan(0)
        expect(told).toStrictEqual(yield* recorder.tagged(tag))
      })
    )

    it.effect(`that wants ${tag} alone needs no other listener for it`, () =>
      Effect.gen(function* () {
        const told: Array<HedgeEvent.HedgeEvent["_tag"]> = []
        const { hedged } = yield* eventful
        const listener = HedgeEvent.layer({ only: [tag], onEvent: ({ _tag }) => told.push(_tag) })
        yield* Effect.fork(hedged.pipe(Effect.provide(listener)))
        yield* TestClock.adjust("1 minute")
        expect(new Set(told)).toStrictEqual(new Set([tag]))
      })
    )

    it.effect(`that throws at ${tag} harms neither the call nor the other listeners, and is logged`, () =>
      logged((log) =>
        Effect.gen(function* () {
          const before = yield* roots
          const recorder = yield* HedgeTest.recordEvents
          const listener: HedgeEvent.Listener = { onEvent: ({ _tag }) => (_tag === tag ? boom() : undefined) }
          const { script, hedged } = yield* eventful
          const fiber = yield* Effect.fork(
            hedged.pipe(Effect.provide(recorder.layer), Effect.provide(HedgeEvent.layer(listener)))
          )
          yield* TestClock.adjust("1 minute")
          yield* settled
          expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(2))
          expect((yield* script.observed).discarded).toStrictEqual([0, 1])
          const count = (yield* recorder.tagged(tag)).length
          expect(count).toBeGreaterThan(0)
          expect(log.filter((line) => line.includes("boom"))).toHaveLength(count)
          expect(yield* roots).toBe(before)
        })
      )
    )
  }

  it.effect("that throws when it is asked for a span harms nothing", () =>
    logged((log) =>
      Effect.gen(function* () {
        const listener: HedgeEvent.Listener = { onEvent: () => {}, spanOf: boom }
        const script = yield* HedgeTest.script([{ succeed: 1 }])
        const hedged = call(script, HedgeSchedule.fixed(80))
        expect(yield* hedged.pipe(Effect.provide(HedgeEvent.layer(listener)))).toBe(1)
        expect(log).toHaveLength(1)
      })
    )
  )
})

describe("C56: a listener", () => {
  for (const tag of tags) {
    it.effect(`that runs a hedged call at ${tag} gets its answer, and harms nothing`, () =>
      Effect.gen(function* () {
        const answers: Array<string> = []
        const listener: HedgeEvent.Listener = {
          onEvent: ({ _tag }) => {
            if (_tag !== tag) return
            const attempt = Effect.suspend(() =>
              answers.length % 2 === 0 ? Effect.succeed("a") : Effect.succeed("b")
            )
            answers.push(
              Effect.runSync(
                Hedge.hedge(attempt, { schedule: HedgeSchedule.parallel, throttle: HedgeThrottle.unlimited })
              )
            )
          }
        }
        const { script, hedged } = yield* eventful
        const fiber = yield* Effect.fork(hedged.pipe(Effect.provide(HedgeEvent.layer(listener))))
        yield* TestClock.adjust("1 minute")
        expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(2))
        expect((yield* script.observed).discarded).toStrictEqual([0, 1])
        expect(answers.length).toBeGreaterThan(0)
      })
    )

    it.effect(
      `that interrupts the caller at ${tag}: it ends interrupted, and every success is accounted for`,
      () =>
        Effect.gen(function* () {
          const before = yield* roots
          let caller: Fiber.RuntimeFiber<unknown, unknown> | undefined
          let done = false
          const listener: HedgeEvent.Listener = {
            onEvent: (event) => {
              if (event._tag === "CallStarted") caller = event.caller
              if (event._tag !== tag || done) return
              done = true
              caller!.unsafeInterruptAsFork(caller!.id())
            }
          }
          const { script, hedged } = yield* eventful
          const taken: Array<number> = []
          const fiber = yield* Effect.fork(
            hedged.pipe(
              Effect.map((value) => {
                taken.push(value)
              }),
              Effect.provide(HedgeEvent.layer(listener))
            )
          )
          yield* TestClock.adjust("1 minute")
          yield* settled
          expect(done).toBe(true)
          const { successes, discarded, inFlight } = yield* script.observed
          expect(taken.length + discarded.length).toBe(successes)
          expect(new Set([...taken, ...discarded]).size).toBe(successes)
          expect(inFlight).toBe(0)
          // the late success is discarded after the caller has had its answer
          if (taken.length === 0) expect(isInterruption(yield* poll(fiber))).toBe(true)
          expect(yield* roots).toBe(before)
        })
    )
  }
})

describe("C21: a call dies of a defect, its attempts interrupted, when", () => {
  interface Case {
    readonly name: string
    readonly schedule?: Schedule.Schedule<unknown, HedgeSchedule.HedgeState>
    readonly rest: Omit<AnyOptions<string, string>, "schedule">
    readonly attempts?: ReadonlyArray<HedgeTest.ScriptedAttempt<string, string>>
    /** Attempts that have been launched by then, and those still in flight that must be interrupted. */
    readonly starts: number
    readonly interruptions: number
  }
  const throttle = (questions: Partial<HedgeThrottle.HedgeThrottle.Questions>) =>
    HedgeThrottle.make({ name: "broken", refusedBy: () => undefined, take: () => {}, ...questions })
  const dying = Schedule.addDelayEffect(Schedule.forever, () => Effect.die("boom"))
  const later = Schedule.addDelayEffect(Schedule.forever, (n) =>
    n === 0 ? Effect.succeed(5) : Effect.die("boom")
  )
  const slow = Schedule.addDelayEffect(Schedule.forever, () =>
    Effect.zipRight(Effect.sleep(7), Effect.die("boom"))
  )
  const failing: HedgeTest.ScriptedAttempt<string, string> = { after: 20, fail: "down" }
  const cases: ReadonlyArray<Case> = [
    {
      name: "classify throws on a failure",
      rest: { classify: (exit) => (Exit.isFailure(exit) ? boom() : HedgeOutcome.win) },
      attempts: [never, failing],
      starts: 2,
      interruptions: 1
    },
    {
      name: "classify throws on a success",
      rest: { classify: boom },
      attempts: [never, { after: 20, succeed: "lost" }],
      starts: 2,
      interruptions: 1
    },
    {
      name: "classify throws on a primary's success",
      rest: { classify: boom },
      attempts: [{ after: 20, succeed: "lost" }, never],
      starts: 2,
      interruptions: 1
    },
    {
      name: "classify gives no outcome",
      rest: { classify: () => undefined as never },
      attempts: [failing, never],
      starts: 2,
      interruptions: 1
    },
    { name: "a gate throws", rest: { gates: [boom] }, starts: 1, interruptions: 1 },
    {
      name: "the throttle throws at the start",
      rest: { throttle: throttle({ onCall: boom }) },
      starts: 1,
      interruptions: 1
    },
    {
      name: "the throttle throws when asked",
      rest: { throttle: throttle({ refusedBy: boom }) },
      starts: 1,
      interruptions: 1
    },
    {
      name: "the throttle throws when charged",
      rest: { throttle: throttle({ take: boom }) },
      starts: 1,
      interruptions: 1
    },
    {
      name: "the throttle throws at an outcome",
      rest: { throttle: throttle({ onOutcome: boom }) },
      attempts: [never, { after: 20, succeed: "lost" }],
      starts: 2,
      interruptions: 1
    },
    {
      name: "the throttle throws at a hedge's end",
      rest: { throttle: throttle({ onHedgeEnd: boom }) },
      attempts: [never, { after: 20, succeed: "lost" }],
      starts: 2,
      interruptions: 1
    },
    { name: "the schedule dies at once", schedule: dying, rest: {}, starts: 1, interruptions: 1 },
    {
      name: "the schedule dies at a later step",
      schedule: later,
      rest: { maxAttempts: 4 },
      starts: 2,
      interruptions: 2
    },
    {
      name: "the schedule dies in the middle of a step",
      schedule: slow,
      rest: {},
      starts: 1,
      interruptions: 1
    },
    {
      name: "an onDiscard throws before the end",
      rest: { maxAttempts: 2, classify: () => HedgeOutcome.nonFatal(), onDiscard: boom },
      attempts: [never, { after: 20, succeed: "poor" }],
      starts: 2,
      interruptions: 1
    },
    {
      name: "an onDiscard dies before the end",
      rest: {
        maxAttempts: 2,
        classify: () => HedgeOutcome.nonFatal(),
        onDiscard: () => Effect.zipRight(Effect.sleep(50), Effect.die("boom"))
      },
      attempts: [never, { after: 20, succeed: "poor" }],
      starts: 2,
      interruptions: 1
    }
  ]
  for (const { name, schedule, rest, attempts, starts, interruptions } of cases) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const before = yield* roots
        const recorder = yield* HedgeTest.recordEvents
        const script = yield* HedgeTest.script<string, string>(attempts ?? [never, never, never])
        const fiber = yield* start(script, schedule ?? HedgeSchedule.fixed(5), rest).pipe(
          Effect.provide(recorder.layer)
        )
        yield* TestClock.adjust("1 minute")
        yield* settled
        const exit = yield* poll(fiber)
        expect(exit !== null && Exit.isFailure(exit) && Cause.isDie(exit.cause)).toBe(true)
        if (!name.includes("no outcome")) expect(exit).toStrictEqual(Exit.die("boom"))
        expect(yield* script.observed).toMatchObject({ starts, interruptions, inFlight: 0 })
        expect((yield* recorder.tagged("CallEnded")).map(({ outcome }) => outcome)).toStrictEqual(["Defect"])
        expect(yield* roots).toBe(before)
      })
    )
  }

  for (const [who, rest] of [
    ["classify", { classify: boom }],
    ["the throttle, at an outcome,", { throttle: throttle({ onOutcome: boom }) }],
    ["the throttle, at a hedge's end,", { throttle: throttle({ onHedgeEnd: boom }) }]
  ] as const) {
    it.effect(`${who} throws: a success that it was told of is discarded, once`, () =>
      Effect.gen(function* () {
        const script = yield* HedgeTest.script<string, never>([never, { after: 20, succeed: "lost" }])
        const fiber = yield* start(script, HedgeSchedule.fixed(5), rest)
        yield* TestClock.adjust("1 minute")
        expect(yield* poll(fiber)).toStrictEqual(Exit.die("boom"))
        expect((yield* script.observed).discarded).toStrictEqual(["lost"])
      })
    )
  }

  it.effect("a schedule's step interrupts itself: the call ends and hangs not", () =>
    Effect.gen(function* () {
      const script = yield* HedgeTest.script([never])
      const schedule = Schedule.addDelayEffect(Schedule.forever, () => Effect.interrupt)
      const fiber = yield* start(script, schedule)
      yield* settled
      expect(isInterruption(yield* poll(fiber))).toBe(true)
      expect(yield* script.observed).toMatchObject({ interruptions: 1, inFlight: 0 })
    })
  )
})

describe("C21: after the call has ended", () => {
  for (const [how, onDiscard] of [
    ["throws", boom],
    ["dies", () => Effect.die("boom")],
    ["dies later", () => Effect.zipRight(Effect.sleep(100), Effect.die("boom"))]
  ] as const) {
    it.effect(`an onDiscard that ${how} is logged and changes nothing`, () =>
      logged((log) =>
        Effect.gen(function* () {
          const before = yield* roots
          const script = yield* HedgeTest.script([
            { after: 500, uninterruptibleFrom: 0, succeed: "late" },
            { after: 10, succeed: "winner" }
          ])
          const fiber = yield* start(script, HedgeSchedule.fixed(5), { onDiscard })
          yield* TestClock.adjust("1 minute")
          yield* settled
          expect(yield* poll(fiber)).toStrictEqual(Exit.succeed("winner"))
          expect(log).toHaveLength(1)
          expect(log[0]).toMatch(/onDiscard.*failed.*boom/s)
          expect(yield* roots).toBe(before)
        })
      )
    )
  }

  it.effect(
    "a throttle that throws at a late hedge's end changes nothing, and its success is discarded",
    () =>
      Effect.gen(function* () {
        const throttle = HedgeThrottle.make({
          name: "broken",
          refusedBy: () => undefined,
          take: () => {},
          onHedgeEnd: boom
        })
        const script = yield* HedgeTest.script([
          { after: 100, succeed: "winner" },
          { after: 500, uninterruptibleFrom: 0, succeed: "late" }
        ])
        const fiber = yield* start(script, HedgeSchedule.fixed(5), { throttle })
        yield* TestClock.adjust("1 minute")
        expect(yield* poll(fiber)).toStrictEqual(Exit.succeed("winner"))
        expect((yield* script.observed).discarded).toStrictEqual(["late"])
      })
  )

  it.effect(
    "a throttle whose count of tokens throws changes nothing, with a listener that would be told of it",
    () =>
      Effect.gen(function* () {
        const recorder = yield* HedgeTest.recordEvents
        const throttle = HedgeThrottle.make({
          name: "broken",
          refusedBy: () => undefined,
          take: () => {},
          tokens: boom
        })
        const script = yield* HedgeTest.script([{ after: 10, succeed: 1 }])
        const fiber = yield* start(script, HedgeSchedule.fixed(80), { throttle }).pipe(
          Effect.provide(recorder.layer)
        )
        yield* TestClock.adjust(10)
        expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(1))
        expect((yield* recorder.tagged("CallEnded")).map(({ tokens }) => tokens)).toStrictEqual([undefined])
      })
  )
})

describe("C56: user code that interrupts the caller from within", () => {
  const interruptors = {
    classify: (interrupt: () => void) => ({
      classify: (exit: Exit.Exit<number, string>) => {
        interrupt()
        return HedgeOutcome.fromExit(exit)
      }
    }),
    "a gate": (interrupt: () => void) => ({
      gates: [
        () => {
          interrupt()
          return undefined
        }
      ]
    }),
    "the throttle": (interrupt: () => void) => ({
      throttle: HedgeThrottle.make({ name: "interrupting", refusedBy: () => undefined, take: interrupt })
    })
  }
  for (const [who, rest] of Object.entries(interruptors)) {
    it.effect(`by ${who}: the caller ends interrupted, nothing is left, every success is accounted for`, () =>
      Effect.gen(function* () {
        const before = yield* roots
        const script = yield* HedgeTest.script<number, string>([
          { after: 500, uninterruptibleFrom: 0, succeed: 0 },
          { after: 20, succeed: 1 }
        ])
        let taken = 0
        const fiber = yield* Effect.fork(
          Effect.withFiberRuntime<void, string | Hedge.HedgeError>((caller) =>
            Effect.map(
              call(
                script,
                HedgeSchedule.fixed(80),
                rest(() => caller.unsafeInterruptAsFork(caller.id()))
              ),
              () => {
                taken += 1
              }
            )
          )
        )
        yield* TestClock.adjust("1 minute")
        yield* settled
        expect(isInterruption(yield* poll(fiber))).toBe(true)
        const { successes, discarded, inFlight } = yield* script.observed
        expect({ taken, inFlight }).toStrictEqual({ taken: 0, inFlight: 0 })
        expect(discarded).toHaveLength(successes)
        expect(yield* roots).toBe(before)
      })
    )
  }
})
