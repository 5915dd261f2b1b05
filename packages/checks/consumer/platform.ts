/** What a user of `@effect-hedge/platform` writes: a client whose first request is never answered. */
import { strictEqual } from "node:assert"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { FetchHttpClient, HttpClient, type HttpClientError } from "@effect/platform"
import { HttpHedge } from "@effect-hedge/platform"
import { routeOf } from "@effect-hedge/platform/HttpHedge"
import { Effect, Layer } from "effect"
import { HedgePolicy, HedgeSchedule } from "effect-hedge"

let requests = 0
const server = createServer((_, response) => {
  requests += 1
  if (requests % 2 === 0) response.end(`answer ${requests}`)
})
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/price`

const text: Effect.Effect<string, HttpClientError.HttpClientError, HttpClient.HttpClient> = HttpClient.get(
  url
).pipe(Effect.flatMap((response) => response.text))

const policy = { schedule: HedgeSchedule.fixed("5 millis") }
const Hedged = HttpHedge.layer.pipe(
  Layer.provide(HedgePolicy.layer(policy)),
  Layer.provide(FetchHttpClient.layer)
)
strictEqual(await Effect.runPromise(Effect.provide(text, Hedged)), "answer 2")

const hedgedHere = Effect.gen(function* () {
  const client = (yield* HttpClient.HttpClient).pipe(
    HttpHedge.withHedge({ policy: HedgePolicy.make(policy) })
  )
  const response = yield* client.get(url)
  strictEqual(routeOf(response.request), "GET /price")
  return yield* response.text
})
strictEqual(await Effect.runPromise(Effect.provide(hedgedHere, FetchHttpClient.layer)), "answer 4")

server.close()
server.closeAllConnections()
