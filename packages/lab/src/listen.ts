import type { AddressInfo, Server } from "node:net"
import { Effect, type Scope } from "effect"

/** Listens on a port of 127.0.0.1 that is free, which it answers with, until the scope closes. */
export const listen = (
  server: Server,
  closeConnections: () => void
): Effect.Effect<number, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<number>((resume) => {
      server.listen({ host: "127.0.0.1", port: 0, backlog: 4_096 }, () =>
        resume(Effect.succeed((server.address() as AddressInfo).port))
      )
    }),
    () =>
      Effect.sync(() => {
        server.close()
        closeConnections()
      })
  )
