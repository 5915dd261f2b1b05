import { HttpClientError, HttpClientRequest } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Stream } from "effect"
import { begin, dataOf, events, roles } from "../events/support.js"
import { afterFailure, both } from "../support/policies.js"
import { type Handler, reset, serve } from "../support/server.js"
import type { Transport } from "./transport.js"

const get = HttpClientRequest.get
const silent: Handler = () => {}

export const hedgedEvents = ({ layer, name, protocol }: Transport): void => {
  describe(`hedged events over ${name}`, () => {
    it.scopedLive("the first event wins, the winner streams on, and the loser's request is cancelled", () =>
      Effect.gen(function* () {
        const all = Array.from({ length: 2000 }, (_, i) => `token ${i} – ünïcödé ${"x".repeat(i % 50)}`)
        const server = yield* serve(
          roles(
            // headers and comments are no event
            (_request, response) => {
              begin(response).write(": still thinking\n\n")
            },
            (_request, response) => {
              begin(response)
              // chunks end in the middle of lines, of characters
              const bytes = Buffer.from(all.map((line) => `data: ${line}\r\n\r\n`).join(""))
              for (let at = 0; at < bytes.length; at += 997) response.write(bytes.subarray(at, at + 997))
              response.end()
            }
          ),
          protocol
        )
        const open = yield* events(both)
        expect(yield* dataOf(open(get(server.url)))).toStrictEqual(all)
        yield* server.until(({ cancelled, open }) => cancelled === 1 && open === 0)
      }).pipe(Effect.provide(layer))
    )

    it.scopedLive("a consumer that has enough gives the winner up, too", () =>
      Effect.gen(function* () {
        const server = yield* serve((_request, response) => {
          begin(response).write("data: a\n\ndata: b\n\n")
        }, protocol)
        const open = yield* events(afterFailure)
        expect(yield* dataOf(Stream.take(open(get(server.url)), 2))).toStrictEqual(["a", "b"])
        yield* server.until(({ cancelled, open }) => cancelled === 1 && open === 0)
      }).pipe(Effect.provide(layer))
    )

    it.scopedLive("a consumer that is interrupted gives every request up", () =>
      Effect.gen(function* () {
        const server = yield* serve(
          roles(silent, (_request, response) => {
            begin(response)
          }),
          protocol
        )
        const open = yield* events(both)
        const fiber = yield* Effect.fork(Stream.runDrain(open(get(server.url))))
        yield* server.until(({ received }) => received.length === 2)
        yield* Fiber.interrupt(fiber)
        yield* server.until(({ cancelled, open }) => cancelled === 2 && open === 0)
      }).pipe(Effect.provide(layer))
    )

    it.scopedLive(
      "a connection that breaks is another attempt's turn before the first event, an error after it",
      () =>
        Effect.gen(function* () {
          const server = yield* serve(
            roles(
              (_request, response) => {
                begin(response).write(": soon\n\n", () => reset(response))
              },
              (_request, response) => {
                begin(response).write("data: a\n\n", () => setTimeout(() => reset(response), 20))
              }
            ),
            protocol
          )
          const open = yield* events(afterFailure)
          const seen: Array<string> = []
          const exit = yield* Effect.exit(
            Stream.runForEach(open(get(server.url)), ({ data }) => Effect.sync(() => seen.push(data)))
          )
          expect(seen).toStrictEqual(["a"])
          expect(Exit.isFailure(exit) && HttpClientError.isHttpClientError(Cause.squash(exit.cause))).toBe(
            true
          )
          expect(server.received).toHaveLength(2)
        }).pipe(Effect.provide(layer))
    )
  })
}
