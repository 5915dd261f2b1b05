import * as Http2 from "node:http2"
import type { AddressInfo } from "node:net"
import { Readable } from "node:stream"
import { afterEach, describe, expect, it } from "vitest"
import type { Http2Settings } from "../src/internal/http2Lane.js"
import { type OpenedLane, openLane } from "./support/lane.js"

const cleanups: Array<() => Promise<void>> = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

type Handler = (stream: Http2.ServerHttp2Stream, headers: Http2.IncomingHttpHeaders) => void

/** Node's own server, and a lane to it. */
const laneTo = async (
  handler: Handler,
  settings: Partial<Http2Settings> = {},
  server: Http2.ServerOptions = {}
): Promise<OpenedLane> => {
  const http = Http2.createServer(server)
  http.on("stream", (stream, headers) => {
    stream.on("error", () => {})
    handler(stream, headers)
  })
  const sessions = new Set<Http2.ServerHttp2Session>()
  http.on("session", (session) => {
    session.on("error", () => {})
    sessions.add(session)
  })
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
  const opened = await openLane((http.address() as AddressInfo).port, settings)
  cleanups.push(async () => {
    opened.lane.destroy(new Error("the test is over"))
    await opened.owner.closed
    for (const session of sessions) session.destroy()
    await new Promise((resolve) => http.close(resolve))
  })
  return opened
}

const echo: Handler = (stream, headers) => {
  stream.respond({ ":status": 200, "x-method": headers[":method"], "x-path": headers[":path"] })
  stream.pipe(stream)
}

describe("a request over an HTTP/2 lane", () => {
  it("is answered with status, headers and body, in this order", async () => {
    const { lane, owner, send } = await laneTo((stream) => {
      stream.respond({ ":status": 203, "x-a": "b", "set-cookie": ["c=1", "d=2"] })
      stream.end("hello")
    })
    const { exchange } = send({ path: "/x?y=1" })
    await exchange.settled
    expect(exchange.told).toEqual(["sent", "headers", "data", "end"])
    expect(exchange.status).toBe(203)
    expect(exchange.answerHeaders).toMatchObject({ "x-a": "b", "set-cookie": ["c=1", "d=2"] })
    expect(Object.keys(exchange.answerHeaders).filter((name) => name.startsWith(":"))).toEqual([])
    expect(exchange.text).toBe("hello")
    await owner.until(() => lane.inFlight === 0)
  })

  it.each([
    ["text", "some text ✓", "some text ✓"],
    ["bytes", Buffer.alloc(300_000, 7), Buffer.alloc(300_000, 7).toString()],
    [
      "a stream",
      () => Readable.from([Buffer.alloc(200_000, 1), Buffer.alloc(200_000, 2)]),
      `${"\x01".repeat(200_000)}${"\x02".repeat(200_000)}`
    ],
    ["no bytes", new Uint8Array(0), ""]
  ])("sends %s", async (_, body, expected) => {
    const { send } = await laneTo(echo)
    const { exchange } = send({
      method: "POST",
      path: "/up",
      body: typeof body === "function" ? body() : body
    })
    await exchange.settled
    expect(exchange.outcome).toBe("end")
    expect(exchange.answerHeaders).toMatchObject({ "x-method": "POST", "x-path": "/up" })
    expect(exchange.text === expected).toBe(true)
  })
})
