import { once } from "node:events"
import type { Socket } from "node:net"
import { Readable } from "node:stream"
import { afterEach, describe, expect, it } from "vitest"
import type { Http2Settings } from "../src/internal/http2Lane.js"
import {
  ErrorCode,
  type FramePeer,
  FrameServer,
  FrameType,
  type PeerOptions,
  Setting
} from "./support/frames.js"
import { type OpenedLane, openLane } from "./support/lane.js"

const cleanups: Array<() => Promise<void>> = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

interface Ends extends OpenedLane {
  readonly peer: FramePeer
}

/** A lane and the other end of it. */
const bothEnds = async (peer: PeerOptions = {}, settings: Partial<Http2Settings> = {}): Promise<Ends> => {
  const server = new FrameServer(peer)
  await server.listen()
  const accepted = server.accept()
  const opened = await openLane(server.port, settings)
  cleanups.push(async () => {
    opened.lane.destroy(new Error("the test is over"))
    await opened.owner.closed
    await server.stop()
  })
  return { ...opened, peer: await accepted }
}

const silent = { pingInterval: Infinity }

/** A whole answer, "ab", of which "a" has been taken when its exchange has room for no more. */
const answeredWithoutRoom = async () => {
  const ends = await bothEnds()
  const { peer } = ends
  const { exchange, sent } = ends.send()
  exchange.hasRoom = false
  await peer.opened(1)
  peer.headers(1, [[":status", "200"]], "more")
  peer.data(1, "a", "more")
  await exchange.until((it) => it.text === "a")
  peer.data(1, "b", "end")
  return { ...ends, exchange, sent }
}

describe("how many requests an HTTP/2 lane takes", () => {
  it("none once the server has ended its side, before the connection has closed", async () => {
    const { lane, owner, peer } = await bothEnds()
    await peer.handled()
    const ended = once(Reflect.get(lane, "socket") as Socket, "end")
    peer.socket.end()
    await ended
    expect(lane.state).toBe("closed")
    await owner.closed
  })

  it("none where the server allows none: when the last has ended the lane counts as idle", async () => {
    const { lane, owner, peer, send } = await bothEnds({ settings: { [Setting.MaxConcurrentStreams]: 3 } })
    await peer.handled()
    const { exchange } = send()
    await peer.opened(1)
    peer.settings({ [Setting.MaxConcurrentStreams]: 0 })
    await peer.handled()
    const { frees } = owner
    peer.answer(1, "x")
    await exchange.settled
    await owner.until(() => lane.inFlight === 0)
    expect([lane.capacity, owner.frees]).toEqual([0, frees + 1])
  })

  it("few until the server has said how many it allows", async () => {
    const { lane, owner, peer } = await bothEnds({ settings: "none" })
    expect(lane.capacity).toBe(10)
    peer.settings({ [Setting.MaxConcurrentStreams]: 64 })
    await owner.until((it) => it.frees > 0)
    expect(lane.capacity).toBe(64)
  })

  it("as many as were configured, if the server sets no limit", async () => {
    const { lane, owner } = await bothEnds({ settings: {} }, { streamsPerLane: 30 })
    await owner.until(() => lane.capacity === 30)
  })

  it("what the server allows now, be it less than before, and without going back on what is in flight", async () => {
    const { lane, owner, peer, send } = await bothEnds({ settings: { [Setting.MaxConcurrentStreams]: 3 } })
    await peer.handled()
    expect(lane.capacity).toBe(3)
    const exchanges = [send().exchange, send().exchange, send().exchange]
    await peer.opened(3)
    peer.settings({ [Setting.MaxConcurrentStreams]: 1 })
    await peer.handled()
    expect([lane.capacity, lane.inFlight]).toEqual([1, 3])
    for (const stream of peer.streams) peer.answer(stream, "x")
    for (const exchange of exchanges) await exchange.settled
    expect(exchanges.map((exchange) => exchange.outcome)).toEqual(["end", "end", "end"])
    await owner.until(() => lane.inFlight === 0)
    peer.settings({ [Setting.MaxConcurrentStreams]: 5 })
    await owner.until(() => lane.capacity === 5)
  })

  it("fewer once the server has refused one, and again more with each answer", async () => {
    const { lane, owner, peer, send } = await bothEnds({ settings: { [Setting.MaxConcurrentStreams]: 8 } })
    await peer.handled()
    const exchanges = [send().exchange, send().exchange, send().exchange]
    await peer.opened(3)
    peer.reset(5, ErrorCode.RefusedStream)
    await exchanges[2]!.settled
    expect(exchanges[2]).toMatchObject({ outcome: "refused", error: { code: "Refused" } })
    expect(lane.capacity).toBe(2)
    peer.answer(1)
    await exchanges[0]!.settled
    await owner.until(() => lane.inFlight === 1)
    expect(lane.capacity).toBe(3)
  })
})

describe("what becomes of a request when the server", () => {
  it("resets it: an error that says how", async () => {
    const { peer, send } = await bothEnds()
    const { exchange } = send()
    await peer.opened(1)
    peer.reset(1, ErrorCode.Internal)
    await exchange.settled
    expect(exchange.told).toEqual(["sent", "error"])
    expect(exchange.error).toMatchObject({
      code: "Reset",
      message: "the server reset the stream: INTERNAL_ERROR"
    })
  })

  it.each([
    ["no error", ErrorCode.None, "Truncated"],
    ["CANCEL", ErrorCode.Cancel, "Reset"]
  ])(
    "stops in the middle of the answer with %s: no end that would pass for one",
    async (_, code, expected) => {
      const { peer, send } = await bothEnds()
      const { exchange } = send()
      await peer.opened(1)
      peer.headers(1, [[":status", "200"]], "more")
      peer.data(1, "half", "more")
      await exchange.until((it) => it.text === "half")
      peer.reset(1, code)
      await exchange.settled
      expect(exchange.told).toEqual(["sent", "headers", "data", "error"])
      expect(exchange.error).toMatchObject({ code: expected })
    }
  )

  it.each([
    ["closes the connection", (peer: FramePeer) => peer.socket.destroy()],
    ["half-closes the connection", (peer: FramePeer) => peer.socket.end()],
    ["resets the connection", (peer: FramePeer) => peer.socket.resetAndDestroy()]
  ])("%s in the middle of the answer: an error, once", async (_, end) => {
    const { lane, owner, peer, send } = await bothEnds()
    const cut = send().exchange
    const waiting = send().exchange
    await peer.opened(2)
    peer.headers(1, [[":status", "200"]], "more")
    peer.data(1, "half", "more")
    await cut.until((it) => it.text === "half")
    end(peer)
    await owner.closed
    expect(cut.told).toEqual(["sent", "headers", "data", "error"])
    expect(waiting.told).toEqual(["sent", "error"])
    expect(lane).toMatchObject({ state: "closed", inFlight: 0 })
    expect(owner.closings).toBe(1)
    expect(owner.closedBy).toBe(cut.error)
  })

  it.each([
    ["more", "2"],
    ["less", "20"]
  ])("sends %s than its content-length says: an error", async (_, length) => {
    const { peer, send } = await bothEnds()
    const { exchange } = send()
    await peer.opened(1)
    peer.headers(
      1,
      [
        [":status", "200"],
        ["content-length", length]
      ],
      "more"
    )
    peer.data(1, "four", "end")
    await exchange.settled
    // Node 22 ends the connection over it, Node 20 the stream
    expect(exchange.outcome).toBe("error")
  })

  it("sends early hints and trailers: only the answer itself is told", async () => {
    const { peer, send } = await bothEnds()
    const { exchange } = send()
    await peer.opened(1)
    peer.headers(
      1,
      [
        [":status", "103"],
        ["link", "</a.css>"]
      ],
      "more"
    )
    peer.headers(
      1,
      [
        [":status", "200"],
        ["x-a", "1"]
      ],
      "more"
    )
    peer.data(1, "body", "more")
    peer.headers(1, [["x-checksum", "1"]], "end")
    await exchange.settled
    expect(exchange.told).toEqual(["sent", "headers", "data", "end"])
    expect(Object.entries(exchange.answerHeaders)).toEqual([["x-a", "1"]])
  })

  it("sends more headers than fit: an error", async () => {
    const { peer, send } = await bothEnds()
    const { exchange } = send()
    await peer.opened(1)
    peer.headers(
      1,
      [[":status", "200"], ...Array.from({ length: 3000 }, (_, i) => [`x-${i}`, "v"] as const)],
      "end"
    )
    await exchange.settled
    expect(exchange.error).toMatchObject({ code: "Reset" })
  })

  it("sends more headers than fit on one connection after another: the process goes on", async () => {
    const fields = Array.from({ length: 3000 }, (_, i) => [`x-${i}`, "v"] as const)
    const garbage: Array<object> = []
    for (let connection = 0; connection < 100; connection++) {
      const { peer, send } = await bothEnds()
      const { exchange } = send()
      await peer.opened(1)
      peer.headers(1, [[":status", "200"], ...fields], "end")
      await exchange.settled
      expect(exchange.error).toMatchObject({ code: "Reset" })
      // in one of a few hundred times a young session was collected before its streams, at which Node ended the process
      for (let i = 0; i < 20_000; i++) garbage[i % 100] = { i }
      await cleanups.pop()!()
    }
  })

  it("answers before the upload has ended: the answer is told, the rest of the upload is not sent", async () => {
    const { lane, owner, peer, send } = await bothEnds({ opensWindows: false })
    const body = new Readable({ read() {} })
    body.push(Buffer.alloc(10))
    const { exchange } = send({ method: "POST", body })
    await peer.until((it) => it.frames(FrameType.Data).length === 1)
    peer.answer(1, "no thanks", 413)
    await exchange.settled
    expect([exchange.outcome, exchange.status, exchange.text]).toEqual(["end", 413, "no thanks"])
    await peer.until((it) => it.frames(FrameType.RstStream).length === 1)
    await owner.until(() => lane.inFlight === 0)
    expect(body.destroyed).toBe(true)
  })

  it.each([
    ["in the middle of its answer", "more", "error"],
    ["after its answer", "end", "end"]
  ] as const)("stops an upload %s, without an error: the slot is free again", async (_, last, outcome) => {
    const { lane, owner, peer, send } = await bothEnds({ opensWindows: false })
    const { exchange, sent } = send({ method: "POST", body: Buffer.alloc(200_000) })
    exchange.hasRoom = false
    await peer.until((it) => it.frames(FrameType.Data).length === 4)
    peer.headers(1, [[":status", "200"]], "more")
    peer.data(1, "a", "more")
    await exchange.until((it) => it.text === "a")
    peer.data(1, "b", last)
    peer.reset(1, ErrorCode.None)
    await peer.handled()
    sent.resume()
    await exchange.settled
    expect([exchange.outcome, exchange.text]).toEqual([outcome, "ab"])
    await owner.until(() => lane.inFlight === 0)
  })

  it("does not take in a large upload: other requests are answered", async () => {
    const { peer, send } = await bothEnds()
    await peer.handled()
    send({ method: "PUT", body: Buffer.alloc(64 * 1024 * 1024) })
    const { exchange } = send()
    await peer.opened(2)
    peer.answer(3, "x")
    await exchange.settled
    expect([exchange.outcome, exchange.text]).toEqual(["end", "x"])
  })

  it("resets an upload: an error, and nobody reads its body any more", async () => {
    const { peer, send } = await bothEnds()
    const body = new Readable({ read() {} })
    body.push(Buffer.alloc(10))
    const { exchange } = send({ method: "POST", body })
    await peer.until((it) => it.frames(FrameType.Data).length === 1)
    peer.reset(1, ErrorCode.Internal)
    await exchange.settled
    expect(exchange.error).toMatchObject({ code: "Reset" })
    expect(body.destroyed).toBe(true)
  })

  it("refuses one whose body has been read: an error, since it cannot be sent again", async () => {
    const { peer, send } = await bothEnds()
    const body = new Readable({ read() {} })
    body.push(Buffer.alloc(10))
    const { exchange } = send({ method: "POST", body })
    await peer.until((it) => it.frames(FrameType.Data).length === 1)
    peer.reset(1, ErrorCode.RefusedStream)
    await exchange.settled
    expect(exchange.outcome).toBe("error")
  })

  it.each([
    ["by a reset", (peer: FramePeer) => peer.reset(1, ErrorCode.RefusedStream)],
    ["by a GOAWAY", (peer: FramePeer) => peer.goAway(0)]
  ] as const)(
    "refuses an upload of which nothing has been read, %s: another lane sends it whole",
    async (_, refuse) => {
      const { peer, send } = await bothEnds()
      const body = new Readable({ read() {} })
      const { exchange } = send({ method: "POST", body })
      await peer.opened(1)
      refuse(peer)
      await exchange.settled
      expect([exchange.outcome, body.destroyed]).toEqual(["refused", false])

      const other = await bothEnds()
      const again = other.send({ method: "POST", body }).exchange
      body.push("whole")
      body.push(null)
      await other.peer.until((it) => it.frames(FrameType.Data).some(({ flags }) => flags === 1))
      expect(Buffer.concat(other.peer.frames(FrameType.Data).map(({ payload }) => payload)).toString()).toBe(
        "whole"
      )
      other.peer.answer(1)
      await again.settled
      expect(again.outcome).toBe("end")
    }
  )

  it("ends the connection after a whole answer for which there was no room: it is told whole", async () => {
    const { exchange, owner, peer } = await answeredWithoutRoom()
    peer.socket.end()
    await owner.closed
    expect([exchange.outcome, exchange.text]).toEqual(["end", "ab"])
  })

  it("sends what are no frames: an error, by the time the connection counts as dead", async () => {
    const { owner, peer, send } = await bothEnds({}, { pingInterval: 10, pingTimeout: 50 })
    const { exchange } = send()
    await peer.opened(1)
    peer.socket.write("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
    await exchange.settled
    expect(exchange.told).toEqual(["sent", "error"])
    await owner.closed
  })

  it("pushes: the connection ends", async () => {
    const { owner, peer, send } = await bothEnds()
    const { exchange } = send()
    await peer.opened(1)
    peer.frame(FrameType.PushPromise, 4, 1, Buffer.from([0, 0, 0, 2, 0x82]))
    await owner.closed
    expect(exchange.outcome).toBe("error")
  })
})

describe("GOAWAY", () => {
  it("drains: requests up to its last stream are answered, those beyond are refused, and the lane closes after them", async () => {
    const { lane, owner, peer, send } = await bothEnds()
    const first = send().exchange
    const second = send().exchange
    await peer.opened(2)
    peer.goAway(1)
    await second.settled
    expect(second).toMatchObject({ outcome: "refused", error: { code: "GoAway" } })
    expect(owner.drained).toEqual(["GoAway"])
    expect(lane.state).toBe("draining")
    peer.answer(1, "still here")
    await first.settled
    expect(first.text).toBe("still here")
    await owner.closed
    expect(owner.closedBy).toBe(undefined)
  })

  it("in two steps: the first leaves all, the second says which are answered", async () => {
    const { owner, peer, send } = await bothEnds()
    const first = send().exchange
    const second = send().exchange
    await peer.opened(2)
    peer.goAway(0x7fffffff)
    await owner.until((it) => it.drained.length > 0)
    expect([first.outcome, second.outcome]).toEqual([undefined, undefined])
    peer.goAway(1)
    await second.settled
    expect(second.outcome).toBe("refused")
    peer.answer(1, "x")
    await first.settled
    expect(first.outcome).toBe("end")
    await owner.closed
  })

  it("with an error: what the server may have worked on fails, the rest is refused", async () => {
    const { owner, peer, send } = await bothEnds()
    const first = send().exchange
    const second = send().exchange
    await peer.opened(2)
    peer.goAway(1, ErrorCode.EnhanceYourCalm)
    await owner.closed
    expect(first).toMatchObject({ outcome: "error", error: { code: "GoAway" } })
    expect(first.error?.message).toContain("ENHANCE_YOUR_CALM")
    expect(second.outcome).toBe("refused")
    expect(owner.closedBy).toBe(first.error)
  })

  it("PINGs go on while the last requests run, so that a server that has gone is noticed", async () => {
    const { owner, peer, send } = await bothEnds(
      { answersPings: false },
      { pingInterval: 10, pingTimeout: 50 }
    )
    const { exchange } = send()
    await peer.opened(1)
    peer.goAway(1)
    await exchange.settled
    expect(exchange.error).toMatchObject({ code: "ConnectionDead" })
    await owner.closed
  })
})

describe("a cancelled request", () => {
  it("is reset, and keeps its slot until a PING after the reset has returned", async () => {
    const { lane, owner, peer, send } = await bothEnds({ answersPings: false }, silent)
    const { exchange, sent } = send()
    await peer.opened(1)
    sent.cancel()
    await peer.until((it) => it.unanswered.length === 1)
    expect(peer.received.slice(-2).map((frame) => frame.type)).toEqual([FrameType.RstStream, FrameType.Ping])
    expect(lane.inFlight).toBe(1)
    peer.answerPings()
    await owner.until(() => lane.inFlight === 0)
    expect(exchange.told).toEqual(["sent"])
  })

  it("after a PING has gone out waits for the next", async () => {
    const { lane, owner, peer, send } = await bothEnds({ answersPings: false }, silent)
    const first = send()
    const second = send()
    await peer.opened(2)
    first.sent.cancel()
    await peer.until((it) => it.unanswered.length === 1)
    second.sent.cancel()
    await peer.until((it) => it.frames(FrameType.RstStream).length === 2)
    peer.answerPings()
    await owner.until(() => lane.inFlight === 1)
    await peer.until((it) => it.unanswered.length === 1)
    peer.answerPings()
    await owner.until(() => lane.inFlight === 0)
  })

  it("which the server's limit has kept back is never sent", async () => {
    const { lane, peer, send } = await bothEnds({ settings: { [Setting.MaxConcurrentStreams]: 2 } })
    await peer.handled()
    send()
    await peer.opened(1)
    peer.settings({ [Setting.MaxConcurrentStreams]: 1 })
    await peer.handled()
    const pings = peer.frames(FrameType.Ping).length
    const kept = send()
    kept.sent.cancel()
    await peer.until((it) => it.frames(FrameType.Ping).length > pings)
    await peer.handled()
    expect(lane.inFlight).toBe(1)
    expect(peer.streams).toEqual([1])
  })

  it("whose answer has come whole needs no reset: it is told of it all, though it has no room", async () => {
    const { exchange, lane, owner, peer, send, sent } = await answeredWithoutRoom()
    await exchange.settled
    sent.cancel()
    expect([exchange.outcome, exchange.text]).toEqual(["end", "ab"])
    await owner.until(() => lane.inFlight === 0)
    const last = send().exchange
    await peer.opened(2)
    peer.answer(3)
    await last.settled
    expect(peer.frames(FrameType.RstStream)).toEqual([])
  })

  it("whose upload runs is reset, and its body is given up", async () => {
    const { lane, owner, peer, send } = await bothEnds()
    const body = new Readable({ read() {} })
    body.push(Buffer.alloc(10))
    const { exchange, sent } = send({ method: "PUT", body })
    await peer.until((it) => it.frames(FrameType.Data).length === 1)
    sent.cancel()
    await peer.until((it) => it.frames(FrameType.RstStream).length === 1)
    await owner.until(() => lane.inFlight === 0)
    expect(body.destroyed).toBe(true)
    expect(exchange.told).toEqual(["sent"])
    // an end of the upload would make half of it pass for the whole
    expect(peer.frames(FrameType.Data).map((frame) => frame.flags)).toEqual([0])
  })

  it.each<[string, (ends: Ends, body: Readable) => void]>([
    ["its lane is destroyed", ({ lane }) => lane.destroy(new Error("enough"))],
    ["the server resets it", ({ peer }) => peer.reset(1, ErrorCode.Internal)],
    ["the server resets it and is fine", ({ peer }) => peer.reset(1, ErrorCode.None)],
    ["the server answers it as a whole", ({ peer }) => peer.answer(1)],
    ["the server has not begun it", ({ peer }) => peer.goAway(0)],
    ["the server leaves", ({ peer }) => peer.socket.end()],
    ["the server ends the connection for an error", ({ peer }) => peer.goAway(1, ErrorCode.EnhanceYourCalm)],
    [
      "its lane, which takes no more, is destroyed",
      ({ lane }) => {
        lane.drain()
        lane.destroy(new Error("enough"))
      }
    ],
    [
      "the server takes no more, and its lane is destroyed",
      ({ lane, peer }) => {
        peer.goAway(1)
        setImmediate(() => lane.destroy(new Error("enough")))
      }
    ],
    ["its body fails", (_, body) => body.destroy(new Error("no more"))]
  ])("whose upload is cut off because %s never seems whole", async (_, cutOff) => {
    const ends = await bothEnds()
    const { lane, owner, peer, send } = ends
    const body = new Readable({ read() {} })
    body.push(Buffer.alloc(10))
    const { exchange } = send({ method: "PUT", body })
    await peer.until((it) => it.frames(FrameType.Data).length === 1)
    const gone = new Promise((resolve) => peer.socket.once("close", resolve))
    cutOff(ends, body)
    await exchange.settled
    await owner.until(() => lane.inFlight === 0)
    lane.destroy(new Error("the test is over"))
    await gone
    expect(body.destroyed).toBe(true)
    expect(peer.frames(FrameType.Data).map((frame) => frame.flags)).toEqual([0])
  })

  it("is reset even if the connection is full: when the server reads again", async () => {
    const wide = 2 ** 30
    const { lane, owner, peer, send } = await bothEnds(
      { settings: { [Setting.InitialWindowSize]: wide } },
      silent
    )
    peer.openWindow(0, wide)
    await peer.handled()
    let pushed = 0
    const body = new Readable({
      read() {
        pushed++
        this.push(Buffer.alloc(65_536))
      }
    })
    const { sent } = send({ method: "PUT", body })
    await peer.until((it) => it.frames(FrameType.Data).length > 0)
    peer.socket.pause()
    for (let still = 0, before = 0; still < 50; still = pushed === before ? still + 1 : 0) {
      before = pushed
      await new Promise((resolve) => setImmediate(resolve))
    }
    sent.cancel()
    expect(lane.inFlight).toBe(1)
    peer.socket.resume()
    await owner.until(() => lane.inFlight === 0)
    expect(peer.frames(FrameType.RstStream)).toHaveLength(1)
    expect(peer.frames(FrameType.Data).some((frame) => frame.flags !== 0)).toBe(false)
  })

  it("is told nothing more, whatever comes", async () => {
    const { lane, owner, peer, send } = await bothEnds()
    const { exchange, sent } = send()
    await peer.opened(1)
    peer.answer(1, "too late")
    sent.cancel()
    sent.cancel()
    sent.resume()
    await owner.until(() => lane.inFlight === 0)
    expect(exchange.told).toEqual(["sent"])
  })
})

describe("when the ration of resets is spent", () => {
  it("a cancelled request is not reset, the lane drains, and closes after the last that somebody waits for", async () => {
    const { lane, owner, peer, send } = await bothEnds({}, { resetBurst: 1, resetsPerSecond: 0 })
    const [reset, abandoned, live] = [send(), send(), send()]
    await peer.opened(3)
    reset!.sent.cancel()
    expect(owner.drained).toEqual([])
    abandoned!.sent.cancel()
    expect(owner.drained).toEqual(["RationSpent"])
    expect(lane.state).toBe("draining")
    peer.answer(5, "x")
    await live!.exchange.settled
    expect(live!.exchange.text).toBe("x")
    await owner.closed
    expect(owner.closedBy).toBe(undefined)
    expect(peer.frames(FrameType.RstStream).map((frame) => frame.stream)).toEqual([1])
    expect(abandoned!.exchange.told).toEqual(["sent"])
  })

  it("at most 64 KB of its answer are dropped and what the window lets through, then the server has to wait", async () => {
    const window = 65_535
    const { lane, owner, peer, send } = await bothEnds({}, { resetBurst: 0, windowSize: window })
    const live = send().exchange
    const abandoned = send()
    await peer.opened(2)
    peer.headers(3, [[":status", "200"]], "more")
    await abandoned.exchange.until((it) => it.status === 200)
    abandoned.sent.cancel()
    let sentBytes = 0
    const allowed = () =>
      window +
      peer
        .frames(FrameType.WindowUpdate)
        .reduce((sum, frame) => sum + (frame.stream === 3 ? frame.payload.readUInt32BE() : 0), 0)
    for (;;) {
      while (allowed() - sentBytes >= 16_384) {
        peer.data(3, Buffer.alloc(16_384), "more")
        sentBytes += 16_384
      }
      await peer.handled()
      if (allowed() - sentBytes < 16_384) break
    }
    expect(sentBytes).toBeGreaterThanOrEqual(65_536)
    expect(sentBytes).toBeLessThanOrEqual(65_536 + 2 * window)
    expect(lane.inFlight).toBe(2)
    peer.answer(1)
    await live.settled
    await owner.closed
  })

  it("with nothing else in flight the lane closes at once", async () => {
    const { owner, peer, send } = await bothEnds({}, { resetBurst: 0 })
    const { sent } = send()
    await peer.opened(1)
    sent.cancel()
    await owner.closed
    await peer.until((it) => it.closed)
    expect(peer.frames(FrameType.GoAway)).toHaveLength(1)
  })
})

describe("PINGs", () => {
  it("are sent while requests come and go, and say the round trip", async () => {
    const { lane, peer, send } = await bothEnds({}, { pingInterval: 5 })
    expect(lane.roundTrip).toBe(0)
    for (let i = 0; peer.frames(FrameType.Ping).length < 3; i++) {
      const { exchange } = send()
      await peer.opened(i + 1)
      peer.answer(peer.streams[i]!)
      await exchange.settled
    }
    await peer.handled()
    expect(lane.roundTrip).toBeGreaterThan(0)
  })

  it("unanswered for too long end the lane, with an error for what is in flight", async () => {
    const { owner, peer, send } = await bothEnds(
      { answersPings: false },
      { pingInterval: 10, pingTimeout: 40 }
    )
    const { exchange } = send()
    await peer.opened(1)
    await owner.closed
    expect(exchange).toMatchObject({ outcome: "error", error: { code: "ConnectionDead" } })
    expect(owner.closedBy).toBe(exchange.error)
  })

  it("a server that does not open the connection's window shows in the round trip", async () => {
    const { lane, owner, peer, send } = await bothEnds(
      { opensWindows: false },
      { pingInterval: 5, pingTimeout: 1000 }
    )
    send({ method: "POST", body: Buffer.alloc(100_000) })
    await peer.until(
      (it) => it.frames(FrameType.Data).reduce((sum, frame) => sum + frame.payload.length, 0) === 65_535
    )
    const pings = peer.frames(FrameType.Ping).length
    await peer.until((it) => it.frames(FrameType.Ping).length >= pings)
    await new Promise<void>((resolve) => {
      const look = () => (lane.roundTrip > 50 ? resolve() : setImmediate(look))
      look()
    })
    expect(owner.closings).toBe(0)
  })
})

describe("closing", () => {
  it("drain waits for what is in flight", async () => {
    const { lane, owner, peer, send } = await bothEnds()
    const { exchange } = send()
    await peer.opened(1)
    lane.drain()
    expect(lane.state).toBe("draining")
    peer.answer(1, "x")
    await exchange.settled
    expect(exchange.text).toBe("x")
    await owner.closed
    expect(owner).toMatchObject({ closings: 1, closedBy: undefined, drained: [] })
  })

  it("an idle lane closes at once, with a GOAWAY", async () => {
    const { lane, owner, peer, socket } = await bothEnds()
    await peer.until((it) => it.frames(FrameType.Settings).length > 0)
    lane.drain()
    await owner.closed
    await peer.until((it) => it.closed)
    expect(peer.frames(FrameType.GoAway)).toHaveLength(1)
    expect(socket.destroyed).toBe(true)
    expect(lane.state).toBe("closed")
  })

  it("destroy fails what is in flight, with its error", async () => {
    const { lane, owner, peer, send } = await bothEnds()
    const { exchange } = send()
    await peer.opened(1)
    const why = new Error("enough")
    lane.destroy(why)
    await owner.closed
    expect(exchange.told).toEqual(["sent", "error"])
    expect(exchange.error).toBe(why)
    expect(owner.closedBy).toBe(why)
  })

  it("a request sent into a connection that has just ended is refused", async () => {
    const { lane, owner, send } = await bothEnds()
    lane.destroy(new Error("enough"))
    await owner.closed
    const { exchange } = send()
    await exchange.settled
    expect(exchange.told).toEqual(["refused"])
  })
})
