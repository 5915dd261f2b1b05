import type { ServerResponse } from "node:http"
import { HttpClient, type HttpClientError, HttpClientRequest, HttpClientResponse } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { Deferred, Effect, Exit, Scope, Stream } from "effect"
import { afterFailure, attemptHeader, both } from "../support/policies.js"
import { serve } from "../support/server.js"
import type { Transport } from "./transport.js"

const headers = { attempt: attemptHeader }
const withHedge = HttpHedge.withHedge({ policy: afterFailure, headers })
const text = (response: HttpClientResponse.HttpClientResponse) => response.text

export const scopes = ({ layer, name, protocol }: Transport): void => {
  describe(`HttpClient.withScope over ${name}`, () => {
    const endless = serve((_request, response) => response.writeHead(200).write("half"), protocol)

    it.scopedLive.each([
      ["above the hedge", (client: HttpClient.HttpClient) => client.pipe(withHedge, HttpClient.withScope)],
      ["below it", (client: HttpClient.HttpClient) => client.pipe(HttpClient.withScope, withHedge)]
    ] as const)("%s: the answer ends with the scope and not before", ([_, make]) =>
      Effect.gen(function* () {
        const server = yield* endless
        const client = make(yield* HttpClient.HttpClient)
        const scope = yield* Scope.make()
        const response = yield* client.get(server.url).pipe(Scope.extend(scope))
        expect(response.status).toBe(200)
        expect(server.cancelled).toBe(0)
        yield* Scope.close(scope, Exit.void)
        yield* server.until(({ cancelled }) => cancelled === 1)
      }).pipe(Effect.provide(layer))
    )

    it.scopedLive("above the hedge: a body that is being read ends with the scope", () =>
      Effect.gen(function* () {
        const server = yield* endless
        const client = (yield* HttpClient.HttpClient).pipe(withHedge, HttpClient.withScope)
        const scope = yield* Scope.make()
        const begun = yield* Deferred.make<void>()
        const read = HttpClientResponse.stream(client.get(server.url)).pipe(
          Stream.runForEach(() => Deferred.succeed(begun, undefined)),
          Scope.extend(scope)
        )
        yield* Effect.fork(read)
        yield* Deferred.await(begun)
        yield* Scope.close(scope, Exit.void)
        yield* server.until(({ cancelled }) => cancelled === 1)
      }).pipe(Effect.provide(layer))
    )

    it.scopedLive("above the hedge: an error's response ends with the scope and not before", () =>
      Effect.gen(function* () {
        const server = yield* serve((_request, response) => response.writeHead(404).write("half"), protocol)
        const client = (yield* HttpClient.HttpClient).pipe(
          HttpClient.filterStatusOk,
          withHedge,
          HttpClient.withScope
        )
        const scope = yield* Scope.make()
        const error = yield* client.get(server.url).pipe(Scope.extend(scope), Effect.flip)
        expect(error).toMatchObject({ reason: "StatusCode", response: { status: 404 } })
        expect(server.cancelled).toBe(0)
        yield* Scope.close(scope, Exit.void)
        yield* server.until(({ cancelled }) => cancelled === 1)
      }).pipe(Effect.provide(layer))
    )

    it.scopedLive("below the hedge: an error's response can be read, and ends with the scope", () =>
      Effect.gen(function* () {
        let end = () => {}
        const server = yield* serve((_request, response) => {
          response.writeHead(404).write("half")
          end = () => response.end(", whole")
        }, protocol)
        const client = (yield* HttpClient.HttpClient).pipe(
          HttpClient.withScope,
          HttpClient.filterStatusOk,
          withHedge
        )
        const error = yield* Effect.flip(client.get(server.url))
        end()
        expect(yield* text((error as HttpClientError.ResponseError).response)).toBe("half, whole")
        yield* Effect.scoped(Effect.flip(client.get(server.url)))
        yield* server.until(({ cancelled }) => cancelled === 1)
      }).pipe(Effect.provide(layer))
    )

    it.scopedLive(
      "above the hedge: a loser takes nothing from the winner, nor from a later call of the request",
      () =>
        Effect.gen(function* () {
          const server = yield* serve((request, response) => {
            if (request.headers[attemptHeader] === undefined) response.writeHead(503).write("half")
            else response.end("hedge".repeat(100_000))
          }, protocol)
          const client = withHedge(yield* HttpClient.HttpClient)
          const request = HttpClientRequest.get(server.url)
          const response = yield* HttpClient.withScope(client).execute(request)
          yield* server.until(({ cancelled }) => cancelled === 1)
          expect(yield* response.text).toBe("hedge".repeat(100_000))
          yield* Effect.scoped(HttpClient.withScope(client).execute(request))
          const later = yield* client.execute(request)
          expect(yield* later.text).toBe("hedge".repeat(100_000))
        }).pipe(Effect.provide(layer))
    )

    it.scopedLive("below the hedge: a loser without headers ends at once, not with the scope", () =>
      Effect.gen(function* () {
        const arrived: { primary?: ServerResponse; hedge?: ServerResponse } = {}
        const server = yield* serve((request, response) => {
          arrived[request.headers[attemptHeader] === undefined ? "primary" : "hedge"] = response
          if (arrived.primary !== undefined) arrived.hedge?.end("hedge")
        }, protocol)
        const client = (yield* HttpClient.HttpClient).pipe(
          HttpClient.withScope,
          HttpHedge.withHedge({ policy: both, headers })
        )
        expect(yield* Effect.flatMap(client.get(server.url), text)).toBe("hedge")
        yield* server.until(({ cancelled }) => cancelled === 1)
      }).pipe(Effect.provide(layer))
    )

    it.scopedLive.each([
      ["with headers", (client: HttpClient.HttpClient) => HttpClient.withScope(client)],
      [
        "inside an error",
        (client: HttpClient.HttpClient) => client.pipe(HttpClient.withScope, HttpClient.filterStatusOk)
      ]
    ] as const)("below the hedge: a loser %s ends at once, not with the scope", ([_, scoped]) =>
      Effect.gen(function* () {
        const server = yield* serve((request, response) => {
          if (request.headers[attemptHeader] === undefined) response.writeHead(503).write("half")
          else response.end("hedge")
        }, protocol)
        const client = withHedge(scoped(yield* HttpClient.HttpClient))
        expect(yield* Effect.flatMap(client.get(server.url), text)).toBe("hedge")
        yield* server.until(({ cancelled }) => cancelled === 1)
      }).pipe(Effect.provide(layer))
    )
  })
}
