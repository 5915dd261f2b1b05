import { HttpClient, HttpClientRequest } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect, Stream } from "effect"
import { begin, dataOf, roles } from "../events/support.js"
import { attemptHeader, both } from "../support/policies.js"
import { type Handler, serve, type TestServer } from "../support/server.js"
import type { InspectableTransport, Transport } from "./transport.js"

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

/** A look into the client afterwards. */
export const manyEventLosers = <R>({ idle, layer, name, protocol }: InspectableTransport<R>): void => {
  describe(`C42: 100 losers of hedged events over ${name}`, () => {
    it.scopedLive.each(phases)("%s: the server sees each go and nothing is held", ([, primary]) =>
      Effect.gen(function* () {
        const server = yield* serve(roles(primary, whole), protocol)
        yield* Effect.gen(function* () {
          expect(yield* lose(server, 100)).toBe(100)
          yield* idle
          expect(yield* lose(server, 1)).toBe(1)
        }).pipe(Effect.provide(layer))
        yield* server.until(({ sockets }) => sockets.size === 0)
      })
    )
  })
}

/** A few. */
export const someEventLosers = ({ layer, name, protocol }: Transport): void => {
  describe(`C42: losers of hedged events over ${name}`, () => {
    it.scopedLive.each(phases)("%s: the server sees each go and the next is served", ([, primary]) =>
      Effect.gen(function* () {
        const server = yield* serve(roles(primary, whole), protocol)
        expect(yield* lose(server, 20)).toBe(20)
        expect(yield* lose(server, 1)).toBe(1)
      }).pipe(Effect.provide(layer))
    )
  })
}

export const eventsGivenUp = ({ layer, name, protocol }: Transport): void => {
  describe(`C42: winners that are given up over ${name}`, () => {
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
}
