import { once } from "node:events"
import * as Net from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { now } from "../../src/clock.js"
import * as Proxy from "../../src/hol/proxy.js"

const fast = 64 * 1_024 * 1_024

/** A server, and a proxy to it. */
const setUp = (serve: (socket: Net.Socket) => void, bandwidth = { down: fast, up: fast }) =>
  Effect.gen(function* () {
    const sockets = new Set<Net.Socket>()
    const server = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const server = Net.createServer({ allowHalfOpen: true }, (socket) => {
          sockets.add(socket)
          socket.on("error", () => {})
          serve(socket)
        })
        await once(server.listen(0, "127.0.0.1"), "listening")
        return server
      }),
      (server) =>
        Effect.sync(() => {
          server.close()
          for (const socket of sockets) socket.destroy()
        })
    )
    const { port } = server.address() as Net.AddressInfo
    const proxy = yield* Proxy.make({ to: port, bandwidth })
    const connect = Effect.acquireRelease(
      Effect.sync(() => Net.connect({ port: proxy.port, host: "127.0.0.1" }).on("error", () => {})),
      (socket) => Effect.sync(() => socket.destroy())
    )
    return { proxy, connect }
  })

const received = (socket: Net.Socket) =>
  Effect.promise(async () => {
    const chunks: Array<Buffer> = []
    for await (const chunk of socket) chunks.push(chunk)
    return Buffer.concat(chunks)
  })

const event = (socket: Net.Socket, name: string) => Effect.promise(() => once(socket, name))

/** Bytes of which each run is different from the next. */
const bytes = (length: number) =>
  Buffer.from(Uint32Array.from({ length: length / 4 }, (_, i) => i * 2_654_435_761).buffer)

describe("the proxy", () => {
  it.scopedLive("passes on every byte in its order, both ways, and each end of what was sent", () =>
    Effect.gen(function* () {
      const { connect } = yield* setUp((socket) => socket.pipe(socket))
      const client = yield* connect
      const sent = bytes(1_000_000)
      client.end(sent)
      expect((yield* received(client)).equals(sent)).toBe(true)
    })
  )

  it.scopedLive("lets no more through than its bandwidth", () =>
    Effect.gen(function* () {
      const bandwidth = { down: 200_000, up: fast }
      const { connect } = yield* setUp((socket) => socket.end(bytes(100_000)), bandwidth)
      const client = yield* connect
      const startedAt = now()
      expect(yield* received(client)).toHaveLength(100_000)
      // but for what an idle connection lets through at once
      expect(now() - startedAt).toBeGreaterThan(480)
    })
  )

  it.scopedLive("keeps what waits on one connection out of the way of another", () =>
    Effect.gen(function* () {
      const bandwidth = { down: 50_000, up: fast }
      const { connect } = yield* setUp((socket) => {
        socket.once("data", (asked) => socket.write(String(asked) === "much" ? bytes(8_000_000) : "little"))
      }, bandwidth)
      const [crowded, other] = [yield* connect, yield* connect]
      let seen = 0
      crowded.on("data", (chunk) => {
        seen += chunk.length
      })
      crowded.write("much")
      yield* event(crowded, "data")
      other.write("little")
      expect(String((yield* event(other, "data"))[0])).toBe("little")
      expect(seen).toBeLessThan(8_000_000)
    })
  )

  it.scopedLive("breaks a connection on one side that has broken on the other", () =>
    Effect.gen(function* () {
      const { connect } = yield* setUp((socket) => socket.once("data", () => socket.resetAndDestroy()))
      const client = yield* connect
      client.resume().write("x")
      yield* event(client, "close")
      expect(client.destroyed).toBe(true)
    })
  )

  it.scopedLive("closes its connection to the server when the client has gone", () =>
    Effect.gen(function* () {
      const gone = yield* Deferred.make<void>()
      const { connect } = yield* setUp((socket) => {
        socket.write("x")
        socket
          .on("end", () => socket.end())
          .on("close", () => Deferred.unsafeDone(gone, Effect.void))
          .resume()
      })
      const client = yield* connect
      yield* event(client, "data")
      client.destroy()
      yield* Deferred.await(gone)
    })
  )

  it.scopedLive("counts its connections, those that are open and those that were", () =>
    Effect.gen(function* () {
      const { connect, proxy } = yield* setUp((socket) => socket.pipe(socket))
      const [first, second] = [yield* connect, yield* connect]
      first.write("x")
      second.write("x")
      yield* Effect.all([event(first, "data"), event(second, "data")])
      expect(proxy.connections()).toEqual({ opened: 2, open: 2 })
      first.end()
      yield* event(first, "close")
      yield* Effect.iterate(proxy.connections(), {
        while: ({ open }) => open > 1,
        body: () => Effect.map(Effect.yieldNow(), () => proxy.connections())
      })
      expect(proxy.connections()).toEqual({ opened: 2, open: 1 })
    })
  )
})
