import { once } from "node:events"
import * as Net from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { look, parse } from "../../src/probe/kernel.js"

const connected = Effect.gen(function* () {
  const server = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const server = Net.createServer((socket) => socket.resume())
      await once(server.listen(0, "127.0.0.1"), "listening")
      return server
    }),
    (server) => Effect.sync(() => server.close())
  )
  const { port } = server.address() as Net.AddressInfo
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() => Net.connect(port, "127.0.0.1")),
    (socket) => Effect.sync(() => socket.destroy())
  )
  yield* Effect.promise(() => once(socket, "connect"))
  return socket
})

describe("what ss prints", () => {
  it("is read by its names", () => {
    const printed = [
      "ESTAB 12 3456 192.0.2.7:51234 198.51.100.9:443",
      "\t cubic wscale:7,7 rto:1632 backoff:3 rtt:212.5/38.1 ato:40 mss:1448 pmtu:1500 cwnd:1 ssthresh:2 bytes_sent:9000 retrans:1/305 lost:1 unacked:2 notsent:2008 minrtt:31.2",
      ""
    ].join("\n")
    expect(parse(printed)).toEqual({
      state: "ESTAB",
      receiveQueue: 12,
      sendQueue: 3456,
      notSent: 2008,
      retransmits: 305,
      congestionWindow: 1,
      rttMs: 212.5,
      minRttMs: 31.2,
      retransmitTimeoutMs: 1632
    })
  })

  it("need not say everything", () => {
    expect(parse("ESTAB 0 0 127.0.0.1:1 127.0.0.1:2\n\t cubic cwnd:10\n")).toEqual({
      state: "ESTAB",
      receiveQueue: 0,
      sendQueue: 0,
      notSent: null,
      retransmits: 0,
      congestionWindow: 10,
      rttMs: null,
      minRttMs: null,
      retransmitTimeoutMs: null
    })
  })

  it("is nothing for a connection that is gone", () => {
    expect(parse("")).toBeUndefined()
  })
})

describe("the system's view of a connection", () => {
  it.scopedLive("is not to be had where there is no ss, which is no error", () =>
    Effect.gen(function* () {
      const socket = yield* connected
      expect(yield* look(socket, "linux", "no-such-command")).toEqual({
        unavailable: "no-such-command is not installed"
      })
      expect(yield* look(socket, "darwin")).toEqual({ unavailable: "darwin has no ss" })
    })
  )

  it.scopedLive("is of this connection, if there is one", () =>
    Effect.gen(function* () {
      const socket = yield* connected
      const seen = yield* look(socket)
      // where tests run there may be no ss
      if ("unavailable" in seen) expect(seen.unavailable).not.toBe("")
      else expect(seen).toMatchObject({ state: "ESTAB", sendQueue: 0, retransmits: 0 })
    })
  )
})
