import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Schedule, TestClock } from "effect"
import { Hedge, HedgePolicy, HedgeSchedule, HedgeThrottle, LatencyEstimator } from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"
import { settled } from "./support.js"

const throttle = HedgeThrottle.unlimited

/** An estimator that knows of 20 answers, each after the same time. */
const knowing = (elapsed: number) =>
  Effect.tap(LatencyEstimator.make, (estimator) =>
    Effect.repeatN(LatencyEstimator.record(estimator, { elapsed }), 19)
  )

const samplesOf = (estimator: LatencyEstimator.LatencyEstimator) =>
  Effect.map(LatencyEstimator.distribution(estimator), ({ samples }) => samples)

const learning = (estimator: LatencyEstimator.LatencyEstimator) =>
  HedgeSchedule.quantile(0.5, { warmUp: 20, estimator })

/** When the attempts of a call start that nobody answers. */
const startsOf = (schedule: Schedule.Schedule<unknown, HedgeSchedule.HedgeState>) =>
  Effect.gen(function* () {
    const script = yield* HedgeTest.script([{ never: true }], { repeat: true })
    const policy = HedgePolicy.make({ schedule, throttle, maxAttempts: 2 })
    const call = yield* Effect.fork(Hedge.hedge(script.effect, policy))
    yield* settled
    yield* TestClock.adjust("1 second")
    yield* Fiber.interrupt(call)
    return (yield* script.observed).startedAt.map(Math.round)
  })

describe("two schedules that learn, in one policy,", () => {
  for (const [name, combine, expected] of [
    ["the shorter counts", Schedule.union, 10],
    ["the longer counts", Schedule.intersect, 30]
  ] as const) {
    it.effect(`go each by what it has learned: ${name}`, () =>
      Effect.gen(function* () {
        const short = learning(yield* knowing(10))
        const long = learning(yield* knowing(30))
        expect(yield* startsOf(combine(short, long))).toStrictEqual([0, expected])
        expect(yield* startsOf(combine(long, short))).toStrictEqual([0, expected])
      })
    )
  }

  it.effect("are each told of the answers, and neither twice", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* LatencyEstimator.make, yield* LatencyEstimator.make]
      const policy = HedgePolicy.make({
        schedule: Schedule.union(learning(first), learning(second)),
        throttle
      })
      const script = yield* HedgeTest.script([{ after: 10, succeed: 1 }], { repeat: true })
      for (let i = 0; i < 3; i++) {
        const call = yield* Effect.fork(Hedge.hedge(script.effect, policy))
        yield* settled
        yield* TestClock.adjust(10)
        yield* Fiber.join(call)
      }
      expect(yield* samplesOf(first)).toBe(3)
      expect(yield* samplesOf(second)).toBe(3)
    })
  )

  it.effect("send a hedge when both agree: while one warms up, none", () =>
    Effect.gen(function* () {
      const ready = learning(yield* knowing(10))
      const young = learning(yield* LatencyEstimator.make)
      expect(yield* startsOf(Schedule.union(ready, young))).toStrictEqual([0])
      expect(yield* startsOf(Schedule.union(young, ready))).toStrictEqual([0])
    })
  )
})
