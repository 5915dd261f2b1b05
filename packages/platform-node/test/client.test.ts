import { HttpClient } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { NodeHedgeClient } from "@effect-hedge/platform-node"
import { Effect } from "effect"
import { serve } from "../../platform/test/support/server.js"

describe("a lane client", () => {
  it.scopedLive("gets a small body over one connection, again and again", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => response.end("answer"))
      const client = yield* HttpClient.HttpClient
      const get = Effect.flatMap(client.get(server.url), (response) => response.text)
      for (let i = 0; i < 3; i++) expect(yield* get).toBe("answer")
      expect(server.connections).toBe(1)
    }).pipe(Effect.provide(NodeHedgeClient.layer()))
  )
})
