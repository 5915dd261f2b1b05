import { createHash } from "node:crypto"
import type { HttpClientResponse } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { attemptHeader, both, hedged } from "../support/policies.js"
import { type Handler, serve } from "../support/server.js"
import type { Transport } from "./transport.js"

const chunk = Buffer.from(Array.from({ length: 50_000 }, (_, i) => (i * 7919) % 251))
const chunks = 100
const digest = createHash("sha256")
  .update(Buffer.concat(Array(chunks).fill(chunk)))
  .digest("hex")

/** The primary gets nothing, or an error whose body never ends; the hedge gets 5 MB, a chunk at a time. */
const handler =
  (primary: "silent" | "failing"): Handler =>
  ({ headers }, response) => {
    if (headers[attemptHeader] === undefined) {
      if (primary === "failing") response.writeHead(503).write("half of a body")
      return
    }
    let left = chunks
    const write = () => {
      while (left > 0) {
        left -= 1
        if (!response.write(chunk)) return
      }
      response.end()
    }
    response.on("drain", write)
    write()
  }

const digestOf = (response: HttpClientResponse.HttpClientResponse) =>
  Effect.map(
    Stream.runFold(response.stream, createHash("sha256"), (hash, part) => hash.update(part)),
    (hash) => hash.digest("hex")
  )

export const winnersBody = ({ layer, name, protocol }: Transport): void => {
  describe(`C41: a winner's body, over ${name}`, () => {
    it.scopedLive("arrives whole after the primary was cancelled before its headers", () =>
      Effect.gen(function* () {
        const server = yield* serve(handler("silent"), protocol)
        const client = yield* hedged(both)
        expect(yield* Effect.flatMap(client.get(server.url), digestOf)).toBe(digest)
      }).pipe(Effect.provide(layer))
    )

    it.scopedLive("arrives whole after a primary with half a body was cancelled", () =>
      Effect.gen(function* () {
        const server = yield* serve(handler("failing"), protocol)
        const client = yield* hedged(both)
        expect(yield* Effect.flatMap(client.get(server.url), digestOf)).toBe(digest)
      }).pipe(Effect.provide(layer))
    )

    it.scopedLive("arrives whole when it is read long after the loser has gone", () =>
      Effect.gen(function* () {
        const server = yield* serve(handler("silent"), protocol)
        const client = yield* hedged(both)
        const response = yield* client.get(server.url)
        yield* server.until(({ cancelled }) => cancelled === 1)
        expect(yield* digestOf(response)).toBe(digest)
      }).pipe(Effect.provide(layer))
    )
  })
}
