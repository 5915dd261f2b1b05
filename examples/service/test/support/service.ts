/** The service on a port of its own, under the test's clock. */
import { createServer } from "node:http"
import { HttpServer } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Effect, Layer, type Scope } from "effect"
import * as Service from "../../src/service.js"
import * as Telemetry from "../../src/telemetry.js"

export interface Running {
  readonly url: string
  /** The status of the answer to a caller. */
  readonly quote: (symbol: string) => Effect.Effect<number>
  readonly metrics: Effect.Effect<string>
}

export const service = (options: {
  readonly upstream: string
  readonly otlp?: string
}): Effect.Effect<Running, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const server = yield* Layer.build(
      Service.layer(options).pipe(
        Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })),
        Layer.provide(Telemetry.layer({ otlp: options.otlp }))
      )
    )
    const address = Context.get(server, HttpServer.HttpServer).address
    if (address._tag !== "TcpAddress") return yield* Effect.dieMessage("the service has no port")
    const url = `http://127.0.0.1:${address.port}`
    const get = (path: string) => Effect.promise((signal) => fetch(`${url}${path}`, { signal }))
    return {
      url,
      quote: (symbol) =>
        Effect.flatMap(get(`/quotes/${symbol}`), (response) =>
          Effect.as(
            Effect.promise(() => response.text()),
            response.status
          )
        ),
      metrics: Effect.flatMap(get("/metrics"), (response) => Effect.promise(() => response.text()))
    }
  })
