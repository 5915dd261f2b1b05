import { expect, it, vi } from "@effect/vitest"
import { Effect, Option } from "effect"

/** The ids of some calls of a process that has just begun. */
const idsOfProcess = async (): Promise<ReadonlyArray<string>> => {
  vi.resetModules()
  const { Hedge, HedgeAttempt, HedgeSchedule } = await import("effect-hedge")
  const id = Effect.map(HedgeAttempt.current, (current) => Option.getOrThrow(current).callId)
  const call = Hedge.hedge(id, { schedule: HedgeSchedule.onFailure })
  return Effect.runPromise(Effect.replicateEffect(call, 3))
}

it("a call's id differs from those of other calls, of other processes, too", async () => {
  const ids = [...(await idsOfProcess()), ...(await idsOfProcess())]
  expect(new Set(ids).size).toBe(6)
})
