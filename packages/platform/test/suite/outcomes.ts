import type { ServerResponse } from "node:http"
import { HttpClient } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect } from "effect"
import { afterFailure, attemptHeader, both, hedged } from "../support/policies.js"
import { Recorder } from "../support/recorder.js"
import { goAway, reset, serve } from "../support/server.js"
import type { Transport } from "./transport.js"

const textOf = <E>(client: HttpClient.HttpClient.With<E>, url: string) =>
  Effect.flatMap(client.get(url), (response) => response.text)

export const allFail = ({ layer, name, protocol }: Transport): void => {
  describe(`C45: all attempts fail, over ${name}`, () => {
    it.scopedLive.each([
      ["one after the other", afterFailure],
      ["at once", both]
    ] as const)("%s: the caller gets the primary's answer with its body", ([_, policy]) =>
      Effect.gen(function* () {
        const server = yield* serve((request, response) => {
          const hedge = request.headers[attemptHeader]
          response.writeHead(503).end(hedge === undefined ? "primary".repeat(50_000) : "hedge")
        }, protocol)
        const response = yield* (yield* hedged(policy)).get(server.url)
        expect(response.status).toBe(503)
        expect(yield* response.text).toBe("primary".repeat(50_000))
        expect(server.received).toHaveLength(2)
      }).pipe(Effect.provide(layer))
    )
  })
}

export const transportErrors = ({ layer, name, protocol }: Transport): void => {
  describe(`C46: transport errors over ${name}`, () => {
    const unused = Effect.scoped(
      Effect.map(
        serve(() => {}, protocol),
        ({ url }) => url
      )
    )

    it.scopedLive("connection refused: the next attempt at once", () =>
      Effect.gen(function* () {
        const dead = yield* unused
        const server = yield* serve((_request, response) => response.end("hedge"), protocol)
        const client = yield* hedged(afterFailure, { replicas: [server.url] })
        expect(yield* textOf(client, dead)).toBe("hedge")
      }).pipe(Effect.provide(layer))
    )

    it.scopedLive("connection refused for each attempt: a typed error", () =>
      Effect.gen(function* () {
        const recorder = new Recorder()
        const client = yield* hedged(afterFailure)
        const exit = yield* Effect.exit(client.get(yield* unused).pipe(Effect.provide(recorder.layer)))
        expect(yield* Effect.flip(exit)).toMatchObject({ _tag: "RequestError", reason: "Transport" })
        expect(recorder.started).toBe(2)
      }).pipe(Effect.provide(layer))
    )

    it.scopedLive("reset before headers: the next attempt at once", () =>
      Effect.gen(function* () {
        const server = yield* serve(
          (request, response) =>
            request.headers[attemptHeader] === undefined ? reset(response) : response.end("hedge"),
          protocol
        )
        expect(yield* textOf(yield* hedged(afterFailure), server.url)).toBe("hedge")
      }).pipe(Effect.provide(layer))
    )

    it.scopedLive(
      "reset in the middle of a body that is read below the hedge: the next attempt at once",
      () =>
        Effect.gen(function* () {
          const server = yield* serve((request, response) => {
            if (request.headers[attemptHeader] !== undefined) return response.end("hedge")
            response.writeHead(200, { "content-length": "100" }).write("half", () => reset(response))
            return response
          }, protocol)
          const client = (yield* HttpClient.HttpClient).pipe(
            HttpClient.tap((response) => response.text),
            HttpHedge.withHedge({ policy: afterFailure, headers: { attempt: attemptHeader } })
          )
          expect(yield* textOf(client, server.url)).toBe("hedge")
        }).pipe(Effect.provide(layer))
    )
  })
}

/** Over HTTP/2 alone. */
export const goAwayInFlight = ({ layer, name, protocol }: Transport): void =>
  it.scopedLive(
    `C46: GOAWAY while requests are in flight over ${name}: the next attempt of each at once`,
    () =>
      Effect.gen(function* () {
        const waiting: Array<ServerResponse> = []
        const server = yield* serve((request, response) => {
          if (request.headers[attemptHeader] !== undefined) response.end("hedge")
          else if (waiting.push(response) === 3) goAway(response)
        }, protocol)
        const client = yield* hedged(afterFailure)
        const texts = yield* Effect.all(
          [1, 2, 3].map(() => textOf(client, server.url)),
          { concurrency: 3 }
        )
        expect(texts).toEqual(["hedge", "hedge", "hedge"])
      }).pipe(Effect.provide(layer))
  )
