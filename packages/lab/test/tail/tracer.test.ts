import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { run } from "../../src/tail/experiment.js"
import type { ClientReport } from "../../src/tail/protocol.js"
import type { Settings, Side } from "../../src/tail/settings.js"

const slow = { min: 3_000, max: 3_500 }

const settings: Settings = {
  target: {
    _tag: "Own",
    // so slow that on the busiest machine a loser is cut off before it has answered
    latency: { _tag: "Uniform", fast: { min: 1, max: 5 }, slow, slowShare: 0.1 },
    seed: 1,
    keepsWorking: false
  },
  load: { calls: 200, rate: 500, fanOut: 1 },
  hedging: { delayMs: 20, maxAttempts: 3, extraLoad: 0.5 },
  timeoutMs: 2_000,
  warmUp: 0,
  rounds: 1
}

it.live(
  "each call that is shown tells what became of its attempts, and the extra load is that of all calls",
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
      expect(groups.map(({ calls }) => calls.length)[0]).toBe(12)
      for (const { calls } of groups) {
        for (const { attempts, dueMs, number, tookMs } of calls) {
          expect(dueMs).toBe((number - 1) * 2)
          expect(tookMs).toBe(hedged!.latencies[number - 1])
          const won = attempts.filter(({ end }) => end === "Won").length
          // the body of an answer that has won may still come too late
          if (tookMs === null) expect(won).toBeLessThanOrEqual(1)
          else expect(won).toBe(1)
          for (const { endMs, startMs } of attempts) expect(endMs).toBeGreaterThanOrEqual(startMs)
          for (const { end, endMs } of attempts) {
            // the body is read when the headers have won
            if (end === "Won" && tookMs !== null) expect(endMs).toBeLessThanOrEqual(tookMs)
          }
        }
      }
      expect(groups[1]!.calls.every(({ attempts }) => attempts.length > 1)).toBe(true)
      const meanLoad = extraLoad.reduce((sum, stretch) => sum + stretch.extraLoad, 0) / extraLoad.length
      expect(meanLoad).toBeCloseTo(hedged!.hedges.sent / 200)
    })
)
