/** What the page of `browser.test.ts` runs. */
import { Effect } from "effect"
import { Hedge, HedgeSchedule } from "effect-hedge"

const text = (url: string): Effect.Effect<string, Error> =>
  Effect.tryPromise({
    try: async (signal) => (await fetch(url, { signal, cache: "no-store" })).text(),
    catch: (error) => error as Error
  })

declare global {
  /** The text of a resource, hedged after some milliseconds. */
  var hedgedFetch: (url: string, delay: number) => Promise<string>
}

globalThis.hedgedFetch = (url, delay) =>
  Effect.runPromise(Hedge.hedge(text(url), { schedule: HedgeSchedule.fixed(delay) }))
