import { HttpClient, HttpClientRequest } from "@effect/platform"
import { NodeHttpClient } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect } from "effect"
import { HedgePolicy, HedgeSchedule } from "effect-hedge"
import { main, Orders, placeOrder } from "../src/idempotentPost.js"
import { serve } from "../src/loopback.js"

/** Answers each request once another one, the copy, has arrived. */
const onceThereAre = (requests: number) => {
  let arrived = 0
  let release: () => void = () => {}
  const all = new Promise<void>((resolve) => {
    release = resolve
  })
  return () => {
    arrived += 1
    if (arrived >= requests) release()
    return all
  }
}

it.live("runs as it stands", () =>
  Effect.gen(function* () {
    expect(yield* main).toEqual({ order: 1, requests: 2, made: 1 })
  })
)

it.scopedLive("two copies of one order reach the server, which makes one", () =>
  Effect.gen(function* () {
    const orders = new Orders(onceThereAre(2))
    const api = yield* serve(orders.listener)
    expect(yield* placeOrder(api, "tea")).toEqual({ number: 1, item: "tea" })
    expect(orders).toMatchObject({ requests: 2, made: 1 })
  }).pipe(Effect.provide(NodeHttpClient.layerUndici))
)

it.scopedLive("two orders have two keys, and are made both", () =>
  Effect.gen(function* () {
    const orders = new Orders(() => Promise.resolve())
    const api = yield* serve(orders.listener)
    const first = yield* placeOrder(api, "tea")
    const second = yield* placeOrder(api, "tea")
    expect([first.number, second.number]).toEqual([1, 2])
    expect(orders).toMatchObject({ requests: 2, made: 2 })
  }).pipe(Effect.provide(NodeHttpClient.layerUndici))
)

it.scopedLive("an order that is placed again with its key is the same order", () =>
  Effect.gen(function* () {
    const orders = new Orders(() => Promise.resolve())
    const api = yield* serve(orders.listener)
    yield* placeOrder(api, "tea", "key-1")
    expect(yield* placeOrder(api, "tea", "key-1")).toEqual({ number: 1, item: "tea" })
    expect(orders).toMatchObject({ requests: 2, made: 1 })
  }).pipe(Effect.provide(NodeHttpClient.layerUndici))
)

it.scopedLive("a POST without a key is sent once, even when it is not answered well", () =>
  Effect.gen(function* () {
    let requests = 0
    const api = yield* serve((_request, response) => {
      requests += 1
      response.writeHead(503).end()
    })
    const policy = HedgePolicy.make({ schedule: HedgeSchedule.fixed(0), maxAttempts: 3 })
    const client = (yield* HttpClient.HttpClient).pipe(HttpHedge.withHedge({ policy }))
    const response = yield* client.execute(HttpClientRequest.post(`${api}/orders`))
    expect([response.status, requests]).toEqual([503, 1])
  }).pipe(Effect.provide(NodeHttpClient.layerUndici))
)
