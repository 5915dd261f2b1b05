import {
  Cookies,
  FileSystem,
  HttpClient,
  HttpClientRequest,
  HttpIncomingMessage,
  UrlParams
} from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect, Fiber, Option, Stream } from "effect"
import { HedgePolicy, HedgeSchedule } from "effect-hedge"
import { serve } from "../../platform/test/support/server.js"
import { idle, protocols, until } from "./support/clients.js"

const large = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 251))

describe.each(protocols)("A response over $protocol", ({ layer, protocol }) => {
  const respond = (status: number, headers: Record<string, string | Array<string>>, body?: string | Buffer) =>
    serve((_, response) => response.writeHead(status, headers).end(body), protocol)

  const get = (url: string) => Effect.flatMap(HttpClient.HttpClient, (client) => client.get(url))

  it.scopedLive("has the status, the headers, the cookies and the address of the other end", () =>
    Effect.gen(function* () {
      const server = yield* respond(418, { "X-Kind": "pot", "set-cookie": ["a=1; Path=/", "b=2"] }, "short")
      const response = yield* get(server.url)
      expect(response.status).toBe(418)
      expect(response.headers["x-kind"]).toBe("pot")
      expect(Cookies.toRecord(response.cookies)).toEqual({ a: "1", b: "2" })
      expect(Option.getOrThrow(response.remoteAddress)).toBe("127.0.0.1")
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("is read as text, without a byte order mark, as often as one likes", () =>
    Effect.gen(function* () {
      const server = yield* respond(200, {}, Buffer.from("\uFEFFgrün"))
      const response = yield* get(server.url)
      expect([yield* response.text, yield* response.text]).toEqual(["grün", "grün"])
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("is read as JSON, of which an empty body is null and a broken one an error", () =>
    Effect.gen(function* () {
      const bodies: Record<string, string> = { "/object": '{"a":[1]}', "/empty": "", "/broken": "{" }
      const server = yield* serve(({ path }, response) => response.end(bodies[path]), protocol)
      const json = (path: string) => Effect.flatMap(get(server.url + path), (response) => response.json)
      expect(yield* json("/object")).toEqual({ a: [1] })
      expect(yield* json("/empty")).toBe(null)
      const error = yield* Effect.flip(json("/broken"))
      expect(error).toMatchObject({ _tag: "ResponseError", reason: "Decode", cause: expect.any(SyntaxError) })
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("is read as bytes and as a form", () =>
    Effect.gen(function* () {
      const form = { "content-type": "application/x-www-form-urlencoded" }
      const server = yield* respond(200, form, "a=1&b=%20")
      const response = yield* get(server.url)
      expect(Buffer.from(yield* response.arrayBuffer).toString()).toBe("a=1&b=%20")
      expect(UrlParams.toRecord(yield* response.urlParamsBody)).toEqual({ a: "1", b: " " })
      expect((yield* response.formData).get("b")).toBe(" ")
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("streams a large body whole", () =>
    Effect.gen(function* () {
      const server = yield* respond(200, {}, large)
      const response = yield* get(server.url)
      const chunks = yield* Stream.runCollect(response.stream)
      expect(Buffer.concat([...chunks]).equals(large)).toBe(true)
      expect(yield* Effect.flip(response.text)).toMatchObject({ reason: "Decode" })
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive.each([
    ["HEAD", 200],
    ["GET", 204],
    ["GET", 304]
  ] as const)("to %s with status %i has no body and frees its lane", ([method, status]) =>
    Effect.gen(function* () {
      const server = yield* respond(status, status === 200 ? { "content-length": "5" } : {})
      const client = yield* HttpClient.HttpClient
      const response = yield* client.execute(HttpClientRequest.make(method)(server.url))
      expect([response.status, yield* response.text]).toEqual([status, ""])
      yield* idle
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("with trailers ends as any other", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => {
        response.writeHead(200, { trailer: "x-sum" })
        response.write("body")
        response.addTrailers({ "x-sum": "4" })
        response.end()
      }, protocol)
      expect(yield* Effect.flatMap(get(server.url), (response) => response.text)).toBe("body")
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("that is compressed stays so", () =>
    Effect.gen(function* () {
      const zipped = Buffer.from("H4sIAAAAAAAAA0sEAEO+t+gBAAAA", "base64")
      const server = yield* respond(200, { "content-encoding": "gzip" }, zipped)
      const bytes = yield* Effect.flatMap(get(server.url), (response) => response.arrayBuffer)
      expect(Buffer.from(bytes).equals(zipped)).toBe(true)
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("longer than MaxBodySize is an error, and is given up", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => {
        response.writeHead(200)
        response.write(large)
      }, protocol)
      const response = yield* get(server.url)
      const read = HttpIncomingMessage.withMaxBodySize(response.text, Option.some(FileSystem.KiB(10)))
      expect(yield* Effect.flip(read)).toMatchObject({ _tag: "ResponseError", reason: "Decode" })
      yield* server.until(({ cancelled }) => cancelled === 1)
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("that breaks off in the middle is an error", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => {
        response.writeHead(200)
        response.write("half", () => response.destroy())
      }, protocol)
      const response = yield* get(server.url)
      expect(yield* Effect.flip(response.text)).toMatchObject({ _tag: "ResponseError", reason: "Decode" })
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("that nobody reads and nobody holds frees its lane, also if it was hedged", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => {
        response.writeHead(200).write(Buffer.alloc(1_000_000))
      }, protocol)
      const client = (yield* HttpClient.HttpClient).pipe(
        HttpHedge.withHedge({ policy: HedgePolicy.make({ schedule: HedgeSchedule.fixed(1000) }) })
      )
      yield* Effect.forEach([1, 2, 3], () =>
        Effect.fork(client.get(server.url)).pipe(Effect.flatMap(Fiber.await), Effect.asVoid)
      )
      yield* until((upstreams) => {
        globalThis.gc!()
        return upstreams.every(({ lanes }) => lanes.every(({ inFlight }) => inFlight === 0))
      })
    }).pipe(Effect.provide(layer))
  )
})
