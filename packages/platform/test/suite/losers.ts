import { HttpClient, type HttpClientError, type HttpClientResponse } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect, Stream } from "effect"
import { HedgeOutcome } from "effect-hedge"
import { afterFailure, attemptHeader, both } from "../support/policies.js"
import { type Handler, serve, type TestServer } from "../support/server.js"
import type { InspectableTransport, Transport } from "./transport.js"

type Client = HttpClient.HttpClient.With<HttpClientError.HttpClientError>

const callHeader = "x-call"
const headers = { attempt: attemptHeader, callId: callHeader }
const body = Buffer.alloc(2 * 1024 * 1024)

/** A way to lose: what the server answers, and a client whose calls lose one attempt each. */
interface Phase {
  readonly name: string
  readonly make: () => {
    readonly handler: Handler
    readonly hedged: (client: HttpClient.HttpClient) => Client
  }
}

/** Lets one thing of a call wait for another, whichever comes first. */
const rendezvous = () => {
  const waiting = new Map<string, () => void>()
  const arrived = new Set<string>()
  return {
    arrive: (call: string) => {
      const waiter = waiting.get(call)
      waiting.delete(call)
      if (waiter === undefined) arrived.add(call)
      else waiter()
    },
    afterwards: (call: string, f: () => void) => {
      if (arrived.delete(call)) f()
      else waiting.set(call, f)
    }
  }
}

const byAttempt =
  (
    answer: Readonly<Record<"primary" | "hedge", (call: string, ...rest: Parameters<Handler>) => void>>
  ): Handler =>
  (request, response) => {
    const call = String(request.headers[callHeader])
    const role = request.headers[attemptHeader] === undefined ? "primary" : "hedge"
    answer[role](call, request, response)
  }

const phases: ReadonlyArray<Phase> = [
  {
    name: "before headers",
    make: () => {
      const primarySeen = rendezvous()
      return {
        handler: byAttempt({
          primary: (call) => primarySeen.arrive(call),
          hedge: (call, _request, response) => primarySeen.afterwards(call, () => response.end("answer"))
        }),
        hedged: HttpHedge.withHedge({ policy: both, headers })
      }
    }
  },
  {
    name: "headers unread",
    make: () => ({
      handler: byAttempt({
        primary: (_call, _request, response) => response.writeHead(200, { "x-stale": "yes" }).write(body),
        hedge: (_call, _request, response) => response.end("answer")
      }),
      hedged: HttpHedge.withHedge({
        policy: afterFailure,
        headers,
        classify: (exit) =>
          exit._tag === "Success" && exit.value.headers["x-stale"] === "yes"
            ? HedgeOutcome.nonFatal()
            : HttpHedge.fromExit(exit)
      })
    })
  },
  {
    name: "mid-body",
    make: () => {
      const halfRead = rendezvous()
      const readAll = (response: HttpClientResponse.HttpClientResponse) => {
        const { [callHeader]: call, [attemptHeader]: hedge } = response.request.headers
        return hedge === undefined
          ? Stream.runForEach(response.stream, () => Effect.sync(() => halfRead.arrive(call!)))
          : response.text
      }
      return {
        handler: byAttempt({
          primary: (_call, _request, response) => response.writeHead(200).write("half"),
          hedge: (call, _request, response) => halfRead.afterwards(call, () => response.end("answer"))
        }),
        hedged: (client) =>
          client.pipe(HttpClient.tap(readAll), HttpHedge.withHedge({ policy: both, headers }))
      }
    }
  },
  {
    name: "a hedge's 503 with 2 MB to come",
    make: () => {
      const hedgeClosed = rendezvous()
      return {
        handler: byAttempt({
          primary: (call, _request, response) => hedgeClosed.afterwards(call, () => response.end("answer")),
          hedge: (call, _request, response) => {
            response.on("close", () => hedgeClosed.arrive(call))
            response.writeHead(503).write(body)
          }
        }),
        hedged: HttpHedge.withHedge({ policy: both, headers })
      }
    }
  }
]

/** Runs calls that lose one attempt each, until the server has seen every loser go. */
const lose = (server: TestServer, client: Client, calls: number, concurrency: number) =>
  Effect.gen(function* () {
    const before = server.cancelled
    const texts = yield* Effect.forEach(
      Array.from({ length: calls }),
      () => Effect.flatMap(client.get(server.url), (response) => response.text),
      { concurrency }
    )
    yield* server.until(({ cancelled, open }) => cancelled === before + calls && open === 0)
    return texts.filter((text) => text === "answer").length
  })

const concurrency = 40

/** A thousand in each phase, and a look into the client afterwards. Each of the `clients` that they are spread over is a new one. */
export const thousandLosers = <R>(
  { idle, layer, name, protocol }: InspectableTransport<R>,
  { clients }: { readonly clients: number }
): void => {
  describe(`C42: 1,000 losers over ${name}`, () => {
    it.scopedLive.each(phases)("$name: the server sees each go and nothing is held", ({ make }) =>
      Effect.gen(function* () {
        const { handler, hedged } = make()
        const server = yield* serve(handler, protocol)
        const lot = Effect.gen(function* () {
          const plain = yield* HttpClient.HttpClient
          // so that there are connections: a client may send no hedge where all it could do is queue
          expect(yield* lose(server, hedged(plain), 1, 1)).toBe(1)
          expect(yield* lose(server, hedged(plain), 1000 / clients, concurrency)).toBe(1000 / clients)
          yield* idle
          yield* server.until(({ sockets }) => sockets.size <= 2 * concurrency)
          expect(yield* lose(server, hedged(plain), 1, 1)).toBe(1)
        }).pipe(Effect.provide(layer))
        for (let i = 0; i < clients; i++) yield* lot
        yield* server.until(({ sockets }) => sockets.size === 0)
      })
    )
  })
}

/** A few in each phase. */
export const someLosers = ({ layer, name, protocol }: Transport): void => {
  describe(`C42: losers over ${name}`, () => {
    it.scopedLive.each(phases)("$name: the server sees each go and the next request is served", ({ make }) =>
      Effect.gen(function* () {
        const { handler, hedged } = make()
        const server = yield* serve(handler, protocol)
        const client = hedged(yield* HttpClient.HttpClient)
        expect(yield* lose(server, client, 20, 5)).toBe(20)
        expect(yield* lose(server, client, 1, 1)).toBe(1)
      }).pipe(Effect.provide(layer))
    )
  })
}
