import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { measure } from "../../src/tail/experiment.js"
import { type OwnTarget, type Settings, transports } from "../../src/tail/settings.js"

const latency = {
  _tag: "Uniform",
  fast: { min: 1, max: 5 },
  slow: { min: 50, max: 100 },
  slowShare: 0.1
} as const

const target: OwnTarget = {
  _tag: "Own",
  latency,
  seed: 1,
  keepsWorking: false
}

const settings: Settings = {
  target,
  load: { calls: 200, rate: 500, fanOut: 1 },
  hedging: { delayMs: 10, maxAttempts: 3, extraLoad: 0.5 },
  transport: "undici",
  timeoutMs: null,
  warmUp: 20,
  rounds: 1
}

it.live.each(transports)(
  "200 plain calls to a real server by %s: 200 answers, one request each",
  (transport) =>
    Effect.gen(function* () {
      let ended = 0
      const summary = yield* measure({ ...settings, transport }, "plain", 0, (n) => {
        ended = n
      })
      expect(summary).toMatchObject({
        count: 200,
        failures: 0,
        requestsPerCall: 1,
        hedgeRate: 0,
        loserMeanMs: null
      })
      expect(summary.p50).toBeGreaterThan(0)
      expect(ended).toBe(200)
    })
)

it.live.each(transports)(
  "200 hedged calls by %s: 200 answers, hedges within the budget, losers cancelled at the server",
  (transport) =>
    Effect.gen(function* () {
      // so slow that on the busiest machine a loser is cut off before it has answered
      const slow = { min: 5_000, max: 6_000 }
      const summary = yield* measure(
        { ...settings, transport, target: { ...target, latency: { ...latency, slow } }, warmUp: 0 },
        "hedged",
        0
      )
      expect(summary).toMatchObject({ count: 200, failures: 0 })
      expect(summary.hedgeRate).toBeGreaterThan(0)
      expect(summary.requestsPerCall).toBeLessThanOrEqual(1 + 0.5 + 10 / 200)
      expect(summary.loserMeanMs).not.toBeNull()
      expect(summary.afterCancelMeanMs).not.toBeNull()
    })
)

it.live("a call that times out is a failure, and the server notices that its client has gone", () =>
  Effect.gen(function* () {
    const never = {
      ...target,
      latency: { ...latency, fast: { min: 60_000, max: 60_000 }, slowShare: 0 }
    }
    const load = { calls: 10, rate: null, fanOut: 1 }
    const summary = yield* measure(
      { ...settings, target: never, load, timeoutMs: 300, warmUp: 0 },
      "plain",
      0
    )
    expect(summary).toMatchObject({ count: 10, failures: 10, failureKinds: { Timeout: 10 }, p50: Infinity })
    expect(summary.loserMeanMs).not.toBeNull()
    expect(summary.afterCancelMeanMs).not.toBeNull()
  })
)

it.live("a policy that learns has learned from the calls before, and says what", () =>
  Effect.gen(function* () {
    const adaptive = { ...settings, hedging: { delayMs: null, maxAttempts: 2, extraLoad: 0.5 }, warmUp: 200 }
    const { learned, ...summary } = yield* measure(adaptive, "hedged", 0)
    expect(summary).toMatchObject({ count: 200, failures: 0 })
    expect(summary.suppressed).not.toHaveProperty("WarmUp")
    expect(learned?.samples).toBeGreaterThanOrEqual(200)
    expect(learned?.p99.unhedged).toBeGreaterThan(0)
    expect((yield* measure(settings, "plain", 0)).learned).toBeNull()
  })
)

it.live("credentials go with every request to a server that is not ours", () =>
  Effect.gen(function* () {
    const headers = new Set<string | undefined>()
    const server = createServer((request, response) => {
      headers.add(request.headers.authorization)
      response.end()
    }).listen(0, "127.0.0.1")
    yield* Effect.promise(() => once(server, "listening"))
    const { port } = server.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/`
    const summary = yield* measure(
      { ...settings, target: { _tag: "Url", url, authorization: "Basic bWU6cEBzcw==" } },
      "hedged",
      0
    )
    server.close()
    expect(summary).toMatchObject({ count: 200, failures: 0, server: null })
    expect([...headers]).toEqual(["Basic bWU6cEBzcw=="])
  })
)
