import { FetchHttpClient } from "@effect/platform"
import { NodeHttpClient, Undici } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { type InspectableTransport, type Transport, untilZero } from "../suite/transport.js"
import { certificate } from "./certificate.js"

const agent = (options: Undici.Agent.Options) =>
  Effect.acquireRelease(
    Effect.map(
      certificate,
      ({ cert }) => new Undici.Agent({ ...options, connect: { ca: cert, ...options.connect } })
    ),
    (agent) => Effect.promise(() => agent.destroy())
  )

const undici = (options: Undici.Agent.Options = {}) =>
  NodeHttpClient.layerUndiciWithoutDispatcher.pipe(
    Layer.provideMerge(Layer.scoped(NodeHttpClient.Dispatcher, agent(options)))
  )

/** HTTP/2 on one connection, below the number of streams that Node's server allows. */
const http2 = undici({ allowH2: true, connections: 1, pipelining: 90 })

/** The global `fetch` cannot be told of a certificate. */
const fetchTls = FetchHttpClient.layer.pipe(
  Layer.provide(
    Layer.scoped(
      FetchHttpClient.Fetch,
      Effect.map(
        agent({}),
        (dispatcher) =>
          ((input: string, init: Undici.RequestInit) =>
            Undici.fetch(input, { ...init, dispatcher })) as unknown as typeof globalThis.fetch
      )
    )
  )
)

const node = Layer.unwrapEffect(
  Effect.map(certificate, ({ cert }) =>
    NodeHttpClient.layerWithoutAgent.pipe(
      Layer.provide(NodeHttpClient.makeAgentLayer({ ca: cert, keepAlive: true }))
    )
  )
)

/** Requests that undici still has in hand. */
const inHand: Effect.Effect<number, never, NodeHttpClient.Dispatcher> = Effect.map(
  NodeHttpClient.Dispatcher,
  (dispatcher) =>
    Object.values((dispatcher as Undici.Agent).stats).reduce(
      (sum, { running, pending }) => sum + running + pending,
      0
    )
)

type UndiciTransport = InspectableTransport<NodeHttpClient.Dispatcher>

const idle = untilZero(inHand)

export const undiciHttp1: UndiciTransport = {
  name: "undici, HTTP/1.1",
  protocol: "HTTP/1.1",
  layer: undici(),
  idle
}
const undiciTls: Transport = {
  name: "undici, TLS",
  protocol: "HTTP/1.1 over TLS",
  layer: undici()
}
export const undiciHttp2: UndiciTransport = { name: "undici, HTTP/2", protocol: "HTTP/2", layer: http2, idle }

export const fetchHttp1: Transport = {
  name: "fetch, HTTP/1.1",
  protocol: "HTTP/1.1",
  layer: FetchHttpClient.layer
}

/** Every client of the platform over every protocol that it speaks. */
export const transports: ReadonlyArray<Transport> = [
  undiciHttp1,
  undiciTls,
  undiciHttp2,
  fetchHttp1,
  { name: "fetch, TLS", protocol: "HTTP/1.1 over TLS", layer: fetchTls },
  { name: "node:http, HTTP/1.1", protocol: "HTTP/1.1", layer: node },
  { name: "node:http, TLS", protocol: "HTTP/1.1 over TLS", layer: node }
]
