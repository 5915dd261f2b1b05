import { HttpClient, HttpClientRequest } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect, Stream } from "effect"
import { inHand, type Transport, transports, undiciHttp1, undiciHttp2 } from "../support/clients.js"
import { attemptHeader, both } from "../support/policies.js"
import { type Handler, serve, type TestServer } from "../support/server.js"
import { begin, dataOf, roles } from "./support.js"

/** Ways to have no first event while another attempt has one. */
const phases: ReadonlyArray<readonly [name: string, primary: Handler]> = [
  ["before its headers", () => {}],
  [
    "with headers and no body yet",
    (_request, response) => {
      begin(response)
    }
  ],
  [
    "with comments and half an event",
    (_request, response) => {
      begin(response).write(": wait\n\ndata: half")
    }
  ],
  [
    "with a 503 whose 2 MB do not end",
    (_request, response) => {
      response.writeHead(503).write(Buffer.alloc(2 * 1024 * 1024))
    }
  ]
]

const whole: Handler = (_request, response) => {
  begin(response).write("data: a\n\n")
  setImmediate(() => response.end("data: b\n\n"))
}

/** Reads hedged streams, each of which has a loser, until the server has seen every one go. */
const lose = (server: TestServer, calls: number) =>
  Effect.gen(function* () {
    const open = (yield* HttpClient.HttpClient).pipe(
      HttpHedge.events({ policy: both, headers: { attempt: attemptHeader } })
    )
    const read = yield* Effect.forEach(
      Array.from({ length: calls }),
      () => dataOf(open(HttpClientRequest.get(server.url))),
      { concurrency: 20 }
    )
    yield* server.until((server) => server.open === 0)
    return read.filter((data) => data.join() === "a,b").length
  })

describe.each([undiciHttp1, undiciHttp2])(
  "C42: losers of hedged events over $name",
  ({ layer, protocol }) => {
    it.scopedLive.each(phases)("%s: the server sees each go and nothing is held", ([, primary]) =>
      Effect.gen(function* () {
        const server = yield* serve(roles(primary, whole), protocol)
        yield* Effect.gen(function* () {
          expect(yield* lose(server, 100)).toBe(100)
          expect(yield* inHand).toBe(0)
          expect(yield* lose(server, 1)).toBe(1)
        }).pipe(Effect.provide(layer))
        yield* server.until(({ sockets }) => sockets.size === 0)
      })
    )
  }
)

const others: ReadonlyArray<Transport> = transports.filter(
  (transport) => transport !== undiciHttp1 && transport !== undiciHttp2
)

describe.each(others)("C42: losers of hedged events over $name", ({ layer, protocol }) => {
  it.scopedLive.each(phases)("%s: the server sees each go and the next is served", ([, primary]) =>
    Effect.gen(function* () {
      const server = yield* serve(roles(primary, whole), protocol)
      expect(yield* lose(server, 20)).toBe(20)
      expect(yield* lose(server, 1)).toBe(1)
    }).pipe(Effect.provide(layer))
  )
})

describe.each(transports)("C42: winners that are given up over $name", ({ layer, protocol }) => {
  it.scopedLive("are cancelled wherever they are", () =>
    Effect.gen(function* () {
      const server = yield* serve((_request, response) => {
        begin(response).write("data: a\n\n")
      }, protocol)
      const open = (yield* HttpClient.HttpClient).pipe(HttpHedge.events({ policy: both }))
      yield* Effect.forEach(
        Array.from({ length: 20 }),
        () => Stream.runHead(open(HttpClientRequest.get(server.url))),
        { concurrency: 5 }
      )
      yield* server.until((server) => server.open === 0)
    }).pipe(Effect.provide(layer))
  )
})
