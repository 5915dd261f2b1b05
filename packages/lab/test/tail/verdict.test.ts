import { describe, expect, it } from "vitest"
import type { Settings } from "../../src/tail/settings.js"
import type { Summary } from "../../src/tail/summary.js"
import { doubts, verdict } from "../../src/tail/verdict.js"
import { calm, plain, settings } from "./support.js"

const hedged: Summary = {
  ...plain,
  p99: 130,
  p999: 210,
  requestsPerCall: 1.11,
  hedgeRate: 0.1,
  hedgeWinShare: 0.9
}

const first = (changed: Partial<Summary>, settled: Partial<Settings> = {}) =>
  verdict({ ...settings, ...settled }, { plain, hedged: { ...hedged, ...changed } })[0]

describe("the verdict", () => {
  it("says what was gained and what it cost", () => {
    expect(verdict(settings, { plain, hedged })).toEqual([
      "Worth it here: hedging took P99 from 950.0 ms to 130.0 ms (−86.3 %), at 11.0 % more requests.",
      "P50 went from 32.0 ms to 32.0 ms. P99.9 went from 995.0 ms to 210.0 ms. 10.0 % of calls sent a hedge, and 90.0 % of hedges won."
    ])
  })

  it("is against hedging that gains little, or harms", () => {
    expect(first({ p99: 900 })).toMatch(/^Not worth it here: /)
    expect(first({ p99: 1_100 })).toMatch(/^Harmful here: /)
    expect(first({ p99: 1_100, client: { ...calm, cpuShare: 0.95 } })).toMatch(
      /^Harmful here, unless the machine's lack of time is to blame: /
    )
  })

  it("does not praise a P99 that more failures have paid for", () => {
    expect(first({ failures: 3 })).toMatch(/^Worth it only if /)
  })

  it("knows a bound where calls had no answer, and else nothing", () => {
    const cut = { ...plain, p99: Number.POSITIVE_INFINITY, failures: 40 }
    expect(verdict({ ...settings, timeoutMs: 1_000 }, { plain: cut, hedged })[0]).toBe(
      "Worth it here: hedging took P99 from ≥ 1000.0 ms to 130.0 ms (at least −87.0 %), at 11.0 % more requests."
    )
    expect(verdict(settings, { plain: cut, hedged })[0]).toBe(
      "Cannot be told: P99 falls on calls without an answer."
    )
    expect(first({}, { load: { ...settings.load, calls: 99 } })).toBe(
      "Cannot be told: 99 calls are too few for a P99."
    )
    expect(verdict(settings, { plain: cut, hedged }).at(-1)).toBe(
      "Calls without an answer: 40 plain, 0 hedged."
    )
  })

  it("has doubts where calls were few or the machine was busy", () => {
    expect(doubts(settings, { plain, hedged })).toEqual([])
    expect(doubts({ ...settings, load: { ...settings.load, calls: 300 } }, { plain, hedged })).toEqual([
      "P99 rests on the 3 slowest of 300 calls, so that chance decides it: send more, by --requests."
    ])
    const busy = { ...hedged, client: { ...calm, cpuShare: 0.95 } }
    expect(doubts(settings, { plain, hedged: busy })).toEqual([
      "Busy: the hedged client used 95 % of a processor. So the figures tell of this machine's lack of time as well as of hedging."
    ])
  })
})
