/**
 * An example: how to test code that hedges. Attempts are written down as data, and time passes when the test says so.
 */
import { expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, TestClock } from "effect"
import {
  Hedge,
  type HedgeAttempt,
  HedgeOutcome,
  HedgePolicy,
  HedgeSchedule,
  HedgeThrottle
} from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"

// the code under test: a search over replicas, in which a fast empty answer is not good enough

type Hits = ReadonlyArray<string>

const policy = HedgePolicy.make({
  schedule: HedgeSchedule.fixed("80 millis"),
  maxAttempts: 3,
  deadline: "1 second",
  classify: (exit: Exit.Exit<Hits, string>) =>
    Exit.isSuccess(exit) && exit.value.length === 0 ? HedgeOutcome.nonFatal() : HedgeOutcome.fromExit(exit)
})

const search = (replica: (attempt: HedgeAttempt.HedgeAttempt) => Effect.Effect<Hits, string>) =>
  Hedge.hedgeWith(replica, policy)

// its tests; each has a throttle of its own, or one test's hedges would be missing in the next one's budget

it.effect("asks a second replica after 80 ms and takes its answer", () =>
  Effect.gen(function* () {
    const script = yield* HedgeTest.script<Hits, string>([
      { after: "700 millis", succeed: ["late"] },
      { after: "20 millis", succeed: ["tea"] }
    ])
    const call = yield* Effect.fork(search(script.attempt))
    yield* TestClock.adjust("100 millis")
    expect(yield* Fiber.join(call)).toEqual(["tea"])
    expect(yield* script.observed).toMatchObject({ startedAt: [0, 80], interruptions: 1 })
  }).pipe(Effect.provide(HedgeTest.layer))
)

it.effect("does not let a fast empty answer win", () =>
  Effect.gen(function* () {
    const script = yield* HedgeTest.script<Hits, string>([
      { after: "10 millis", succeed: [] },
      { after: "50 millis", succeed: ["tea"] }
    ])
    const call = yield* Effect.fork(search(script.attempt))
    yield* TestClock.adjust("60 millis")
    expect(yield* Fiber.join(call)).toEqual(["tea"])
    expect(yield* script.observed).toMatchObject({ startedAt: [0, 10] })
  }).pipe(Effect.provide(HedgeTest.layer))
)

it.effect("fails at the deadline, and says what each attempt was doing", () =>
  Effect.gen(function* () {
    const script = yield* HedgeTest.script<Hits, string>([{ never: true }, { never: true }, { never: true }])
    const call = yield* Effect.fork(Effect.flip(search(script.attempt)))
    yield* TestClock.adjust("1 second")
    expect(yield* Fiber.join(call)).toMatchObject({
      reason: "DeadlineExceeded",
      attempts: [{ status: "Running" }, { status: "Running" }, { status: "Running" }]
    })
  }).pipe(Effect.provide(HedgeTest.layer))
)

it.effect("sends no hedge when the budget is spent, and says so", () =>
  Effect.gen(function* () {
    const script = yield* HedgeTest.script<Hits, string>([{ after: "300 millis", succeed: ["tea"] }])
    const recorder = yield* HedgeTest.recordEvents
    const spent = HedgeThrottle.loadBudget({ extraLoad: 0.1, burst: 0 })
    const call = yield* search(script.attempt).pipe(
      Effect.provide(recorder.layer),
      Effect.provideService(HedgeThrottle.Default, spent),
      Effect.fork
    )
    yield* TestClock.adjust("300 millis")
    expect(yield* Fiber.join(call)).toEqual(["tea"])
    expect(yield* recorder.tagged("HedgeSuppressed")).toMatchObject([
      { reason: "Throttled", throttle: "loadBudget" },
      { reason: "Throttled", throttle: "loadBudget" },
      { reason: "Throttled", throttle: "loadBudget" }
    ])
  })
)
