/**
 * An `HttpClient` for Node over *lanes*: connections of which it keeps account, so that a hedge goes down another connection than what made it late.
 */
import type { ConnectionOptions } from "node:tls"
import { HttpClient } from "@effect/platform"
import { Context, type Duration, Effect, Layer, type Scope } from "effect"
import { LongStreams } from "./internal/client.js"
import * as internal from "./internal/make.js"
import type { LaneInfo, Listener } from "./LaneEvent.js"

/** How the lanes of an upstream are made. Every field is optional. Sizes are bytes. */
export interface Defaults {
  readonly protocol?: "auto" | "http/1.1" | "h2"
  readonly lanes?: number
  readonly connecting?: number
  readonly streamsPerLane?: number
  readonly windowSize?: number
  readonly connectionWindowSize?: number
  readonly pingInterval?: Duration.DurationInput
  readonly pingTimeout?: Duration.DurationInput
  readonly resetBurst?: number
  readonly resetsPerSecond?: number
  readonly connectTimeout?: Duration.DurationInput
  readonly keepAlive?: Duration.DurationInput
  readonly longStreams?: { readonly lanes?: number; readonly streamsPerLane?: number }
  readonly tls?: ConnectionOptions
}

export interface Upstream extends Defaults {
  readonly address?: string
}

export interface Options extends Defaults {
  readonly upstreams?: Readonly<Record<string, Upstream>>
  readonly listeners?: ReadonlyArray<Listener>
  readonly closeGrace?: Duration.DurationInput
}

export interface LaneReport extends LaneInfo {
  readonly state: "open" | "draining" | "closed"
  readonly inFlight: number
  readonly capacity: number
  readonly roundTrip: number
  readonly age: number
  readonly requests: number
}

export interface UpstreamReport {
  readonly origin: string
  readonly long: boolean
  readonly waiting: number
  readonly connecting: number
  readonly lanes: ReadonlyArray<LaneReport>
}

export interface Service {
  readonly client: HttpClient.HttpClient
  readonly report: Effect.Effect<ReadonlyArray<UpstreamReport>>
}

export class NodeHedgeClient extends Context.Tag("@effect-hedge/platform-node/NodeHedgeClient")<
  NodeHedgeClient,
  Service
>() {}

export const make: (options?: Options) => Effect.Effect<Service, never, Scope.Scope> = internal.make

export const layer: (options?: Options) => Layer.Layer<HttpClient.HttpClient | NodeHedgeClient> = (options) =>
  Layer.scopedContext(
    Effect.map(make(options), (service) =>
      Context.make(NodeHedgeClient, service).pipe(Context.add(HttpClient.HttpClient, service.client))
    )
  )

export const longStream: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> =
  Effect.provideService(LongStreams, true)
