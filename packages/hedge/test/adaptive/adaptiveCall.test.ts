import { describe, expect, it } from "@effect/vitest"
import { Context } from "effect"
import { type Spec, Tuner } from "../../src/internal/adaptive.js"
import { Latencies } from "../../src/internal/estimator.js"

/** A tuner that has learned that an answer takes 10 ms, and one in 20 of them 1,000 ms, and is told what to do then. */
const told = (
  delays: ReadonlyArray<number>,
  sends: ReadonlyArray<number>,
  rest: Partial<Spec> = {}
): Tuner => {
  const latencies = new Latencies()
  for (let i = 0; i < 200; i++) latencies.root.record(0, i % 20 === 0 ? 1000 : 10, true)
  const spec = {
    solve: () => ({ delays, sends, load: 0 }),
    repeats: false,
    extraLoad: undefined,
    objective: 0.99,
    within: undefined,
    hedges: 2,
    warmUp: 200,
    meanwhile: undefined,
    holdout: 0,
    estimator: undefined,
    ...rest
  }
  const tuner: Tuner = new Tuner(spec, latencies, spec.hedges, () => tuner)
  return tuner
}

const begin = (tuner: Tuner) =>
  tuner.begin(
    {
      startedAt: 0,
      host: { context: Context.empty(), live: false },
      policy: { path: undefined, maxAttempts: 3, estimators: undefined },
      attempts: []
    },
    0
  )

describe("the hedges of a call", () => {
  for (const [name, delays, repeats, expected] of [
    ["none, where none gains anything", [], false, [Infinity]],
    ["one, and no other after it", [10], false, [10, Infinity]],
    ["two, each after the delay since the launch before", [10, 35], false, [10, 25, Infinity]],
    ["all after the same delay, where that holds for all", [10], true, [10, 10, 10]]
  ] as const) {
    it(`are due as the solution says: ${name}`, () => {
      const sends = delays.map(() => 1)
      const call = begin(told(delays, sends, { repeats }))
      const seen = expected.map(() => {
        const delay = call.delay()
        call.onHedge(true)
        return delay
      })
      expect(seen).toStrictEqual(expected)
    })
  }

  it("are sent in the share of calls that the solution says", () => {
    const tuner = told([10], [0.25])
    const delays = Array.from({ length: 400 }, () => begin(tuner).delay())
    expect(new Set(delays)).toStrictEqual(new Set([10, Infinity]))
    expect(delays.filter((delay) => delay === 10).length / 400).toBeCloseTo(0.25, 1)
  })

  it("have not won in calls that nobody has answered", () => {
    const tuner = told([20], [1])
    const hedged = (winner: 0 | undefined) => {
      const call = begin(tuner)
      call.onHedge(true)
      if (winner === 0) call.onPrimaryEnded(40, true)
      call.onSettled(40, winner === 0 ? "Win" : "DeadlineExceeded", winner)
    }
    for (let i = 0; i < 30; i++) for (const winner of [0, undefined] as const) hedged(winner)
    expect(tuner.peek(undefined).guards.at(40)).toBe("Efficacy")
  })
})
