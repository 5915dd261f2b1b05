import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Row, rows } from "../../src/simulate/experiment.js"
import { page } from "../../src/simulate/page.js"
import { Records } from "../../src/simulate/records.js"
import { rateFor, type Settings } from "../../src/simulate/settings.js"
import { verdict } from "../../src/simulate/verdict.js"
import * as Workload from "../../src/simulate/workload.js"

const workload = Workload.pauses(0.02)
const load = { utilisation: 0.5, rate: rateFor(0.5, 16, workload) }

const settings: Settings = {
  workload,
  cluster: { servers: 16, balancer: "p2c", cancellation: "all", slowdown: undefined },
  loads: [load],
  calls: 5_000,
  seed: 1,
  hedging: { _tag: "Fixed", extraLoad: 0.1, delayMs: 40 }
}

describe("what a page knows of a simulation", () => {
  it.effect("is what happened: the same hedges, one winner, nothing after the answer", () =>
    Effect.gen(function* () {
      const records = new Records()
      const watched = yield* rows(settings, records.observer)
      expect(watched).toEqual(yield* rows(settings))
      const hedged = records.of(load).get("hedged")!
      const plain = records.of(load).get("unhedged")!.outcomes!.elapsed
      const { elapsed, hedges, wins } = hedged.outcomes!
      let won = 0
      for (let i = 0; i < settings.calls; i++) {
        const { attempts, plainMs, tookMs } = hedged.call(i, plain)
        expect(attempts).toHaveLength(1 + hedges[i]!)
        expect([tookMs, plainMs]).toEqual([elapsed[i], plain[i]])
        expect(attempts.filter(({ end }) => end === "Won")).toHaveLength(1)
        if (attempts[0]!.end !== "Won") won++
        for (const { endMs, startMs } of attempts) {
          expect(endMs).toBe(tookMs)
          expect(startMs).toBeLessThanOrEqual(endMs)
        }
      }
      expect(won).toBe(wins)
      expect(won).toBeGreaterThan(0)
    })
  )

  it.effect("has a section of its own for each load", () =>
    Effect.gen(function* () {
      const records = new Records()
      const { sections } = page(settings, yield* rows(settings, records.observer), records)
      expect(sections.map(({ heading }) => heading)).toEqual(["Figures", "At a load of 50 %"])
      expect(sections[1]!.blocks.map(({ _tag }) => _tag)).toEqual(["Chart", "Chart", "Chart"])
    })
  )
})

describe("the verdict", () => {
  const row = (utilisation: number, ratio: number): Row => ({
    load: { utilisation, rate: 1 },
    side: "hedged",
    p50: 1,
    p95: 1,
    p99: 100 * ratio,
    p999: 1,
    ratio,
    requestsPerCall: 1.1,
    winShare: null,
    suppressed: {},
    learned: undefined,
    recoveredAfterMs: null
  })

  it("says at which loads hedging is worth it, and at which it harms", () => {
    expect(verdict([row(0.5, 0.2), row(0.9, 1.3)])).toEqual([
      "Hedged: worth it at a load of 50 %. P99 comes down by up to 80.0 % (to 20.0 ms, at 50 %), for at most 10.0 % more requests. Harmful at a load of 90 %: P99 goes up by up to 30.0 % (to 130.0 ms, at 90 %)."
    ])
    expect(verdict([row(0.5, 0.2), row(0.9, 0.8)])[0]).toMatch(/^Hedged: worth it at every load\. /)
    expect(verdict([row(0.5, 0.95)])).toEqual([
      "Hedged: not worth it. P99 comes down by 5.0 %, to 95.0 ms, for 10.0 % more requests."
    ])
    expect(verdict([row(0.5, 1.05)])).toEqual([
      "Hedged: not worth it. P99 does not come down, for 10.0 % more requests."
    ])
  })

  it("says how soon calls are as fast as before a slowdown", () => {
    const rows = [0.1, 1].map(
      (ratio, i): Row => ({
        ...row(0.5, ratio),
        side: i === 0 ? "hedged" : "unhedged",
        recoveredAfterMs: i * 2_500
      })
    )
    const { load } = rows[0]!
    expect(verdict(rows.map((each) => ({ ...each, load })))[1]).toBe(
      "At 50 %, hedged, calls are as fast as before 0 s after the slowdown; unhedged 2.5 s."
    )
  })
})
