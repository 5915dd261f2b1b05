import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import * as Suite from "../../src/simulate/suite.js"

/** The whole of `hedge-lab simulate --suite`. */
const lines = Effect.runSync(Suite.run(1))

describe("what is promised of a policy that tunes itself", () => {
  for (const { name, target, value } of lines) {
    it(`${name}: at most ${target}`, () => {
      expect(value).toBeLessThanOrEqual(target)
    })
  }

  it.each([
    [/^gap to the oracle's P99/, 5],
    [/^achieved extra load/, 5],
    [/^error of the estimated unhedged P99/, 4],
    [/^P99 of unhedged, 16 servers .* any server/, 10],
    [/^P99 of unhedged, 16 servers .* idle servers/, 10],
    [/^seconds until hedged calls are back/, 1],
    [/^P99 of unhedged, once unhedged calls are back/, 1],
    [/^error of the delay 1\.5 windows after a drift/, 2],
    [/^the solver's time beyond a brute-force search's/, 1]
  ])("is complete: %s", (name, count) => {
    expect(lines.filter((line) => name.test(line.name))).toHaveLength(count)
  })

  it("is said to be kept exactly where the value is within the target", () => {
    expect(lines.map(({ ok }) => ok)).toEqual(lines.map(({ target, value }) => value <= target))
  })
})
