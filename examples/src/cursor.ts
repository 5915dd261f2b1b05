/**
 * A hedged resource: the first cursor that opens is the caller's, until the caller's scope closes; one that has lost is closed at once, or as
 * soon as it is open.
 */
import { Effect } from "effect"
import { Hedge, HedgeSchedule } from "effect-hedge"

/** A server whose first connection takes long to open; it notes what is opened and closed. */
const makeServer = () => {
  const log: Array<string> = []
  let opened = 0
  const openCursor = Effect.acquireRelease(
    Effect.gen(function* () {
      const id = ++opened
      log.push(`open ${id}`)
      yield* Effect.interruptible(Effect.sleep(id === 1 ? "10 seconds" : "20 millis")).pipe(
        Effect.onInterrupt(() => Effect.sync(() => log.push(`gave up ${id}`)))
      )
      return { rows: [1, 2, 3], id }
    }),
    ({ id }) => Effect.sync(() => log.push(`closed ${id}`))
  )
  return { log, openCursor }
}

export const main = Effect.suspend(() => {
  const { log, openCursor } = makeServer()
  return Effect.gen(function* () {
    const cursor = yield* Hedge.hedgeScoped(openCursor, { schedule: HedgeSchedule.fixed("80 millis") })
    log.push(`read ${cursor.rows.length} rows`)
  }).pipe(
    Effect.scoped,
    Effect.map(() => log)
  )
})
