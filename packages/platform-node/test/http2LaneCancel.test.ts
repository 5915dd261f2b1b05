import * as Http2 from "node:http2"
import type { AddressInfo } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import type { DrainReason } from "../src/internal/lane.js"
import { type OpenedLane, openLane, Watched } from "./support/lane.js"

const cleanups: Array<() => Promise<void>> = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** Where in its life a request is cancelled: in the turn in which it is sent, or when the server has seen it, or has sent so much. */
type Phase = "sent" | "seen" | "headers" | "body"

const phases: ReadonlyArray<Phase> = ["sent", "seen", "headers", "body"]

class Server extends Watched {
  readonly sessions = new Set<Http2.ServerHttp2Session>()
  connections = 0
  readonly seen = new Set<unknown>()
  readonly cancelled = new Set<unknown>()
  port = 0

  onStream(
    stream: Http2.ServerHttp2Stream,
    { "x-phase": phase, "x-id": id }: Http2.IncomingHttpHeaders
  ): void {
    stream.on("error", () => {})
    this.seen.add(id)
    stream.on("close", () => {
      if (phase !== "sent") this.cancelled.add(id)
      this.changed()
    })
    if (phase === "headers" || phase === "body") stream.respond({ ":status": 200 })
    if (phase === "body") stream.write("the beginning")
    this.changed()
  }
}

/** Node's own server with its guard against rapid resets, which allows 1,000 and then 33 per second. */
const serve = async (): Promise<Server> => {
  const http = Http2.createServer({ settings: { maxConcurrentStreams: 100 } })
  const server = new Server()
  http.on("session", (session) => {
    server.connections++
    server.sessions.add(session)
    session.on("error", () => {})
    session.on("close", () => server.sessions.delete(session))
  })
  http.on("stream", (stream, headers) => server.onStream(stream, headers))
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
  server.port = (http.address() as AddressInfo).port
  cleanups.push(async () => {
    for (const session of server.sessions) session.destroy()
    await new Promise((resolve) => http.close(resolve))
  })
  return server
}

/** As many lanes as asked for: one that drains is replaced. */
class Lanes {
  readonly all: Array<OpenedLane> = []

  constructor(
    private readonly server: Server,
    private readonly current: Array<OpenedLane>
  ) {
    this.all.push(...current)
  }

  static async open(server: Server, count: number): Promise<Lanes> {
    const opened = await Promise.all(Array.from({ length: count }, () => openLane(server.port)))
    const lanes = new Lanes(server, opened)
    cleanups.push(async () => {
      for (const { lane, owner } of lanes.all) {
        lane.destroy(new Error("the test is over"))
        await owner.closed
      }
    })
    return lanes
  }

  get drained(): ReadonlyArray<DrainReason> {
    return this.all.flatMap(({ owner }) => owner.drained)
  }

  get inFlight(): number {
    return this.all.reduce((sum, { lane }) => sum + (lane.state === "closed" ? 0 : lane.inFlight), 0)
  }

  /** One request after another on one of the places, each cancelled in its phase. */
  async lose(place: number, count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      let opened = this.current[place]!
      if (opened.lane.state !== "open") {
        opened = await openLane(this.server.port)
        this.current[place] = opened
        this.all.push(opened)
      }
      const { lane, owner, send } = opened
      await owner.until(() => lane.inFlight < lane.capacity || lane.state !== "open")
      if (lane.state !== "open") {
        i--
        continue
      }
      const phase = phases[i % phases.length]!
      const id = `${place}-${i}`
      const { exchange, sent } = send({ headers: { "x-phase": phase, "x-id": id } })
      if (phase === "seen") await this.server.until((it) => it.seen.has(id))
      if (phase === "headers") await exchange.until((it) => it.status === 200 || it.outcome !== undefined)
      if (phase === "body") await exchange.until((it) => it.chunks.length > 0 || it.outcome !== undefined)
      expect(exchange.outcome).toBe(undefined)
      sent.cancel()
    }
  }
}

describe("losers over HTTP/2 lanes", () => {
  it("1,000 over four lanes open no connection and hold no slot", async () => {
    const server = await serve()
    const lanes = await Lanes.open(server, 4)
    await Promise.all([0, 1, 2, 3].map((place) => lanes.lose(place, 250)))
    await Promise.all(lanes.all.map(({ lane, owner }) => owner.until(() => lane.inFlight === 0)))
    expect(server.connections).toBe(4)
    expect(lanes.drained).toEqual([])
    // all but those that were cancelled in the turn in which they were sent
    await server.until((it) => it.cancelled.size === 748)
  })

  it("5,000 at once are no attack to a server: lanes are replaced when their ration is spent", async () => {
    const server = await serve()
    const lanes = await Lanes.open(server, 4)
    await Promise.all([0, 1, 2, 3].map((place) => lanes.lose(place, 1250)))
    expect(new Set(lanes.drained)).toEqual(new Set(["RationSpent"]))
    // 400 on each lane, and what the seconds of this test add
    expect(server.connections).toBeLessThanOrEqual(4 + Math.ceil(5000 / 400))
    await Promise.all(
      lanes.all.map(({ lane, owner }) => owner.until(() => lane.inFlight === 0 || owner.closings > 0))
    )
    expect(lanes.inFlight).toBe(0)
  })
})
