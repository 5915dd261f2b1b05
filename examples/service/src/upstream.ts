/**
 * A server with a tail, to try the service with: it answers in 10 to 50 ms, and one time in ten in 500 to 1,000 ms.
 */

import { createServer } from "node:http"
import { HttpRouter, HttpServer, HttpServerResponse } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Effect, Layer, Random } from "effect"

/** The base URL of the server that knows the quotes. */
export class Upstream extends Context.Tag("service/Upstream")<Upstream, string>() {}

const quote = Effect.gen(function* () {
  const late = yield* Random.nextIntBetween(0, 10)
  const millis = yield* late === 0 ? Random.nextRange(500, 1_000) : Random.nextRange(10, 50)
  const { symbol } = yield* HttpRouter.params
  return yield* Effect.delay(HttpServerResponse.json({ symbol, price: 42 }), millis)
})

const server = HttpRouter.empty.pipe(
  HttpRouter.get("/quotes/:symbol", quote),
  HttpServer.serve(),
  Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))
)

/** One on a port of its own, on this machine. */
export const simulated = Layer.effect(
  Upstream,
  HttpServer.addressFormattedWith((address) => Effect.succeed(address))
).pipe(Layer.provide(server))
