import { Readable } from "node:stream"
import { afterAll, beforeAll, expect, it } from "vitest"
import { Random } from "./chaos/random.js"
import { ErrorCode, type FramePeer, FrameServer, FrameType, Setting } from "./support/frames.js"
import { openLane, type SentExchange } from "./support/lane.js"

/** Whole numbers from 0 up to and without a bound, the same for the same seed. */
const randomOf = (seed: number) => {
  const random = new Random(seed)
  return (below: number): number => random.between(0, below - 1)
}

const bodyOf = (stream: number): string => `the answer to ${stream};`.repeat(stream * 40)

const codes = [ErrorCode.None, ErrorCode.Internal, ErrorCode.RefusedStream, ErrorCode.Cancel]

/** What the server does with a stream, or with the whole connection. */
const misbehave = (peer: FramePeer, stream: number, random: (below: number) => number): void => {
  const what = random(40)
  const body = bodyOf(stream)
  const half = body.slice(0, body.length / 2).slice(0, 10_000)
  if (what < 16) {
    peer.headers(stream, [[":status", "200"]], "more")
    for (let at = 0; at < body.length; at += 10_000) {
      peer.data(stream, body.slice(at, at + 10_000), at + 10_000 >= body.length ? "end" : "more")
    }
  } else if (what < 22) {
    peer.headers(stream, [[":status", "200"]], "more")
    peer.data(stream, half, "more")
    peer.reset(stream, codes[random(codes.length)]!)
  } else if (what < 27) peer.reset(stream, codes[random(codes.length)]!)
  else if (what < 30)
    peer.headers(
      stream,
      [
        [":status", "200"],
        ["content-length", "7"]
      ],
      "more"
    )
  else if (what < 32) peer.settings({ [Setting.MaxConcurrentStreams]: random(20) })
  else if (what === 32) peer.goAway(random(2) === 0 ? 0x7fffffff : stream)
  else if (what === 33) peer.goAway(stream, ErrorCode.EnhanceYourCalm)
  else if (what === 34) peer.socket.end()
  else if (what === 35) peer.socket.destroy()
  else if (what === 36) peer.socket.resetAndDestroy()
  else if (what === 37) peer.socket.write("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
  else if (what === 38) peer.frame(FrameType.Data, 0, stream + 100, Buffer.alloc(10))
}

const bodies = [
  () => undefined,
  () => "some text",
  () => Buffer.alloc(100_000),
  () => Readable.from([Buffer.alloc(50_000), Buffer.alloc(50_000)]),
  () => new Readable({ read() {} })
]

let server: FrameServer

beforeAll(async () => {
  server = new FrameServer({ settings: { [Setting.MaxConcurrentStreams]: 30 } })
  await server.listen()
})

afterAll(() => server.stop())

const isOver = ({ exchange }: SentExchange): boolean => exchange.outcome !== undefined

it.each(Array.from({ length: 60 }, (_, seed) => [seed]))(
  "whatever a server does, each request is told once how it ended, and no half of an answer passes for the whole (seed %i)",
  async (seed) => {
    const random = randomOf(seed)
    const accepted = server.accept()
    const { lane, owner, send } = await openLane(server.port, {
      pingInterval: 20,
      pingTimeout: 200,
      resetBurst: 4,
      resetsPerSecond: 0
    })
    const peer = await accepted
    await peer.handled()

    const all: Array<SentExchange> = []
    const cancelled = new Map<SentExchange, number>()
    let handled = 0
    for (let turn = 0; turn < 300 && all.length < 60 && lane.state === "open"; turn++) {
      if (lane.inFlight < lane.capacity) {
        const body = bodies[random(bodies.length)]!()
        all.push(send({ method: body === undefined ? "GET" : "POST", body }))
      }
      const one = all[random(all.length)]
      if (one !== undefined && random(4) === 0) {
        one.exchange.hasRoom = random(2) === 0
        one.sent.resume()
      }
      if (one !== undefined && random(8) === 0 && !isOver(one) && !cancelled.has(one)) {
        one.sent.cancel()
        cancelled.set(one, one.exchange.told.length)
      }
      if (handled < peer.streams.length && random(2) === 0) misbehave(peer, peer.streams[handled++]!, random)
      await new Promise((resolve) => setImmediate(resolve))
    }
    for (const { exchange, sent } of all) {
      exchange.hasRoom = true
      sent.resume()
    }
    if (random(2) === 0) lane.drain()
    else lane.destroy(new Error("the test is over"))
    // streams that the server has forgotten, or kept back with its limit
    peer.settings({ [Setting.MaxConcurrentStreams]: 1000 })
    let ended = 0
    const ending = peer.until(({ streams }) => {
      while (ended < streams.length) peer.reset(streams[ended++]!, ErrorCode.Internal)
      return peer.closed
    })
    await owner.closed
    await ending

    expect(owner.closings).toBe(1)
    all.forEach((one, index) => {
      const { told } = one.exchange
      const ends = told.filter((what) => what === "end" || what === "refused" || what === "error").length
      const before = cancelled.get(one)
      if (before !== undefined) expect(told).toHaveLength(before)
      else expect(ends).toBe(1)
      if (ends === 1) expect(isOver(one)).toBe(true)
      if (one.exchange.outcome === "end") expect(one.exchange.text).toBe(bodyOf(2 * index + 1))
    })
  }
)
