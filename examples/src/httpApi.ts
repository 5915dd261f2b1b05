/**
 * An HttpApiClient, hedged in three ways: the effect of one endpoint; the requests of one endpoint; and those of every endpoint that may be sent
 * twice. The errors that the API declares keep their types in each.
 */
import {
  HttpApi,
  HttpApiBuilder,
  HttpApiClient,
  HttpApiEndpoint,
  HttpApiGroup,
  HttpApiSchema,
  HttpClient,
  HttpClientError,
  HttpServer
} from "@effect/platform"
import { NodeHttpClient } from "@effect/platform-node"
import { HttpHedge } from "@effect-hedge/platform"
import { Cause, Effect, Exit, Layer, Option, Schema } from "effect"
import { Hedge, HedgeOutcome, HedgePolicy, HedgeSchedule } from "effect-hedge"
import { Loopback, Visits } from "./loopback.js"

// the API

export class NoSuchItem extends Schema.TaggedError<NoSuchItem>()(
  "NoSuchItem",
  { id: Schema.Number },
  HttpApiSchema.annotations({ status: 404 })
) {}

const path = Schema.Struct({ id: Schema.NumberFromString })

const Shop = HttpApi.make("shop").add(
  HttpApiGroup.make("items")
    .add(
      HttpApiEndpoint.get("price", "/items/:id/price")
        .setPath(path)
        .addSuccess(Schema.Number)
        .addError(NoSuchItem)
    )
    .add(HttpApiEndpoint.get("stock", "/items/:id/stock").setPath(path).addSuccess(Schema.Number))
    .add(HttpApiEndpoint.post("order", "/items/:id/orders").setPath(path).addSuccess(Schema.String))
)

// its clients

/** What the API declares is an answer, errors included: no copy would have a better one. The rest is judged as HTTP is. */
export const classify = (exit: Exit.Exit<unknown, unknown>): HedgeOutcome.HedgeOutcome => {
  if (Exit.isSuccess(exit)) return HedgeOutcome.win
  const error = Option.getOrUndefined(Cause.failureOption(exit.cause))
  return HttpClientError.isHttpClientError(error)
    ? HttpHedge.fromExit(Exit.failCause(exit.cause))
    : HedgeOutcome.fatal()
}

const pricePolicy = HedgePolicy.make({
  name: "price",
  schedule: HedgeSchedule.fixed("40 millis"),
  deadline: "5 seconds",
  classify
})

const stockPolicy = HedgePolicy.make({
  name: "stock",
  schedule: HedgeSchedule.fixed("40 millis"),
  deadline: "5 seconds"
})

const shopPolicy = HedgePolicy.make({ name: "shop", schedule: HedgeSchedule.fixed("40 millis") })

/**
 * One endpoint by its effect: an attempt is the whole of it, reading and decoding of the body included, and nothing but the caller says that it may be sent
 * twice. The other endpoints are as they were.
 */
export const withHedgedPrice = (baseUrl: string, policy: typeof pricePolicy = pricePolicy) =>
  Effect.map(HttpApiClient.make(Shop, { baseUrl }), ({ items }) => ({
    ...items,
    price: (id: number) => items.price({ path: { id } }).pipe(Hedge.hedge(policy))
  }))

/**
 * One endpoint by its requests: judged by their statuses, an answer wins with its headers, and the winner's body alone is read and decoded. A
 * deadline adds `HedgeError` to the errors of the endpoint.
 */
export const hedgedStock = (baseUrl: string) =>
  Effect.flatMap(HttpClient.HttpClient, (client) =>
    HttpApiClient.endpoint(Shop, {
      baseUrl,
      group: "items",
      endpoint: "stock",
      httpClient: client.pipe(HttpHedge.withHedge({ policy: stockPolicy }))
    })
  )

/**
 * Every endpoint by its requests: `order`, a POST without an idempotency key, is sent once. `transformClient` has no room for another error, so
 * the policy has no deadline; `HttpApiClient.makeWith` has, and `HttpHedge.layer` makes a `RequestError` of it.
 */
export const hedgedClient = (baseUrl: string) =>
  HttpApiClient.make(Shop, { baseUrl, transformClient: HttpHedge.withHedge({ policy: shopPolicy }) })

// its server

const Handlers = HttpApiBuilder.group(Shop, "items", (handlers) =>
  Effect.gen(function* () {
    const { visit } = yield* Visits
    return handlers
      .handle("price", ({ path }) =>
        path.id === 1
          ? Effect.as(visit("price"), 42)
          : Effect.zipRight(visit("unknown"), new NoSuchItem(path))
      )
      .handle("stock", () => Effect.as(visit("stock"), 7))
      .handle("order", () => Effect.as(visit("order"), "ordered"))
  })
)

const ShopServer = HttpApiBuilder.serve().pipe(
  Layer.provide(HttpApiBuilder.api(Shop)),
  Layer.provide(Handlers),
  Layer.provideMerge(Loopback)
)

/** Runs a program against a server of its own, some of whose endpoints leave their first request without an answer. */
export const visiting = <A, E, R>(
  silent: ReadonlyArray<string>,
  program: (baseUrl: string) => Effect.Effect<A, E, R>
) =>
  Effect.gen(function* () {
    const result = yield* HttpServer.addressFormattedWith(program).pipe(
      Effect.provide(NodeHttpClient.layerUndici)
    )
    return { result, requests: { ...(yield* Visits).counts } }
  }).pipe(Effect.provide(Layer.provideMerge(ShopServer, Visits.layer(silent))))

const one = { path: { id: 1 } }

export const main = Effect.all({
  byEffect: visiting(["price"], (baseUrl) =>
    Effect.gen(function* () {
      const items = yield* withHedgedPrice(baseUrl)
      return [yield* items.price(1), yield* items.stock(one), yield* items.order(one)]
    })
  ),
  byRequest: visiting(["stock"], (baseUrl) =>
    Effect.gen(function* () {
      const stock = yield* hedgedStock(baseUrl)
      return yield* Effect.catchTag(stock(one), "HedgeError", () => Effect.succeed("not known in time"))
    })
  ),
  everyEndpoint: visiting(["price", "stock"], (baseUrl) =>
    Effect.gen(function* () {
      const { items } = yield* hedgedClient(baseUrl)
      return [yield* items.price(one), yield* items.stock(one), yield* items.order(one)]
    })
  )
})
