import { expect, it } from "vitest"
import type { Measured } from "../../src/hol/experiment.js"
import type { HedgeOn } from "../../src/hol/settings.js"
import { render } from "../../src/hol/table.js"
import { measured, settings } from "./support.js"

const hedges = (sent: number, stuckShare = 0): Measured =>
  measured({
    hedges: { hedgedCalls: sent, sent, won: sent, suppressed: {} },
    strain: { stuckShare, longestMs: 55, cpuShare: 0, machineShare: 0 }
  })

const printed = (hedgeOn: HedgeOn | null, of: Measured) =>
  render(settings, [{ mode: { connections: "lanes", hedgeOn }, rounds: [of] }])

it("the table tells a mode without hedges from one in which none was due", () => {
  expect(printed(null, hedges(0))).toMatch(/^lanes .* – +4 /m)
  expect(printed("same", hedges(0))).toMatch(/^lanes-hedged .* none sent +4 /m)
  expect(printed("same", hedges(3))).toMatch(/^lanes-hedged .* 3\/3 +4 /m)
})

it("says under the table whose event loop was stuck", () => {
  expect(printed(null, hedges(0, 0.03))).toContain(
    "! busy: the event loop of the client of lanes was stuck for 3 % of the time, up to 55 ms at once"
  )
})
