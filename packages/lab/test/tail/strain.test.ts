import { describe, expect, it } from "vitest"
import { busy, medianStrain, type Strain, watch } from "../../src/tail/strain.js"

const calm: Strain = { stuckShare: 0.001, longestMs: 12, cpuShare: 0.3, machineShare: 0.5 }

const idle = { client: calm, server: calm }

describe("a machine", () => {
  it("that has time is not mentioned", () => {
    expect(busy({ plain: idle, hedged: { client: calm, server: null } })).toEqual([])
  })

  it("that has none is named, with what had none", () => {
    const client = { stuckShare: 0.2, longestMs: 87.4, cpuShare: 0.3, machineShare: 0.96 }
    const server = { ...calm, cpuShare: 0.97 }
    expect(busy({ plain: idle, hedged: { client, server } })).toEqual([
      "the event loop of the hedged client was stuck for 20 % of the time, up to 87 ms at once",
      "the hedged side's server used 97 % of a processor",
      "the machine's processors were 96 % busy during the hedged side"
    ])
  })
})

it("rounds are told by their medians", () => {
  const rounds = [0.1, 0.9, 0.2].map((stuckShare) => ({ ...calm, stuckShare }))
  expect(medianStrain(rounds)).toEqual({ ...calm, stuckShare: 0.2 })
})

it("a loop that is blocked is seen to have been stuck, and its process to have been busy", () => {
  const stop = watch()
  const blockedUntil = performance.now() + 100
  while (performance.now() < blockedUntil);
  const { cpuShare, longestMs, machineShare, stuckShare } = stop()
  expect(longestMs).toBeGreaterThan(50)
  expect(stuckShare).toBeGreaterThan(0.5)
  expect(cpuShare).toBeGreaterThan(0)
  expect(machineShare).toBeGreaterThanOrEqual(0)
})
