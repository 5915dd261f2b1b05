import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { run } from "../../src/hol/experiment.js"
import { rowOf } from "../../src/hol/row.js"
import type { Mode, Settings } from "../../src/hol/settings.js"

const streams = 6

const settings: Omit<Settings, "modes"> = {
  background: Array(streams).fill({ _tag: "Events", bytesPerSecond: 1_024, lastsMs: 60_000 }),
  bandwidth: { down: 10_000_000, up: 10_000_000 },
  window: 524_288,
  lanes: 3,
  hedging: { afterMs: 0, extraLoad: null },
  pace: { _tag: "Every", ms: 50 },
  timeoutMs: 20_000,
  durationMs: 500,
  settleMs: 0,
  rounds: 1
}

const probes = settings.durationMs / 50

const rowsOf = (modes: ReadonlyArray<Mode>, changed: Partial<Settings> = {}) =>
  Effect.map(
    run({ ...settings, ...changed, modes }, () => {}),
    (results) => results.map((result) => rowOf(result, settings.timeoutMs))
  )

const answered = {
  started: probes,
  ok: probes,
  failed: 0,
  cancelledAtEnd: 0,
  activeStreamsAtStart: streams
}

describe("the experiment, over real connections", { timeout: 120_000 }, () => {
  it.live("shares a connection or not as its mode says", () =>
    Effect.gen(function* () {
      const [shared, own, http1, lanes, apart] = yield* rowsOf([
        { connections: "shared", hedgeOn: null },
        { connections: "own", hedgeOn: null },
        { connections: "http1", hedgeOn: null },
        { connections: "lanes", hedgeOn: null },
        { connections: "apart", hedgeOn: null }
      ])
      expect(shared).toMatchObject({ ...answered, sharedConnection: probes, connectionsOpened: 1 })
      expect(own).toMatchObject({ ...answered, sharedConnection: 0, connectionsOpened: 2 })
      expect(http1).toMatchObject({ ...answered, sharedConnection: 0 })
      expect(http1!.connectionsOpened).toBeGreaterThan(streams)
      expect(lanes).toMatchObject(answered)
      expect(lanes!.connectionsOpened).toBeLessThanOrEqual(3)
      expect(apart).toMatchObject({ ...answered, sharedConnection: 0 })
    })
  )

  it.live("sends hedges where its mode says, as many as its throttle allows", () =>
    Effect.gen(function* () {
      const hedged: ReadonlyArray<Mode> = [
        { connections: "shared", hedgeOn: "same" },
        { connections: "shared", hedgeOn: "own" },
        { connections: "lanes", hedgeOn: "same" }
      ]
      const [same, own, lanes] = yield* rowsOf(hedged)
      expect(same).toMatchObject({ ...answered, mode: "shared-hedged", connectionsOpened: 1 })
      expect(own).toMatchObject({ ...answered, mode: "shared-hedged-own", connectionsOpened: 2 })
      expect(lanes).toMatchObject({ ...answered, mode: "lanes-hedged" })
      for (const row of [same!, own!, lanes!]) {
        expect(row.hedgesSent).toBeGreaterThan(0)
        expect(row.hedgesWon).toBeLessThanOrEqual(row.hedgesSent)
      }
    })
  )

  it.live("sends one probe at a time, and calls a probe without an answer in time a failure", () =>
    Effect.gen(function* () {
      const mode: Mode = { connections: "own", hedgeOn: null }
      const pace = { _tag: "OneAtATime", pauseMs: 100 } as const
      // so narrow a way up that not even the handshake is over by then
      const bandwidth = { down: 10_000_000, up: 1 }
      const background = [{ _tag: "Events", bytesPerSecond: 1_024, lastsMs: 60_000 }] as const
      const changed = { pace, bandwidth, background, timeoutMs: 200, durationMs: 1_000 }
      const [row] = yield* rowsOf([mode], changed)
      expect(row).toMatchObject({ ok: 0, cancelledAtEnd: 0, meanMs: settings.timeoutMs })
      expect(row!.failed).toBe(row!.started)
      expect(row!.started).toBeGreaterThan(0)
      expect(row!.started).toBeLessThan(10)
    })
  )
})
