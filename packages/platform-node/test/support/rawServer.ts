import { type AddressInfo, createServer, type Socket } from "node:net"
import { Effect, type Scope } from "effect"

export interface RawServer {
  readonly url: string
  /** The head of each request, in the order of arrival. */
  readonly heads: ReadonlyArray<string>
}

/** A server that answers each head of a request with bytes of its own, right or wrong. */
export const serveRaw = (
  answer: (socket: Socket, head: string) => void
): Effect.Effect<RawServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<RawServer & { readonly stop: () => void }>((resume) => {
      const heads: Array<string> = []
      const sockets = new Set<Socket>()
      const server = createServer((socket) => {
        sockets.add(socket)
        let received = ""
        socket.on("error", () => {})
        socket.on("close", () => sockets.delete(socket))
        socket.on("data", (bytes) => {
          received += bytes.toString("latin1")
          const parts = received.split("\r\n\r\n")
          received = parts.pop()!
          for (const head of parts) {
            heads.push(head)
            answer(socket, head)
          }
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        const stop = () => {
          server.close()
          for (const socket of sockets) socket.destroy()
        }
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, heads, stop }))
      })
    }),
    ({ stop }) => Effect.sync(stop)
  )
