/**
 * A write that may be hedged, because an idempotency key goes with it and the server keeps to it: of all copies of a request it carries
 * out one, and answers the others with the result of that one.
 */
import { randomUUID } from "node:crypto"
import type { RequestListener } from "node:http"
import { text } from "node:stream/consumers"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "@effect/platform"
import { NodeHttpClient } from "@effect/platform-node"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect, Schema } from "effect"
import { HedgePolicy, HedgeSchedule } from "effect-hedge"
import { serve } from "./loopback.js"

const Order = Schema.Struct({ number: Schema.Number, item: Schema.String })

const policy = HedgePolicy.make({
  name: "orders",
  schedule: HedgeSchedule.fixed("40 millis"),
  deadline: "5 seconds"
})

/** The key belongs to the order, not to the attempt: all copies carry it, and so would a retry of the whole. */
export const placeOrder = (api: string, item: string, key: string = randomUUID()) =>
  Effect.gen(function* () {
    const client = (yield* HttpClient.HttpClient).pipe(
      HttpHedge.withHedge({ policy }),
      HttpClient.filterStatusOk
    )
    const response = yield* HttpClientRequest.post(`${api}/orders`).pipe(
      HttpClientRequest.setHeader("Idempotency-Key", key),
      HttpClientRequest.bodyUnsafeJson({ item }),
      client.execute
    )
    return yield* HttpClientResponse.schemaBodyJson(Order)(response)
  })

/**
 * The server's half. A copy that arrives while the order is still being made waits for it; a server may as well answer it with 409, which does
 * not win.
 */
export class Orders {
  requests = 0
  made = 0
  private readonly byKey = new Map<string, Promise<typeof Order.Type>>()

  /** @param takes how long it takes to answer a request, by its number. */
  constructor(private readonly takes: (request: number) => Promise<void>) {}

  readonly listener: RequestListener = async (request, response) => {
    const arrival = ++this.requests
    const { item } = JSON.parse(await text(request)) as { readonly item: string }
    const order = await this.order(String(request.headers["idempotency-key"]), item)
    await this.takes(arrival)
    response.end(JSON.stringify(order))
  }

  private order(key: string, item: string): Promise<typeof Order.Type> {
    const known = this.byKey.get(key) ?? this.make(item)
    this.byKey.set(key, known)
    return known
  }

  private async make(item: string): Promise<typeof Order.Type> {
    this.made += 1
    return { number: this.made, item }
  }
}

/** The order is made, but the first answer does not arrive: the copy brings the same order. */
export const main = Effect.gen(function* () {
  const orders = new Orders((request) => (request === 1 ? new Promise(() => {}) : Promise.resolve()))
  const api = yield* serve(orders.listener)
  const order = yield* placeOrder(api, "tea")
  return { order: order.number, requests: orders.requests, made: orders.made }
}).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici))
