/**
 * A client of `@effect/rpc` over HTTP, hedged in two ways: one procedure, whose effect is hedged where it is used; and all procedures of a group
 * that holds nothing but reads, through the HttpClient below its protocol. The latter reaches procedures that stream as well.
 */
import { HttpRouter, HttpServer } from "@effect/platform"
import { NodeHttpClient } from "@effect/platform-node"
import { Rpc, RpcClient, RpcGroup, RpcSerialization, RpcServer } from "@effect/rpc"
import { HttpHedge } from "@effect-hedge/platform"
import { Cause, Chunk, Effect, Exit, Layer, Option, Predicate, Schema, Stream } from "effect"
import { Hedge, HedgeOutcome, HedgePolicy, HedgeSchedule } from "effect-hedge"
import { Loopback, Visits } from "./loopback.js"

// the procedures: reads in a group of their own, so that a client can have those alone

export class NoSuchItem extends Schema.TaggedError<NoSuchItem>()("NoSuchItem", { id: Schema.Number }) {}

export class Reads extends RpcGroup.make(
  Rpc.make("price", { payload: { id: Schema.Number }, success: Schema.Number, error: NoSuchItem }),
  Rpc.make("history", { payload: { id: Schema.Number }, success: Schema.Number, stream: true })
) {}

class Writes extends RpcGroup.make(
  /** Idempotent: of all requests with one key the server carries out one. */
  Rpc.make("order", { payload: { key: Schema.String, id: Schema.Number }, success: Schema.Number }),
  /** Not idempotent: each request sends a mail. */
  Rpc.make("remind", { payload: { order: Schema.Number }, success: Schema.String })
) {}

class Shop extends Reads.merge(Writes) {}

// its clients

/** An error of the protocol may be another one's luck; an error that the procedure declares is its answer. */
export const classify = (exit: Exit.Exit<unknown, unknown>): HedgeOutcome.HedgeOutcome => {
  if (Exit.isSuccess(exit)) return HedgeOutcome.win
  const error = Option.getOrUndefined(Cause.failureOption(exit.cause))
  return Predicate.isTagged(error, "RpcClientError") ? HedgeOutcome.nonFatal() : HedgeOutcome.fatal()
}

const shopPolicy = HedgePolicy.make({
  name: "shop",
  schedule: HedgeSchedule.fixed("40 millis"),
  deadline: "5 seconds",
  classify
})

/**
 * A procedure at a time: every attempt is a request of its own, with an id of its own. Of `history`, a stream, the first element decides. `remind`
 * stays as it is.
 */
export const withHedgedProcedures = (policy: typeof shopPolicy = shopPolicy) =>
  Effect.map(RpcClient.make(Shop), (client) => ({
    ...client,
    price: (id: number) => client.price({ id }).pipe(Hedge.hedge(policy)),
    history: (id: number) => client.history({ id }).pipe(Hedge.hedgeStream(policy)),
    order: (key: string, id: number) => client.order({ key, id }).pipe(Hedge.hedge(policy))
  }))

const Protocol = (url: string) =>
  RpcClient.layerProtocolHttp({ url }).pipe(Layer.provide(RpcSerialization.layerNdjson))

export const PlainProtocol = (url: string) => Protocol(url).pipe(Layer.provide(NodeHttpClient.layerUndici))

/**
 * All procedures of a client: each one is a POST, whatever it does, so it takes consent to hedge them, and a client that has none but reads to
 * give it. The server sends its headers with a procedure's first answer, which is therefore what wins; the rest of a stream comes from there.
 */
export const HedgedProtocol = (url: string) =>
  Protocol(url).pipe(
    Layer.provide(
      HttpHedge.layerWith({
        policy: HedgePolicy.make({ name: "reads", schedule: HedgeSchedule.fixed("40 millis") }),
        eligible: () => true
      })
    ),
    Layer.provide(NodeHttpClient.layerUndici)
  )

// its server

const Handlers = Shop.toLayer(
  Effect.gen(function* () {
    const { visit } = yield* Visits
    const orders = new Map<string, number>()
    return {
      price: ({ id }) =>
        id === 1 ? Effect.as(visit("price"), 42) : Effect.zipRight(visit("unknown"), new NoSuchItem({ id })),
      history: () =>
        Stream.fromEffect(visit("history")).pipe(Stream.drain, Stream.concat(Stream.range(40, 42))),
      order: ({ key }) => {
        const number = orders.get(key) ?? orders.size + 1
        orders.set(key, number)
        return Effect.as(visit("order"), number)
      },
      remind: () => Effect.as(visit("remind"), "reminded")
    }
  })
)

const ShopServer = HttpRouter.Default.serve().pipe(
  Layer.provide(RpcServer.layer(Shop)),
  Layer.provide(Handlers),
  Layer.provide(RpcServer.layerProtocolHttp({ path: "/rpc" })),
  Layer.provide(RpcSerialization.layerNdjson),
  Layer.provideMerge(Loopback)
)

/** Runs a program against a server of its own, some of whose procedures leave their first request without an answer. */
export const visiting = <A, E, R>(
  silent: ReadonlyArray<string>,
  protocol: (url: string) => Layer.Layer<RpcClient.Protocol>,
  program: Effect.Effect<A, E, R>
) =>
  Effect.gen(function* () {
    const result = yield* HttpServer.addressFormattedWith((address) =>
      Effect.provide(Effect.scoped(program), protocol(`${address}/rpc`))
    )
    return { result, requests: { ...(yield* Visits).counts } }
  }).pipe(Effect.provide(Layer.provideMerge(ShopServer, Visits.layer(silent))))

const collect = <A, E, R>(stream: Stream.Stream<A, E, R>) =>
  Effect.map(Stream.runCollect(stream), Chunk.toReadonlyArray)

export const main = Effect.gen(function* () {
  const procedures = yield* visiting(
    ["price", "history", "order"],
    PlainProtocol,
    Effect.gen(function* () {
      const shop = yield* withHedgedProcedures()
      const price = yield* shop.price(1)
      const history = yield* collect(shop.history(1))
      const order = yield* shop.order("key-1", 1)
      return { price, history, order, remind: yield* shop.remind({ order }) }
    })
  )
  const protocol = yield* visiting(
    ["price", "history"],
    HedgedProtocol,
    Effect.gen(function* () {
      const reads = yield* RpcClient.make(Reads)
      const price = yield* reads.price({ id: 1 })
      return { price, history: yield* collect(reads.history({ id: 1 })) }
    })
  )
  return { procedures, protocol }
})
