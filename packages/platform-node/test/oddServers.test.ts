import { Readable } from "node:stream"
import { HttpBody, HttpClient, HttpClientRequest } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { NodeHedgeClient } from "@effect-hedge/platform-node"
import { Effect, Fiber, Stream } from "effect"
import { serve } from "../../platform/test/support/server.js"
import { lanes, protocols, until } from "./support/clients.js"
import { serveRaw } from "./support/rawServer.js"

const text = (url: string, headers: Readonly<Record<string, string>> = {}) =>
  Effect.flatMap(HttpClient.HttpClient, (client) =>
    Effect.flatMap(client.get(url, { headers }), (response) => response.text)
  )

describe("Requests over HTTP/1.1 are all answered by a server that", () => {
  const hello = "Content-Length: 5\r\n\r\nhello"
  it.scopedLive.each<[name: string, answer: string, ends: boolean]>([
    ["ends each connection after an answer without a length", "HTTP/1.1 200 OK\r\n\r\nhello", true],
    ["speaks HTTP/1.0", `HTTP/1.0 200 OK\r\n${hello}`, true],
    ["says so in a list", `HTTP/1.1 200 OK\r\nConnection: close, x\r\n${hello}`, false],
    [
      "says so in a second header",
      `HTTP/1.1 200 OK\r\nConnection: x\r\nConnection: close\r\n${hello}`,
      false
    ],
    ["keeps connections too short", `HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\n${hello}`, false]
  ])("%s", ([, answer, ends]) =>
    Effect.gen(function* () {
      const server = yield* serveRaw((socket) => (ends ? socket.end(answer) : socket.write(answer)))
      const texts = yield* Effect.all(
        Array.from({ length: 60 }, () => text(server.url)),
        { concurrency: "unbounded" }
      )
      expect(new Set(texts)).toEqual(new Set(["hello"]))
      expect(server.heads.length).toBe(60)
    }).pipe(Effect.provide(NodeHedgeClient.layer({ lanes: 6 })))
  )

  it.scopedLive.each(["204 No Content", "304 Not Modified"])(
    "says how long the body is that %s lacks",
    (status) =>
      Effect.gen(function* () {
        const server = yield* serveRaw((socket) =>
          socket.write(`HTTP/1.1 ${status}\r\nContent-Length: 5\r\n\r\n`)
        )
        expect(yield* text(server.url)).toBe("")
        expect(yield* text(server.url)).toBe("")
      }).pipe(Effect.provide(NodeHedgeClient.layer()))
  )
})

describe("There are no more connections than lanes", () => {
  it.scopedLive.each<["HEAD" | "GET", string]>([
    ["HEAD", "whose answer ends the connection"],
    ["GET", "of which the server has said that it ends the connection"]
  ])("while each has a %s request %s", ([method]) =>
    Effect.gen(function* () {
      const server = yield* serveRaw((socket) => {
        if (method === "GET")
          socket.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhe")
      })
      const client = yield* HttpClient.HttpClient
      const call = Effect.flatMap(
        client.execute(HttpClientRequest.make(method)(server.url)),
        ({ text }) => text
      )
      yield* Effect.forkAll(Array.from({ length: 5 }, () => Effect.exit(call)))
      const isBusy = ({ lanes }: NodeHedgeClient.UpstreamReport) =>
        lanes.every(({ inFlight, state }) => inFlight === 1 && (method === "HEAD" || state === "draining"))
      yield* until(([upstream]) => upstream !== undefined && upstream.lanes.length > 1 && isBusy(upstream))
      const { report } = yield* NodeHedgeClient.NodeHedgeClient
      expect(yield* report).toMatchObject([{ waiting: 3, connecting: 0, lanes: [{}, {}] }])
    }).pipe(Effect.provide(lanes({ lanes: 2, closeGrace: 0 })))
  )
})

describe.each(protocols)("Over $protocol", ({ layer, protocol }) => {
  it.scopedLive("a request keeps the host that it names", () =>
    Effect.gen(function* () {
      const server = yield* serve(({ headers }, response) => {
        response.end(String(headers[":authority"] ?? headers.host))
      }, protocol)
      expect(yield* text(server.url, { host: "another.example" })).toBe("another.example")
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive.each([{ host: "another\r\nexample" }, { "x-broken": "a\r\nb" }, { "x broken": "a" }])(
    "%j cannot be sent, and the next request can",
    (headers) =>
      Effect.gen(function* () {
        const server = yield* serve((_, response) => response.end("answer"), protocol)
        expect(yield* Effect.flip(text(server.url, headers))).toMatchObject({ reason: "Encode" })
        expect(yield* text(server.url)).toBe("answer")
        expect(server.connections).toBe(1)
      }).pipe(Effect.provide(lanes({ lanes: 1 })))
  )

  it.scopedLive("several may read a body at once, and none of them hangs if another streams it", () =>
    Effect.gen(function* () {
      let finish = () => {}
      const server = yield* serve((_, response) => {
        response.write("ans")
        finish = () => response.end("wer")
      }, protocol)
      const client = yield* HttpClient.HttpClient
      const read = (both: Effect.Effect<unknown, unknown>) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.fork(both)
          yield* Effect.yieldNow()
          finish()
          return yield* Fiber.join(fiber)
        })
      const first = yield* client.get(server.url)
      const texts = Effect.all([first.text, first.text], { concurrency: "unbounded" })
      expect(yield* read(texts)).toEqual(["answer", "answer"])

      const second = yield* client.get(server.url)
      const streamed = Effect.all(
        [Effect.flip(second.text), Stream.mkString(Stream.decodeText(second.stream))],
        {
          concurrency: "unbounded"
        }
      )
      expect(yield* read(streamed)).toMatchObject([{ _tag: "ResponseError" }, "answer"])
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("a body that fails while its request waits for a lane fails the request", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => {}, protocol)
      const client = yield* HttpClient.HttpClient
      yield* Effect.fork(client.get(server.url))
      yield* server.until(({ received }) => received.length === 1)
      const body = new Readable({ read() {} })
      const request = HttpClientRequest.post(server.url, { body: HttpBody.raw(body) })
      const fiber = yield* Effect.fork(Effect.flip(client.execute(request)))
      yield* until(([upstream]) => upstream?.waiting === 1)
      const error = new Error("no such file")
      body.destroy(error)
      expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "RequestError", cause: error })
      yield* until(([upstream]) => upstream?.waiting === 0)
    }).pipe(Effect.provide(lanes({ lanes: 1, streamsPerLane: 1, closeGrace: 0 })))
  )
})

describe("A pinned address", () => {
  it.scopedLive("leaves the name that is expected in the certificate, also where that is an IP address", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => response.end("answer"), "HTTP/1.1 over TLS")
      const address = `localhost:${server.port}`
      const upstreams = { "https://127.0.0.1": { address }, "https://127.0.0.2": { address } }
      yield* Effect.gen(function* () {
        expect(yield* text("https://127.0.0.1/")).toBe("answer")
        expect(yield* Effect.flip(text("https://127.0.0.2/"))).toMatchObject({
          cause: { code: "ERR_TLS_CERT_ALTNAME_INVALID" }
        })
      }).pipe(Effect.provide(lanes({ upstreams })))
    })
  )
})
