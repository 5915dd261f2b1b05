/** An upstream that answers when a test says so. */
import type { ServerResponse } from "node:http"
import { Deferred, Effect, Option, type Scope } from "effect"
import { serve } from "../../../src/loopback.js"

export interface Upstream {
  readonly url: string
  /** Requests that have arrived. */
  readonly requests: () => number
  /** Waits for the request of a symbol that is the n-th to arrive, from 0. */
  readonly request: (symbol: string, n: number) => Effect.Effect<ServerResponse>
}

export const answer = (response: ServerResponse, status = 200): Effect.Effect<void> =>
  Effect.sync(() => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ price: 42 }))
  })

/** Symbols that begin with `fast` are answered at once; every other request waits for the test. */
export const upstream: Effect.Effect<Upstream, never, Scope.Scope> = Effect.gen(function* () {
  const arrivals = new Map<string, Deferred.Deferred<ServerResponse>>()
  const counts = new Map<string, number>()
  const arrival = (symbol: string, n: number) => {
    const key = `${symbol} ${n}`
    const known = Option.fromNullable(arrivals.get(key))
    const deferred = Option.getOrElse(known, () => Effect.runSync(Deferred.make<ServerResponse>()))
    arrivals.set(key, deferred)
    return deferred
  }
  const url = yield* serve((request, response) => {
    const symbol = request.url!.split("/").at(-1)!
    const n = counts.get(symbol) ?? 0
    counts.set(symbol, n + 1)
    if (symbol.startsWith("fast")) Effect.runSync(answer(response))
    Deferred.unsafeDone(arrival(symbol, n), Effect.succeed(response))
  })
  return {
    url,
    requests: () => [...counts.values()].reduce((sum, n) => sum + n, 0),
    request: (symbol, n) => Effect.suspend(() => Deferred.await(arrival(symbol, n)))
  }
})
