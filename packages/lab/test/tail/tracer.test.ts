import { expect, it } from "@effect/vitest"
import { Effect, Fiber, TestClock } from "effect"
import { Hedge, HedgeSchedule } from "effect-hedge"
import { now } from "../../src/clock.js"
import { run } from "../../src/tail/experiment.js"
import type { ClientReport } from "../../src/tail/protocol.js"
import type { Settings, Side } from "../../src/tail/settings.js"
import { Tracer } from "../../src/tail/tracer.js"

it.effect(
  "an attempt that is cut off, one that fails and one that wins, each by when it was sent and ended",
  () =>
    Effect.gen(function* () {
      const attempts = [
        Effect.never,
        Effect.delay(Effect.fail("no"), "5 millis"),
        Effect.delay(Effect.void, "10 millis")
      ]
      const call = Hedge.hedgeWith(({ index }) => attempts[index]!, {
        schedule: HedgeSchedule.fixed("20 millis"),
        maxAttempts: 3
      })
      const tracer = new Tracer()
      const fiber = yield* tracer
        .mark(Effect.ignore(call), 0, now())
        .pipe(Effect.provide(tracer.layer), Effect.fork)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
      const { groups } = tracer.trace({ calls: 1, rate: 500, fanOut: 1 }, [35])
      const [{ attempts: traced, ...rest } = { attempts: [] }] = groups[0]!.calls
      expect(rest).toEqual({ number: 1, dueMs: 0, tookMs: 35 })
      const startedMs = traced[0]!.startMs
      expect(
        traced.map(({ end, endMs, startMs }) => [
          end,
          Math.round(startMs - startedMs),
          Math.round(endMs - startedMs)
        ])
      ).toEqual([
        ["CutOff", 0, 35],
        ["Failed", 20, 25],
        ["Won", 25, 35]
      ])
    })
)

const settings: Settings = {
  target: {
    _tag: "Own",
    latency: {
      _tag: "Uniform",
      fast: { min: 1, max: 5 },
      slow: { min: 300, max: 350 },
      slowShare: 0.1
    },
    seed: 1,
    keepsWorking: false
  },
  load: { calls: 200, rate: 500, fanOut: 1 },
  hedging: { delayMs: 20, maxAttempts: 3, extraLoad: 0.5 },
  timeoutMs: null,
  transport: "undici",
  warmUp: 0,
  rounds: 1
}

it.live(
  "the calls of a real client are those that it measured, and the extra load is that of all of them",
  () =>
    Effect.gen(function* () {
      const reports: Array<readonly [Side, ClientReport]> = []
      yield* run(
        settings,
        () => {},
        (side, report) => reports.push([side, report])
      )
      expect(reports.map(([side]) => side)).toEqual(["plain", "hedged"])
      const [plain, hedged] = reports.map(([, report]) => report)
      expect(plain!.trace).toBeNull()
      const { extraLoad, groups } = hedged!.trace!
      expect(groups[0]!.calls).toHaveLength(12)
      for (const { attempts, dueMs, number, tookMs } of groups.flatMap(({ calls }) => calls)) {
        expect(dueMs).toBe((number - 1) * 2)
        expect(tookMs).toBe(hedged!.latencies[number - 1])
        expect(attempts.filter(({ end }) => end === "Won")).toHaveLength(1)
      }
      const meanLoad = extraLoad.reduce((sum, stretch) => sum + stretch.extraLoad, 0) / extraLoad.length
      expect(meanLoad).toBeCloseTo(hedged!.hedges.sent / 200)
    })
)
