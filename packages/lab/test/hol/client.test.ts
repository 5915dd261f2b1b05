import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Client from "../../src/hol/client.js"
import * as Proxy from "../../src/hol/proxy.js"
import { rowOf } from "../../src/hol/row.js"
import type { Connections, HedgeOn, Settings } from "../../src/hol/settings.js"
import * as Upstream from "../../src/hol/upstream.js"

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

/** What the experiment does in four processes, in one. */
const measure = (connections: Connections, hedgeOn: HedgeOn | null = null) =>
  Effect.scoped(
    Effect.gen(function* () {
      const mode = { connections, hedgeOn }
      const { arrivals, certificate, port } = yield* Upstream.make
      const proxy = yield* Proxy.make({ to: port, bandwidth: settings.bandwidth })
      const origin = `https://127.0.0.1:${proxy.port}`
      const client = yield* Client.make({ ...settings, mode, traced: true, certificate, origin })
      const report = yield* client.probe(() => {})
      const measured = { report, arrivals: arrivals(), connections: proxy.connections() }
      return { calls: report.calls, row: rowOf({ mode, rounds: [measured] }, settings.timeoutMs) }
    })
  )

const rowOfMode = (connections: Connections) => Effect.map(measure(connections), ({ row }) => row)

const answered = {
  started: probes,
  ok: probes,
  failed: 0,
  cancelledAtEnd: 0,
  activeStreamsAtStart: streams
}

describe("a client beside its streams, over real connections", () => {
  it.live("shares one connection between streams and probes", () =>
    Effect.gen(function* () {
      const row = yield* rowOfMode("shared")
      expect(row).toMatchObject({ ...answered, sharedConnection: probes, connectionsOpened: 1 })
    })
  )

  it.live("has a connection of its own for probes", () =>
    Effect.gen(function* () {
      const row = yield* rowOfMode("own")
      expect(row).toMatchObject({ ...answered, sharedConnection: 0, connectionsOpened: 2 })
    })
  )

  it.live("has a connection for each request that is under way over HTTP/1.1", () =>
    Effect.gen(function* () {
      const row = yield* rowOfMode("http1")
      expect(row).toMatchObject({ ...answered, sharedConnection: 0 })
      expect(row.connectionsOpened).toBeGreaterThan(streams)
    })
  )

  it.live("has lanes for all, or for long streams apart", () =>
    Effect.gen(function* () {
      const lanes = yield* rowOfMode("lanes")
      expect(lanes).toMatchObject(answered)
      expect(lanes.connectionsOpened).toBeLessThanOrEqual(settings.lanes)
      const apart = yield* rowOfMode("apart")
      expect(apart).toMatchObject({ ...answered, sharedConnection: 0 })
      expect(apart.connectionsOpened).toBeLessThanOrEqual(2 * settings.lanes)
    })
  )

  it.live.each([
    ["shared", "same", 1],
    ["shared", "own", 2]
  ] as const)("%s, hedges on the %s", ([connections, hedgeOn, connectionsOpened]) =>
    Effect.gen(function* () {
      const { calls, row } = yield* measure(connections, hedgeOn)
      expect(row).toMatchObject({ ...answered, connectionsOpened })
      expect(row.hedgesSent).toBeGreaterThan(0)
      expect(row.hedgesWon).toBeLessThanOrEqual(row.hedgesSent)
      // the slowest, which are all of them
      const attempts = calls[0]!.calls.map(({ attempts }) => attempts)
      expect(attempts).toHaveLength(probes)
      expect(attempts.flat()).toHaveLength(probes + row.hedgesSent)
      const hedges = attempts.flatMap(([, ...hedges]) => hedges)
      expect(hedges.filter(({ end }) => end === "Won")).toHaveLength(row.hedgesWon)
    })
  )
})
