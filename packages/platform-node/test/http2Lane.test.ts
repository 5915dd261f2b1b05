import { createHash, randomBytes } from "node:crypto"
import { Readable } from "node:stream"
import { afterEach, describe, expect, it } from "vitest"
import { type Handler, laneTo, type Options } from "./support/http2Server.js"

const cleanups: Array<() => Promise<void>> = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const open = async (handler: Handler, options?: Options) => {
  const opened = await laneTo(handler, options)
  cleanups.push(opened.end)
  return opened
}

const echo: Handler = (stream, headers) => {
  stream.respond({ ":status": 200, "x-method": headers[":method"], "x-path": headers[":path"] })
  stream.pipe(stream)
}

/** Answers with the headers as they came. */
const tellHeaders: Handler = (stream, headers) => {
  stream.respond({ ":status": 200 })
  stream.end(JSON.stringify(headers))
}

const digest = (bytes: Uint8Array): string => createHash("sha1").update(bytes).digest("hex")

describe("a request over an HTTP/2 lane", () => {
  it.each([
    ["in clear text", false],
    ["over TLS", true]
  ])("%s is answered with status, headers and body, in this order", async (_, tls) => {
    const { lane, owner, send } = await open(
      (stream) => {
        stream.respond({ ":status": 203, "x-a": "b", "set-cookie": ["c=1", "d=2"] })
        stream.end("hello")
      },
      { tls }
    )
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
    ["text", () => "some text ✓", Buffer.from("some text ✓")],
    ["bytes", () => Buffer.alloc(300_000, 7), Buffer.alloc(300_000, 7)],
    [
      "a stream",
      () => Readable.from([Buffer.alloc(200_000, 1), Buffer.alloc(200_000, 1)]),
      Buffer.alloc(400_000, 1)
    ],
    ["no bytes", () => new Uint8Array(0), Buffer.alloc(0)]
  ])("sends %s", async (_, body, expected) => {
    const { send } = await open(echo)
    const { exchange } = send({ method: "POST", path: "/up", body: body() })
    await exchange.settled
    expect(exchange.outcome).toBe("end")
    expect(exchange.answerHeaders).toMatchObject({ "x-method": "POST", "x-path": "/up" })
    expect(exchange.received.equals(expected)).toBe(true)
  })

  it.each([
    ["HEAD", 200],
    ["GET", 204],
    ["GET", 304]
  ])("%s with status %i has no body", async (method, status) => {
    const { send } = await open((stream) => {
      stream.respond({ ":status": status, "x-a": "b" }, { endStream: true })
    })
    const { exchange } = send({ method })
    await exchange.settled
    expect(exchange.told).toEqual(["sent", "headers", "end"])
    expect([exchange.status, exchange.answerHeaders["x-a"]]).toEqual([status, "b"])
  })

  it("whose body fails is reset, with an error that holds the cause", async () => {
    const { lane, owner, send } = await open(echo)
    const body = new Readable({ read() {} })
    const { exchange } = send({ method: "POST", body })
    const cause = new Error("the disk is gone")
    body.destroy(cause)
    await exchange.settled
    expect(exchange.error).toMatchObject({ code: "BodyFailed", cause })
    await owner.until(() => lane.inFlight === 0)
    expect(exchange.told.at(-1)).toBe("error")
  })

  it("whose body stops before its end is reset, too", async () => {
    const { send } = await open(echo)
    const body = new Readable({ read() {} })
    const { exchange } = send({ method: "POST", body })
    body.destroy()
    await exchange.settled
    expect(exchange.error).toMatchObject({ code: "BodyFailed" })
  })

  it("with a body does not wait for the others", async () => {
    const waiting: Array<() => void> = []
    const { lane, owner, send } = await open((stream) => {
      waiting.push(() => {
        stream.respond({ ":status": 200 })
        stream.end()
      })
      if (waiting.length === 50) for (const answer of waiting) answer()
    })
    await owner.until(() => lane.capacity === 100)
    const exchanges = Array.from({ length: 50 }, () => send({ method: "POST", body: "x" }).exchange)
    for (const exchange of exchanges) await exchange.settled
    expect(new Set(exchanges.map((exchange) => exchange.outcome))).toEqual(new Set(["end"]))
  })
})

describe("the headers of a request", () => {
  it("are those of the request alone: nothing of the connection, no host beside :authority", async () => {
    const { send } = await open(tellHeaders)
    const { exchange } = send({
      authority: "example.test:8443",
      path: "/a?b=c",
      headers: {
        connection: "keep-alive",
        "keep-alive": "timeout=5",
        "proxy-connection": "keep-alive",
        "transfer-encoding": "chunked",
        upgrade: "h2c",
        "http2-settings": "AAMAAABkAARAAAAAAAIAAAAA",
        host: "elsewhere.test",
        te: "gzip",
        cookie: "a=1; b=2",
        "x-padded": " v "
      }
    })
    await exchange.settled
    expect(JSON.parse(exchange.text)).toEqual({
      ":method": "GET",
      ":path": "/a?b=c",
      ":scheme": "http",
      ":authority": "example.test:8443",
      cookie: "a=1; b=2",
      "x-padded": "v"
    })
  })

  it("may ask for trailers", async () => {
    const { send } = await open(tellHeaders)
    const { exchange } = send({ headers: { te: "trailers" } })
    await exchange.settled
    expect(JSON.parse(exchange.text)).toMatchObject({ te: "trailers" })
  })

  it.each([
    ["a name that is none", { headers: { "x y": "1" } }],
    ["a name of a pseudo-header", { headers: { ":path": "/" } }],
    ["a line break in a value", { headers: { "x-a": "1\r\nx-b: 2" } }],
    ["a space in the path", { path: "/a b" }],
    ["a method that is none", { method: "G T" }],
    ["CONNECT", { method: "CONNECT" }],
    ["more than Node can send", { headers: { "x-a": "v".repeat(100_000) } }]
  ])("with %s: an error for this request, and the lane lives on", async (_, request) => {
    const { lane, owner, send } = await open(tellHeaders)
    const { exchange, sent } = send(request)
    expect(exchange.told).toEqual([])
    await exchange.settled
    expect(exchange.told).toEqual(["error"])
    expect(exchange.error).toMatchObject({ code: "InvalidRequest" })
    sent.cancel()
    expect(lane).toMatchObject({ state: "open", inFlight: 0 })
    const after = send().exchange
    await after.settled
    expect(after.outcome).toBe("end")
    expect(owner.drained).toEqual([])
  })

  it("larger than the server takes: an error, and nothing is sent", async () => {
    const { send } = await open(tellHeaders, { server: { settings: { maxHeaderListSize: 1000 } } })
    const first = send().exchange
    await first.settled
    const { exchange } = send({ headers: { "x-a": "v".repeat(1000) } })
    await exchange.settled
    expect(exchange.error).toMatchObject({ code: "InvalidRequest" })
    expect(exchange.error?.message).toContain("1000")
  })
})

describe("a body over an HTTP/2 lane", () => {
  const large = randomBytes(5_000_000)

  it("of 5 MB arrives byte for byte, whatever the pauses", async () => {
    const { send } = await open((stream) => {
      stream.respond({ ":status": 200 })
      stream.end(large)
    })
    const { exchange, sent } = send()
    exchange.hasRoom = false
    await exchange.until((it) => {
      if (it.told.at(-1) === "data") setImmediate(() => sent.resume())
      return it.outcome !== undefined
    })
    expect(exchange.outcome).toBe("end")
    expect(digest(exchange.received)).toBe(digest(large))
  })

  it("of 5 MB is sent byte for byte", async () => {
    const { send } = await open((stream) => {
      const hash = createHash("sha1")
      stream.on("data", (chunk) => hash.update(chunk))
      stream.on("end", () => {
        stream.respond({ ":status": 200 })
        stream.end(hash.digest("hex"))
      })
    })
    const chunks = Array.from({ length: 50 }, (_, i) => large.subarray(i * 100_000, (i + 1) * 100_000))
    const exchanges = [
      send({ method: "PUT", body: large }).exchange,
      send({ method: "PUT", body: Readable.from(chunks) }).exchange
    ]
    for (const exchange of exchanges) {
      await exchange.settled
      expect(exchange.text).toBe(digest(large))
    }
  })

  it("that nobody reads makes its sender wait, and not the others", async () => {
    let written = 0
    const { send } = await open((stream, headers) => {
      stream.respond({ ":status": 200 })
      if (headers[":path"] === "/small") return stream.end("small")
      const write = () => {
        while (written < large.length && stream.write(large.subarray(written, written + 16_384)))
          written += 16_384
        stream.once("drain", write)
      }
      write()
    })
    const { exchange: unread } = send({ path: "/large" })
    unread.hasRoom = false
    await unread.until((it) => it.chunks.length > 0)
    for (let i = 0; i < 20; i++) {
      const { exchange } = send({ path: "/small" })
      await exchange.settled
      expect(exchange.text).toBe("small")
    }
    expect(unread.received.length).toBeLessThan(100_000)
    expect(written).toBeLessThan(1_000_000)
  })
})

/** The sockets that keep the process from ending, both ends of those on the loopback address. */
const sockets = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length

describe("an HTTP/2 lane", () => {
  it("keeps the process from ending only while requests are in flight", async () => {
    await expect.poll(sockets).toBe(0)
    const { lane, owner, send } = await open(echo)
    await expect.poll(sockets).toBe(1)
    const { exchange } = send({ method: "POST", body: "x" })
    expect(sockets()).toBe(2)
    await exchange.settled
    await owner.until(() => lane.inFlight === 0)
    expect(sockets()).toBe(1)
  })

  it("that has ended leaves no socket, and nothing that keeps its requests", async () => {
    const request = await (async () => {
      const { lane, owner, send, end } = await laneTo(echo, { settings: { pingInterval: 1 } })
      const exchanges = Array.from({ length: 8 }, () => send({ method: "POST", body: "x" }).exchange)
      for (const exchange of exchanges) await exchange.settled
      send({ method: "POST", body: new Readable({ read() {} }) }).sent.cancel()
      const cut = send({ method: "POST", body: new Readable({ read() {} }) }).exchange
      lane.destroy(new Error("enough"))
      await cut.settled
      await owner.closed
      await end()
      return new WeakRef(cut)
    })()
    await expect.poll(sockets).toBe(0)
    await expect
      .poll(() => {
        globalThis.gc!()
        return request.deref() === undefined
      })
      .toBe(true)
  })
})
