import { describe, expect, it } from "vitest"
import { forecast } from "../../src/tail/forecast.js"
import type { Learned } from "../../src/tail/protocol.js"
import type { Settings } from "../../src/tail/settings.js"

const settings: Settings = {
  target: {
    _tag: "Own",
    latency: { _tag: "Uniform", fast: { min: 10, max: 50 }, slow: { min: 500, max: 1_000 }, slowShare: 0.1 },
    seed: 1,
    keepsWorking: false
  },
  load: { calls: 3_000, rate: 500, fanOut: 1 },
  hedging: { delayMs: null, maxAttempts: 2, extraLoad: 0.15 },
  transport: "undici",
  timeoutMs: null,
  warmUp: 200,
  rounds: 1
}

const learned: Learned = {
  status: "Active",
  suspendedBy: null,
  delayMs: 60,
  probability: 1,
  samples: 3_200,
  p99: { unhedged: 950, hedged: 110 }
}

describe("what theory expects of a policy that learns", () => {
  it("goes by the delay it settled on", () => {
    const { hedged, hedgedRequestsPerCall } = forecast(settings, learned)!
    expect(hedged.p98_5).toBeCloseTo(60 + 47.8, 1)
    expect(hedgedRequestsPerCall).toBeCloseTo(1.1, 6)
  })

  it("is within the budget, however short the delay", () => {
    expect(forecast(settings, { ...learned, delayMs: 20 })!.hedgedRequestsPerCall).toBeCloseTo(1.15, 6)
  })

  it("is what it is without hedges, if it sends none", () => {
    for (const changed of [{ status: "NoGain", delayMs: null }, { status: "Suspended" }] as const) {
      const { hedged, plain } = forecast(settings, { ...learned, ...changed })!
      expect(hedged).toEqual(plain)
    }
  })
})

it("the ideal is that of as many copies as may be sent", () => {
  const idealOf = (maxAttempts: number) =>
    forecast({ ...settings, hedging: { delayMs: 80, maxAttempts, extraLoad: 0.2 } }, null)!.ideal.p99
  expect(idealOf(2)).toBeCloseTo(95.6, 0)
  expect(idealOf(3)).toBeCloseTo(90.4, 0)
})

it("nothing is expected of a server that is not ours", () => {
  const target = { _tag: "Url", url: "http://x/", authorization: null } as const
  expect(forecast({ ...settings, target }, null)).toBeUndefined()
})
