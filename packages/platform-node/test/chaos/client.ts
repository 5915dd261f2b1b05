/** The clients that are tried. */
import { HttpClient } from "@effect/platform"
import { NodeHttpClient, Undici } from "@effect/platform-node"
import { type LaneEvent, NodeHedgeClient } from "@effect-hedge/platform-node"
import { Context, Effect, Layer, type Scope } from "effect"

export interface Tried {
  readonly client: HttpClient.HttpClient
  /** Requests that it has in hand, those that wait included. */
  readonly inHand: Effect.Effect<number>
  /** What it holds, in words. */
  readonly describe: Effect.Effect<string>
}

export const lanes = (ca: string, listener: LaneEvent.Listener): Effect.Effect<Tried, never, Scope.Scope> =>
  Effect.map(
    NodeHedgeClient.make({
      tls: { ca },
      pingInterval: 100,
      pingTimeout: 1000,
      connectTimeout: 1000,
      keepAlive: 1000,
      listeners: [listener]
    }),
    ({ client, report }) => ({
      client,
      inHand: Effect.map(report, (upstreams) =>
        upstreams.reduce(
          (sum, { lanes, waiting }) => sum + waiting + lanes.reduce((sum, { inFlight }) => sum + inFlight, 0),
          0
        )
      ),
      describe: Effect.map(report, (upstreams) =>
        JSON.stringify(upstreams.filter(({ lanes, waiting }) => lanes.length + waiting > 0))
      )
    })
  )

export const undici = (ca: string): Effect.Effect<Tried, never, Scope.Scope> =>
  Effect.gen(function* () {
    const agent = yield* Effect.acquireRelease(
      Effect.sync(() => new Undici.Agent({ allowH2: true, connect: { ca, timeout: 1000 } })),
      (agent) => Effect.promise(() => agent.destroy())
    )
    const context = yield* Layer.build(
      NodeHttpClient.layerUndiciWithoutDispatcher.pipe(
        Layer.provide(Layer.succeed(NodeHttpClient.Dispatcher, agent))
      )
    )
    const inHand = Effect.sync(() =>
      Object.values(agent.stats).reduce((sum, { pending, running }) => sum + running + pending, 0)
    )
    return {
      client: Context.get(context, HttpClient.HttpClient),
      inHand,
      describe: Effect.sync(() => JSON.stringify(agent.stats))
    }
  })
