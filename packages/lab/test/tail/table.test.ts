import { describe, expect, it } from "vitest"
import type { Result } from "../../src/tail/experiment.js"
import type { Settings } from "../../src/tail/settings.js"
import type { Summary } from "../../src/tail/summary.js"
import { render } from "../../src/tail/table.js"
import { calm, plain, settings } from "./support.js"

const hedged: Summary = { ...plain, p95: 112, p98_5: 128, p99: 130, p999: 210, hedgeRate: 0.1 }

/** The lines of the table that begin so. */
const lines = (start: string, changed: Partial<Settings>, result: Result = { plain, hedged }) =>
  render({ ...settings, ...changed }, result, undefined)
    .split("\n")
    .filter((line) => line.startsWith(start))
    .map((line) => line.replaceAll(/ {2,}/g, "  "))

describe("the table", () => {
  it("says what hedged the calls", () => {
    expect(lines("hedged:", {})).toEqual([
      "hedged: another copy every 80 ms, at most 3 in all, at most 20 % extra load"
    ])
    expect(lines("hedged:", { hedging: { delayMs: null, maxAttempts: 2, extraLoad: 0.15 } })).toEqual([
      "hedged: another copy after a delay that is learned, at most 2 in all, at most 15 % extra load"
    ])
  })

  it("says what bounds the extra load besides the budget", () => {
    expect(lines("Extra load:", {})).toEqual([
      "Extra load: 20 % of calls, and 10 hedges in advance; and none while many copies fail, by a token bucket like gRPC's. What either refuses is Throttled."
    ])
  })

  it("counts what timed out, and gives percentiles and ratios that rest on it as bounds", () => {
    const cut = { ...plain, p99: Infinity, failures: 40, failureKinds: { Timeout: 38, ECONNRESET: 2 } }
    const result = { plain: cut, hedged }
    expect(lines("of them timed out", { timeoutMs: 1_000 }, result)).toEqual(["of them timed out  38  0"])
    expect(lines("P99 ", { timeoutMs: 1_000 }, result)).toEqual(["P99  ≥ 1000.0 ms  130.0 ms  ≤ 0.130"])
    expect(lines("P98.5", { timeoutMs: 1_000 }, result)).toEqual(["P98.5  925.0 ms  128.0 ms  0.138"])
    expect(lines("P99 ", {}, result)).toEqual(["P99  no answer  130.0 ms  –"])
    expect(lines("of them timed out", {}, result)).toEqual([])
  })

  it("shows what a policy has learned", () => {
    const learned = {
      status: "Active",
      suspendedBy: null,
      delayMs: 47.8,
      probability: 1,
      samples: 3_200,
      p99: { unhedged: 948, hedged: 98 }
    } as const
    const delay = (changed: object) =>
      lines("delay it settled on", {}, { plain, hedged: { ...hedged, learned: { ...learned, ...changed } } })
    expect(delay({})).toEqual(["delay it settled on  –  47.8 ms"])
    expect(delay({ probability: 0.5 })).toEqual(["delay it settled on  –  47.8 ms in 50 % of calls"])
    expect(delay({ status: "WarmUp", delayMs: null })).toEqual(["delay it settled on  –  none yet"])
    expect(delay({ status: "NoGain", delayMs: null })).toEqual([
      "delay it settled on  –  none: nothing to gain"
    ])
    expect(delay({ status: "Suspended", suspendedBy: "Efficacy" })).toEqual([
      "delay it settled on  –  suspended (Efficacy)"
    ])
    expect(lines("P99 by its own estimate", {}, { plain, hedged: { ...hedged, learned } })).toEqual([
      "P99 by its own estimate  948.0 ms  98.0 ms"
    ])
  })

  it("names a machine that was too busy, and no other", () => {
    const busy = { ...hedged, client: { ...calm, cpuShare: 0.99 } }
    expect(lines("!", {}, { plain, hedged: busy })).toEqual([
      "! busy: the hedged client used 99 % of a processor"
    ])
    expect(lines("!", {})).toEqual([])
  })
})
