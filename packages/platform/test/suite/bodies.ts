import { HttpBody, HttpClientRequest } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import type { HttpHedge } from "@effect-hedge/platform"
import { Effect, Stream } from "effect"
import { afterFailure, hedged } from "../support/policies.js"
import { type Received, serve } from "../support/server.js"
import type { Transport } from "./transport.js"

/** Sends a request to a server that fails every attempt; what the server got. */
export const attemptsOver =
  ({ layer, protocol }: Transport) =>
  (
    request: (url: string) => HttpClientRequest.HttpClientRequest,
    options: HttpHedge.Options = {}
  ): Effect.Effect<ReadonlyArray<Received>> =>
    Effect.gen(function* () {
      const server = yield* serve((_request, response) => response.writeHead(503).end(), protocol)
      const client = yield* hedged(afterFailure, options)
      const response = yield* client.execute(request(server.url))
      yield* response.text
      expect(response.status).toBe(503)
      return server.received
    }).pipe(Effect.scoped, Effect.orDie, Effect.provide(layer))

export const consent: HttpHedge.Options = { eligible: () => true }
export const post = (body: HttpBody.HttpBody) => (url: string) =>
  HttpClientRequest.setBody(HttpClientRequest.post(url), body)
const bytes = (text: string) => new TextEncoder().encode(text)
/** A body that can be read once. */
export const once = () => HttpBody.stream(Stream.fromIterable([bytes("whole "), bytes("body")].values()))

export const bodies = (transport: Transport): void => {
  describe(`C44: bodies over ${transport.name}`, () => {
    const attemptsOf = attemptsOver(transport)

    it.live.each([
      ["bytes", HttpBody.uint8Array(bytes("whole body"))],
      ["text", HttpBody.text("whole body")],
      ["JSON", HttpBody.unsafeJson("whole body")],
      ["raw text", HttpBody.raw("whole body")],
      ["raw bytes", HttpBody.raw(bytes("whole body"))]
    ] as const)("%s are sent whole by each attempt", ([_, body]) =>
      Effect.gen(function* () {
        const received = yield* attemptsOf(post(body), consent)
        expect(received).toHaveLength(2)
        for (const { body } of received) expect(body).toContain("whole body")
      })
    )

    it.live("a stream is sent once", () =>
      Effect.gen(function* () {
        const received = yield* attemptsOf(post(once()), consent)
        expect(received.map(({ body }) => body)).toEqual(["whole body"])
      })
    )

    it.live("a stream is sent whole each time by a replay function", () =>
      Effect.gen(function* () {
        const received = yield* attemptsOf(post(once()), {
          ...consent,
          replay: HttpClientRequest.setBody(once())
        })
        expect(received.map(({ body }) => body)).toEqual(["whole body", "whole body"])
      })
    )
  })
}
