import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { Effect, type Scope } from "effect"

export interface Relay {
  readonly address: string
  /** Ends all connections. */
  readonly cut: () => void
}

/** Passes so many connections on to a port of this machine; those that come after them it accepts and leaves alone. */
export const relay = (port: number, connections: number): Effect.Effect<Relay, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<Relay & { readonly stop: () => void }>((resume) => {
      const sockets = new Set<Socket>()
      const keep = (socket: Socket): Socket => {
        sockets.add(socket)
        return socket.on("error", () => {})
      }
      let passedOn = 0
      const server = createServer((socket) => {
        keep(socket)
        if (passedOn++ < connections) socket.pipe(keep(connect(port, "127.0.0.1"))).pipe(socket)
      })
      server.listen(0, "127.0.0.1", () => {
        const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
        const cut = () => {
          for (const socket of sockets) socket.destroy()
        }
        const stop = () => {
          server.close()
          cut()
        }
        resume(Effect.succeed({ address, cut, stop }))
      })
    }),
    ({ stop }) => Effect.sync(stop)
  )
