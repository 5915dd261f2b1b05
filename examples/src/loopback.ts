/** Servers on this machine for the examples that need one. */
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Effect, Layer, Queue, type Scope } from "effect"

/** Serves until the scope closes, and says where. */
export const serve = (listener: Http.RequestListener): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<Http.Server>((resume) => {
      const server = Http.createServer(listener)
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  ).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`))

/** An `HttpServer` at a free port, for what is served by layers. */
export const Loopback = NodeHttpServer.layer(Http.createServer, { host: "127.0.0.1", port: 0 })

/**
 * Counts the requests to each endpoint, and tells of those that are given up. The first one is late, by more than a hedge would wait, or has no
 * answer at all.
 */
export class Visits extends Context.Tag("app/Visits")<
  Visits,
  {
    readonly visit: (endpoint: string) => Effect.Effect<void>
    readonly counts: Record<string, number>
    readonly givenUp: Queue.Dequeue<string>
  }
>() {
  static readonly layer = (silent: ReadonlyArray<string>) =>
    Layer.effect(
      Visits,
      Effect.map(Queue.unbounded<string>(), (givenUp) => {
        const counts: Record<string, number> = {}
        const visit = (endpoint: string) =>
          Effect.suspend(() => {
            counts[endpoint] = (counts[endpoint] ?? 0) + 1
            if (counts[endpoint] > 1) return Effect.void
            return silent.includes(endpoint) ? Effect.never : Effect.sleep("100 millis")
          }).pipe(Effect.onInterrupt(() => Queue.offer(givenUp, endpoint)))
        return { counts, givenUp, visit }
      })
    )
}
