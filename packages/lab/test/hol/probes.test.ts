import { describe, expect, it } from "@effect/vitest"
import { type Cause, Effect } from "effect"
import { type Options, run } from "../../src/hol/probes.js"

const options: Options<string> = {
  pace: { _tag: "Every", ms: 10 },
  durationMs: 45,
  timeoutMs: 1_000,
  nameFailure: (cause: Cause.Cause<string>) => (cause._tag === "Fail" ? cause.error : cause._tag),
  onStarted: () => {}
}

describe("probes", () => {
  it.live("are sent every so often, whatever became of those before", () =>
    Effect.gen(function* () {
      const seen: Array<number> = []
      const outcomes = yield* run((index) => {
        seen.push(index)
        return index === 1 ? Effect.fail("Broken") : Effect.void
      }, options)
      expect(seen).toEqual([0, 1, 2, 3, 4])
      expect(outcomes.latencies.map((latency) => latency === null)).toEqual([
        false,
        true,
        false,
        false,
        false
      ])
      expect(outcomes.failures).toEqual({ Broken: 1 })
    })
  )

  it.live("are sent one at a time with a pause after each", () =>
    Effect.gen(function* () {
      let running = 0
      let most = 0
      let started = 0
      const probe = Effect.acquireUseRelease(
        Effect.sync(() => {
          most = Math.max(most, ++running)
        }),
        () => Effect.sleep("5 millis"),
        () => Effect.sync(() => running--)
      )
      const pace = { _tag: "OneAtATime", pauseMs: 1 } as const
      const onStarted = (n: number) => {
        started = n
      }
      const { latencies } = yield* run(() => probe, { ...options, pace, onStarted })
      expect(most).toBe(1)
      expect(latencies).toHaveLength(started)
      expect(started).toBeGreaterThan(0)
    })
  )

  it.live("in flight at the end are waited for until they must have timed out, and then cancelled", () =>
    Effect.gen(function* () {
      const outcomes = yield* run((index) => (index === 0 ? Effect.sleep("60 millis") : Effect.never), {
        ...options,
        timeoutMs: 1
      })
      expect(outcomes.latencies.map((latency) => latency === null)).toEqual([false, true, true, true, true])
      expect(outcomes.failures).toEqual({ Unanswered: 4 })
    })
  )
})
