import { Readable } from "node:stream"
import { HttpBody, HttpClient, HttpClientRequest } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, type Scheduler, Stream } from "effect"
import { serve } from "../../platform/test/support/server.js"
import { idle, lanes, protocols, turn } from "./support/clients.js"
import { recording, requestsOf } from "./support/spans.js"

const post = (url: string, body: HttpBody.HttpBody) =>
  Effect.flatMap(HttpClient.HttpClient, (client) =>
    client.execute(HttpClientRequest.post(url).pipe(HttpClientRequest.setBody(body)))
  )

describe.each(protocols)("A request over $protocol", ({ layer, protocol }) => {
  const echo = serve(({ body }, response) => response.end(body), protocol)
  const echoed = (url: string, body: HttpBody.HttpBody) =>
    Effect.flatMap(post(url, body), (response) => response.text)

  const bodies: Record<string, () => HttpBody.HttpBody> = {
    text: () => HttpBody.text("a body"),
    bytes: () => HttpBody.uint8Array(Buffer.from("a body")),
    "a stream": () => HttpBody.stream(Stream.make(Buffer.from("a "), Buffer.from("body"))),
    "raw text": () => HttpBody.raw("a body"),
    "a raw buffer": () => HttpBody.raw(Uint8Array.from(Buffer.from("a body")).buffer),
    "a Blob": () => HttpBody.raw(new Blob(["a ", "body"])),
    "a web stream": () => HttpBody.raw(new Blob(["a body"]).stream()),
    "an iterable": () => HttpBody.raw([Buffer.from("a "), Buffer.from("body")])
  }

  it.scopedLive.each(Object.keys(bodies))("sends %s", (kind) =>
    Effect.gen(function* () {
      const server = yield* echo
      expect(yield* echoed(server.url, bodies[kind]!())).toBe("a body")
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("sends a form with its files and its length", () =>
    Effect.gen(function* () {
      const server = yield* echo
      const form = new FormData()
      form.append('a "name"', "one\ntwo")
      form.append("file", new Blob(["content"], { type: "text/plain" }), "f.txt")
      const sent = yield* echoed(server.url, HttpBody.formData(form))
      const { headers } = server.received[0]!
      expect(Number(headers["content-length"])).toBe(Buffer.byteLength(sent))
      const type = { headers: { "content-type": headers["content-type"]! } }
      const read = yield* Effect.promise(() => new Response(sent, type).formData())
      expect(read.get('a "name"')).toBe("one\r\ntwo")
      expect(yield* Effect.promise(() => (read.get("file") as File).text())).toBe("content")
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("whose body fails midway fails, and holds nothing", () =>
    Effect.gen(function* () {
      const server = yield* echo
      const broken = Stream.concat(Stream.make(Buffer.from("half")), Stream.fail(new Error("no more")))
      const error = yield* Effect.flip(post(server.url, HttpBody.stream(broken)))
      expect(error).toMatchObject({ _tag: "RequestError", reason: "Transport" })
      yield* idle
      expect(yield* echoed(server.url, HttpBody.text("next"))).toBe("next")
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("whose body fails at any step of its fiber fails, and holds nothing", () =>
    Effect.gen(function* () {
      const server = yield* echo
      for (let at = 0; at < 60; at++) {
        const body = new Readable({ read() {} }).on("error", () => {})
        let step = 0
        const pausesOnce: Scheduler.Scheduler = {
          // after the body has told its error
          scheduleTask: (task) => void setImmediate(task),
          shouldYield: () => (step++ === at ? 0 : false)
        }
        const fiber = yield* post(server.url, HttpBody.raw(body)).pipe(
          Effect.withScheduler(pausesOnce),
          Effect.fork
        )
        yield* turn
        body.destroy(new Error("no more"))
        expect(yield* Effect.flip(Fiber.join(fiber))).toMatchObject({
          _tag: "RequestError",
          reason: "Transport"
        })
      }
      yield* idle
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("that is a web stream is sent once; sent again it fails, and its span ends", () =>
    Effect.gen(function* () {
      const server = yield* echo
      const { spans, tracer } = yield* recording
      const body = HttpBody.raw(new Blob(["a body"]).stream())
      const send = Effect.withTracer(echoed(server.url, body), tracer)
      expect(yield* send).toBe("a body")
      expect(yield* Effect.flip(send)).toMatchObject({ _tag: "RequestError", reason: "Encode" })
      expect(requestsOf(spans)).toEqual(["http.client POST: 200", "http.client POST: Encode"])
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("that is a large stream arrives whole", () =>
    Effect.gen(function* () {
      const server = yield* echo
      const chunk = Buffer.alloc(100_000, "x")
      const body = HttpBody.stream(Stream.range(1, 30).pipe(Stream.map(() => chunk)))
      expect((yield* echoed(server.url, body)).length).toBe(3_000_000)
    }).pipe(Effect.provide(layer))
  )
})

it.scopedLive("Expect is refused before anything is sent: HTTP/1.1 lanes do not wait for it", () =>
  Effect.gen(function* () {
    const server = yield* serve((_, response) => response.end())
    const client = yield* HttpClient.HttpClient
    const error = yield* Effect.flip(client.post(server.url, { headers: { expect: "100-continue" } }))
    expect(error).toMatchObject({ _tag: "RequestError", reason: "Encode" })
    yield* idle
    expect(server.received).toEqual([])
  }).pipe(Effect.provide(lanes()))
)
