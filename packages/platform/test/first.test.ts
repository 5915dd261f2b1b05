import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { HttpClient, type HttpClientResponse } from "@effect/platform"
import { NodeHttpClient } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect, Layer } from "effect"
import { HedgePolicy, HedgeSchedule } from "effect-hedge"

const server = (handler: Http.RequestListener) =>
  Effect.acquireRelease(
    Effect.async<Http.Server>((resume) => {
      const server = Http.createServer(handler).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  ).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`))

/** Answers every request but the first. */
const onlyHedges = Effect.suspend(() => {
  let requests = 0
  return server((_request, response) => {
    if (++requests > 1) response.end("hedge")
  })
})

const policy = HedgePolicy.make({ schedule: HedgeSchedule.fixed(10) })
const text = Effect.flatMap((response: HttpClientResponse.HttpClientResponse) => response.text)

it.scopedLive("a hedge answers for a primary that does not: a policy given", () =>
  Effect.gen(function* () {
    const url = yield* onlyHedges
    const client = (yield* HttpClient.HttpClient).pipe(HttpHedge.withHedge({ policy }))
    expect(yield* text(client.get(url))).toBe("hedge")
  }).pipe(Effect.provide(NodeHttpClient.layerUndici))
)

it.scopedLive("a hedge answers for a primary that does not: the policy in context", () =>
  Effect.gen(function* () {
    const url = yield* onlyHedges
    const client = (yield* HttpClient.HttpClient).pipe(HttpHedge.withHedge())
    expect(yield* text(client.get(url)).pipe(Effect.provide(HedgePolicy.layer(policy)))).toBe("hedge")
  }).pipe(Effect.provide(NodeHttpClient.layerUndici))
)

it.scopedLive("a hedge answers for a primary that does not: the layer", () =>
  Effect.gen(function* () {
    const url = yield* onlyHedges
    expect(yield* text(HttpClient.get(url))).toBe("hedge")
  }).pipe(
    Effect.provide(
      HttpHedge.layer.pipe(
        Layer.provide(HedgePolicy.layer(policy)),
        Layer.provide(NodeHttpClient.layerUndici)
      )
    )
  )
)
