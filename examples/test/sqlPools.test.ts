import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { main } from "../src/sqlPools.js"

it.live(
  "reads are hedged across two pools, writes and transactions are not, and a loser returns its connection",
  () =>
    Effect.gen(function* () {
      expect(yield* main).toEqual({
        hedged: "replica",
        stillRunning: 1,
        alone: "primary",
        inTransaction: "primary",
        primary: ["SELECT", "SELECT", "UPDATE", "BEGIN", "SELECT", "UPDATE", "COMMIT"],
        replica: ["SELECT"]
      })
    })
)
