import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect } from "effect"
import { dueTimes, run } from "../../src/tail/load.js"

describe("calls are due", () => {
  it("evenly at a rate", () => {
    expect(dueTimes({ calls: 4, rate: 500, fanOut: 1 })).toEqual([0, 2, 4, 6])
  })

  it("together with the rest of their page, at the same rate of calls", () => {
    expect(dueTimes({ calls: 6, rate: 500, fanOut: 3 })).toEqual([0, 0, 0, 6, 6, 6])
  })

  it("all at once in a burst", () => {
    expect(dueTimes({ calls: 3, rate: null, fanOut: 1 })).toEqual([0, 0, 0])
  })
})

describe("a load", () => {
  const options = {
    load: { calls: 4, rate: null, fanOut: 1 },
    patienceMs: 1_000,
    nameFailure: (cause: Cause.Cause<string>) => String(Cause.squash(cause)),
    onEnded: () => {}
  }

  it.live("records each call at the place where it was due, and failures by name", () =>
    Effect.gen(function* () {
      let calls = 0
      const call = Effect.suspend(() => (++calls % 2 === 0 ? Effect.fail("Even") : Effect.void))
      const { failures, latencies } = yield* run(call, options)
      expect(latencies.map((latency) => latency === null)).toEqual([false, true, false, true])
      expect(failures).toEqual({ Even: 2 })
    })
  )

  it.live("does not wait for ever: what is unanswered is interrupted, and a failure", () =>
    Effect.gen(function* () {
      const { failures, latencies } = yield* run(Effect.never, { ...options, patienceMs: 10 })
      expect(latencies).toEqual([null, null, null, null])
      expect(failures).toEqual({ Unanswered: 4 })
    })
  )

  it.live("says how many have ended", () =>
    Effect.gen(function* () {
      const ended: Array<number> = []
      yield* run(Effect.void, { ...options, onEnded: (n) => ended.push(n) })
      expect(ended).toEqual([1, 2, 3, 4])
    })
  )
})
