import { Effect, Schedule } from "effect"
import { Hedge, HedgeSchedule } from "effect-hedge"
import { cpuOf, ratios } from "./measure.js"
import type { Row } from "./row.js"

/** What every call does: one turn of the event loop. */
export const oneTurn = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

const forkAndObserve = Effect.flatMap(Effect.forkDaemon(oneTurn), (fiber) =>
  Effect.async<void>((resume) => {
    fiber.addObserver((exit) => resume(exit))
  })
)

/** What a call costs that needs no hedge. */
export const calls = async (): Promise<ReadonlyArray<Row>> => {
  const cpu = await cpuOf(
    {
      race: Effect.race(oneTurn, Effect.delay(oneTurn, "100 millis")),
      forkAndObserve,
      hedged: Hedge.hedge(oneTurn, { schedule: HedgeSchedule.fixed("100 millis") }),
      anySchedule: Hedge.hedge(oneTurn, { schedule: Schedule.spaced("100 millis") })
    },
    { warmUp: 5, rounds: 31, runs: 3000 }
  )
  return [
    { name: "unhedged call: CPU / race + delay", ratios: ratios(cpu.hedged, cpu.race), target: 0.33 },
    {
      name: "unhedged call, any Schedule: CPU / race + delay",
      ratios: ratios(cpu.anySchedule, cpu.race),
      target: 0.6
    },
    { name: "unhedged call: CPU / fork + observe", ratios: ratios(cpu.hedged, cpu.forkAndObserve), target: 2 }
  ]
}
