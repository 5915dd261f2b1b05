/** What servers of HTTP/1.1 do to their connections while nobody reads. */
import { createServer, type Socket } from "node:net"
import { HttpClient } from "@effect/platform"
import { expect, it } from "@effect/vitest"
import { Deferred, Effect, FiberId, Stream } from "effect"
import { lanes, turn } from "./support/clients.js"

const body = Buffer.alloc(100_000, "a")

interface RawServer {
  readonly url: string
  /** Its first connection, when the answer has been written. */
  readonly socket: Effect.Effect<Socket>
  readonly stop: Effect.Effect<void>
}

/** A server that answers its first connection with these bytes, and leaves it open. */
const answering = (head: string) =>
  Effect.acquireRelease(
    Effect.async<RawServer>((resume) => {
      const answered = Deferred.unsafeMake<Socket>(FiberId.none)
      const server = createServer((socket) => {
        socket.on("error", () => {})
        socket.once("data", () => {
          socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`)
          socket.write(body, () => Deferred.unsafeDone(answered, Effect.succeed(socket)))
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as { readonly port: number }
        const stop = Effect.sync(() => void server.close())
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, socket: Deferred.await(answered), stop }))
      })
    }),
    ({ stop }) => stop
  )

const turns = Effect.repeatN(turn, 20)

/** Reads a body when the server has ended the connection and the client has had time to hear of it. */
const readLate = (server: RawServer, end: (socket: Socket) => void) =>
  Effect.gen(function* () {
    const response = yield* (yield* HttpClient.HttpClient).get(server.url)
    const socket = yield* server.socket
    yield* turns
    end(socket)
    yield* turns
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
    const server = yield* answering(head)
    expect(yield* readLate(server, fin)).toBe(body.length)
  }).pipe(Effect.provide(lanes()))
)

it.scopedLive.each([
  ["closed before all of it has come", "connection: close\r\ncontent-length: 200000", fin],
  ["reset before all of it has come", "connection: close\r\ncontent-length: 200000", rst],
  ["reset, and would have ended the body", "connection: close", rst]
] as const)("A body that nobody reads while its connection is %s is an error", ([_, head, end]) =>
  Effect.gen(function* () {
    const server = yield* answering(head)
    expect(yield* Effect.flip(readLate(server, end))).toMatchObject({
      _tag: "ResponseError",
      reason: "Decode"
    })
  }).pipe(Effect.provide(lanes()))
)
