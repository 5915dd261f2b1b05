import { Effect, Fiber } from "effect"
import { Hedge, HedgeSchedule } from "effect-hedge"
import type { Row } from "./row.js"

const inFlight = 5000

const collect = (): void => {
  if (globalThis.gc === undefined) throw new Error("run with node --expose-gc")
  globalThis.gc()
  globalThis.gc()
}

/** Bytes of heap that a call holds while its answer is awaited and a hedge is pending. */
const heapOf = (call: Effect.Effect<void>): Effect.Effect<number> =>
  Effect.gen(function* () {
    collect()
    const before = process.memoryUsage().heapUsed
    const fibers = yield* Effect.forEach(Array.from({ length: inFlight }), () => Effect.forkDaemon(call))
    yield* Effect.sleep("20 millis")
    collect()
    const after = process.memoryUsage().heapUsed
    yield* Fiber.interruptAll(fibers)
    return (after - before) / inFlight
  })

export const memory = async (): Promise<ReadonlyArray<Row>> => {
  // an answer that never comes; a register function without a parameter would be given an AbortController
  const waiting = Effect.async<void>((_resume) => {})
  const race = Effect.race(waiting, Effect.delay(waiting, "10 minutes"))
  const hedged = Hedge.hedge(waiting, { schedule: HedgeSchedule.fixed("10 minutes") })
  const ratios: Array<number> = []
  for (let round = 0; round < 7; round++) {
    const bytes = await Effect.runPromise(Effect.all([heapOf(race), heapOf(hedged)]))
    ratios.push(bytes[1] / bytes[0])
  }
  return [
    { name: "heap per call in flight, a hedge pending / race + delay", ratios: ratios.slice(1), target: 0.7 }
  ]
}
