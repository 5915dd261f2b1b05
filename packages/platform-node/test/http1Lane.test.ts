/** What servers of HTTP/1.1 do to their connections while nobody reads. */
import { createServer, type Socket } from "node:net"
import { HttpClient } from "@effect/platform"
import { expect, it } from "@effect/vitest"
import { Deferred, Effect, FiberId, Stream } from "effect"
import { lanes, turn } from "./support/clients.js"

const body = Buffer.alloc(100_000, "a")

interface ClosingServer {
  readonly url: string
  /** Ends when it has ended its connection. */
  readonly ended: Effect.Effect<void>
  readonly stop: Effect.Effect<void>
}

/** A server that answers its first connection with these bytes, and then ends it. */
const answering = (head: string, end: (socket: Socket) => void) =>
  Effect.acquireRelease(
    Effect.async<ClosingServer>((resume) => {
      const ended = Deferred.unsafeMake<void>(FiberId.none)
      const server = createServer((socket) => {
        const onEnded = () => Deferred.unsafeDone(ended, Effect.void)
        socket
          .on("error", () => {})
          .on("finish", onEnded)
          .on("close", onEnded)
        socket.once("data", () => {
          socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`)
          socket.write(body, () => end(socket))
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as { readonly port: number }
        const stop = Effect.sync(() => void server.close())
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, ended: Deferred.await(ended), stop }))
      })
    }),
    ({ stop }) => stop
  )

/** Reads a body when all has happened that the server does. */
const readLate = ({ ended, url }: ClosingServer) =>
  Effect.gen(function* () {
    const response = yield* (yield* HttpClient.HttpClient).get(url)
    yield* ended
    yield* Effect.repeatN(turn, 20)
    const chunks = yield* Stream.runCollect(response.stream)
    return Buffer.concat([...chunks]).length
  })

const fin = (socket: Socket): void => void socket.end()
const rst = (socket: Socket): void => void socket.resetAndDestroy()

it.scopedLive.each([
  ["a known length", `connection: close\r\ncontent-length: ${body.length}`],
  ["no known length", "connection: close"]
] as const)("A body of %s that is read after the server has closed the connection is whole", ([_, head]) =>
  Effect.gen(function* () {
    const server = yield* answering(head, fin)
    expect(yield* readLate(server)).toBe(body.length)
  }).pipe(Effect.provide(lanes()))
)

it.scopedLive.each([
  ["closed before all of it has come", "connection: close\r\ncontent-length: 200000", fin],
  ["reset before all of it has come", "connection: close\r\ncontent-length: 200000", rst],
  ["reset, and would have ended the body", "connection: close", rst]
] as const)("A body that nobody reads while its connection is %s is an error", ([_, head, end]) =>
  Effect.gen(function* () {
    const server = yield* answering(head, end)
    expect(yield* Effect.flip(readLate(server))).toMatchObject({
      _tag: "ResponseError",
      reason: "Decode"
    })
  }).pipe(Effect.provide(lanes()))
)
