import { HttpBody, HttpClient, type HttpClientResponse } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { NodeHedgeClient } from "@effect-hedge/platform-node"
import { Effect, Fiber, Option, Stream } from "effect"
import { type Handler, serve } from "../../platform/test/support/server.js"
import { idle, lanes, protocols, turn, until } from "./support/clients.js"

const get = (url: string) => Effect.flatMap(HttpClient.HttpClient, (client) => client.get(url))
const text = (url: string) => Effect.flatMap(get(url), (response) => response.text)

/** Starts a response that never ends. */
const halfAnswer: Handler = (_, response) => response.writeHead(200).write(Buffer.alloc(100_000))

describe.each(protocols)("Over $protocol a request that is interrupted", ({ layer, protocol }) => {
  it.scopedLive("before the headers of its answer holds nothing", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => {}, protocol)
      const fiber = yield* Effect.fork(get(server.url))
      yield* server.until(({ received }) => received.length === 1)
      yield* Fiber.interrupt(fiber)
      yield* server.until(({ cancelled }) => cancelled === 1)
      yield* idle
    }).pipe(Effect.provide(layer))
  )

  const reads: Record<
    string,
    (response: HttpClientResponse.HttpClientResponse) => Effect.Effect<unknown, unknown>
  > = {
    text: (response) => response.text,
    stream: (response) => Stream.runDrain(response.stream)
  }

  it.scopedLive.each(Object.keys(reads))("while its body is read as %s holds nothing", (how) =>
    Effect.gen(function* () {
      const server = yield* serve(halfAnswer, protocol)
      const fiber = yield* Effect.fork(Effect.flatMap(get(server.url), reads[how]!))
      yield* until(([upstream]) => upstream?.lanes[0]?.inFlight === 1)
      yield* server.until(({ open }) => open === 1)
      yield* Fiber.interrupt(fiber)
      yield* server.until(({ cancelled }) => cancelled === 1)
      yield* idle
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("by a stream that takes no more holds nothing", () =>
    Effect.gen(function* () {
      const server = yield* serve(halfAnswer, protocol)
      const response = yield* get(server.url)
      expect(Option.isSome(yield* Stream.runHead(response.stream))).toBe(true)
      yield* server.until(({ cancelled }) => cancelled === 1)
      yield* idle
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("by the end of its scope holds nothing", () =>
    Effect.gen(function* () {
      const server = yield* serve(halfAnswer, protocol)
      const scoped = Effect.flatMap(HttpClient.HttpClient, (client) =>
        HttpClient.withScope(client).get(server.url)
      )
      yield* Effect.scoped(scoped)
      yield* server.until(({ cancelled }) => cancelled === 1)
      yield* idle
    }).pipe(Effect.provide(layer))
  )

  for (const [where, sent] of [
    ["in a scope that goes on", HttpClient.withScope],
    ["on a lane that is idle", (client: HttpClient.HttpClient) => client]
  ] as const) {
    it.scopedLive(`by nobody, and was answered, leaves nothing behind ${where}`, () =>
      Effect.gen(function* () {
        const server = yield* serve((_, response) => response.end("answer"), protocol)
        const client = sent(yield* HttpClient.HttpClient)
        const send = Effect.gen(function* () {
          const bytes = new Uint8Array(100)
          const response = yield* client.post(server.url, { body: HttpBody.uint8Array(bytes) })
          expect(yield* response.text).toBe("answer")
          return new WeakRef(bytes)
        })
        const bytes = yield* send
        // what has been looked at is kept until the turn ends
        yield* Effect.zipRight(
          turn,
          Effect.sync(() => globalThis.gc!())
        ).pipe(Effect.repeat({ until: () => bytes.deref() === undefined }))
      }).pipe(Effect.provide(layer))
    )
  }

  it.scopedLive("by nobody, but forgotten with its body unread, is given up with its response", () =>
    Effect.gen(function* () {
      const server = yield* serve(halfAnswer, protocol)
      yield* Effect.asVoid(get(server.url))
      const collect = Effect.sync(() => globalThis.gc!())
      yield* Effect.raceFirst(
        server.until(({ cancelled }) => cancelled === 1),
        Effect.forever(Effect.zipRight(collect, Effect.sleep("20 millis")))
      )
      yield* idle
    }).pipe(Effect.provide(layer))
  )
})

describe("Over HTTP/1.1", () => {
  it.scopedLive("a request that is interrupted while it waits vanishes from the queue", () =>
    Effect.gen(function* () {
      let answer = () => {}
      const server = yield* serve((_, response) => {
        answer = () => response.end("answer")
      })
      const first = yield* Effect.fork(text(server.url))
      yield* server.until(({ received }) => received.length === 1)
      const second = yield* Effect.fork(text(server.url))
      yield* until(([upstream]) => upstream?.waiting === 1)
      yield* Fiber.interrupt(second)
      yield* until(([upstream]) => upstream?.waiting === 0)
      answer()
      expect(yield* Fiber.join(first)).toBe("answer")
      yield* idle
      expect(server.received.length).toBe(1)
    }).pipe(Effect.provide(lanes({ lanes: 1 })))
  )

  it.scopedLive("a connection whose request was interrupted serves the next one", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => response.end("answer"))
      const fiber = yield* Effect.fork(text(server.url))
      yield* Effect.yieldNow()
      const { report } = yield* NodeHedgeClient.NodeHedgeClient
      expect((yield* report)[0]!.connecting).toBe(1)
      yield* Fiber.interrupt(fiber)
      expect(yield* text(server.url)).toBe("answer")
      expect([server.connections, server.received.length]).toEqual([1, 1])
    }).pipe(Effect.provide(lanes()))
  )

  it.scopedLive("1,000 losers with little to come cost no connection", () =>
    Effect.gen(function* () {
      const body = Buffer.alloc(64 * 1024)
      const server = yield* serve((_, response) => {
        response.writeHead(200, { "content-length": body.length })
        // the rest comes when the loser has been cancelled, or while it is
        response.write(body.subarray(0, 1000), () => setImmediate(() => response.end(body.subarray(1000))))
      })
      const lose = Effect.flatMap(get(server.url), (response) => Stream.runHead(response.stream))
      yield* Effect.forEach(Array.from({ length: 1000 }), () => lose, { concurrency: 20, discard: true })
      yield* idle
      expect(server.received.length).toBe(1000)
      expect(server.connections).toBeLessThanOrEqual(40)
      expect(server.cancelled).toBe(0)
    }).pipe(Effect.provide(lanes()))
  )

  it.scopedLive("the rest of an answer that does not come is not waited for", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => response.writeHead(200).write("half"))
      const response = yield* get(server.url)
      yield* Stream.runHead(response.stream)
      yield* server.until(({ cancelled }) => cancelled === 1)
      yield* idle
    }).pipe(Effect.provide(lanes()))
  )

  it.scopedLive("a reader that stops holds up the sender, and what is taken in is bounded", () =>
    Effect.gen(function* () {
      const chunk = Buffer.alloc(256 * 1024)
      const chunks = 256
      let written = 0
      const server = yield* serve((_, response) => {
        const write = () => {
          while (written < chunks) {
            written++
            if (!response.write(chunk)) return void response.once("drain", write)
          }
          response.end()
        }
        write()
      })
      const response = yield* get(server.url)
      yield* Effect.repeatN(turn, 1000)
      expect(written).toBeLessThan(chunks / 2)
      const size = yield* Stream.runFold(response.stream, 0, (sum, part) => sum + part.length)
      expect(size).toBe(chunks * chunk.length)
    }).pipe(Effect.provide(lanes()))
  )
})
