import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { chaos } from "./chaos/chaos.js"
import { disturbances, mischiefs, protocols } from "./chaos/protocol.js"

it.live(
  "servers that break in every way: calls end by their deadlines, bodies are whole, nothing is left behind (`npm run chaos` has more)",
  () =>
    Effect.gen(function* () {
      const { calls, examples, hedges } = yield* chaos({
        seed: 1,
        seconds: 6,
        rounds: 1,
        client: "lanes",
        callers: 6,
        mischiefs,
        disturbances,
        protocols,
        server: new URL("./chaos/dist/server.js", import.meta.url)
      })
      expect(examples).toEqual([])
      expect(calls).toBeGreaterThan(20)
      expect(hedges).toBeGreaterThan(0)
    }),
  120_000
)
