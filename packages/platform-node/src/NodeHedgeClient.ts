/**
 * An `HttpClient` for Node over *lanes*: connections of which it keeps account, so that a hedge goes down another connection than what made it late.
 *
 * Other clients send a copy of a request wherever their pool puts it, which over HTTP/2 is the connection that is congested. Here
 * - a hedge never shares a lane with another attempt of its call. If there is no other lane and none may be opened, or if a hedge would have to queue, it is
 *   suppressed with the reason `NoDistinctTarget`;
 * - a request takes the lane with the least `(round trip + 1) × (requests in flight + 1)`; the round trip is that of HTTP/2 PINGs, the only thing that moves
 *   when a connection is congested;
 * - a request that finds no lane waits in a queue of the client's own, and vanishes from it when it is interrupted. As long as a hedge would only wait behind it,
 *   no stagger runs. A connection that is being opened belongs to whoever waits longest, not to the request for which it was opened;
 * - cancelling is cheap for both ends. HTTP/1.1: if at most 64 KB of the answer are to come they are read and thrown away (for 1 s; for 100 ms if the
 *   server has not said how much it is), so that the connection lives; otherwise it is closed. HTTP/2: the stream is reset, within a ration
 *   (`resetBurst`, `resetsPerSecond`) that no server takes for an attack;
 * - long streams (requests that accept `text/event-stream`, and those inside {@link longStream}) have lanes of their own.
 *
 * It is an `HttpClient` like any other, hedged (`HttpHedge.withHedge`) or not.
 *
 * When something fails:
 * - A connection that cannot be opened fails the request that has waited longest, and if there is neither a lane nor another connection being opened, all that
 *   wait, with a `RequestError` of reason `Transport`. The next connection is tried at once after a first failure, then after 50 ms, doubled up to 250 ms, one at a
 *   time until one succeeds; a request that comes in between waits for that try.
 * - A request of which nothing has been sent when its lane closes, or which an HTTP/2 server says that it has not begun, goes down another lane, at most
 *   three times. One that was sent fails, whatever its method: a hedge or a retry is for the caller to decide.
 * - A request that lanes cannot send (a header with a line break; over HTTP/1.1 also an `Expect` header) fails with reason `Encode`.
 *
 * Of a body that nobody reads 64 KB are taken in (over HTTP/2: its window), then the sender has to wait; it holds its lane until it is read, until the fiber that
 * reads it is interrupted, or until the response is garbage collected. Shorter ones free their lane by themselves. `HttpIncomingMessage.MaxBodySize` holds for all but
 * `stream`. Nothing is decompressed. Over HTTP/1.1 the head of an answer may take 16 KB, and answers to `HEAD`, as well as those of 204 and 304 that have a
 * `Content-Length` and those to a `DELETE` or `GET` with a body, close their connection, as undici does.
 *
 * @example
 * import { HttpClient } from "@effect/platform"
 * import { HttpHedge } from "@effect-hedge/platform"
 * import { NodeHedgeClient } from "@effect-hedge/platform-node"
 * import { Effect, Layer } from "effect"
 * import { HedgePolicy, HedgeSchedule } from "effect-hedge"
 *
 * const user = HttpClient.get("https://api.example.com/users/1").pipe(Effect.flatMap((response) => response.json))
 *
 * const Lanes = NodeHedgeClient.layer({
 *   upstreams: { "https://api.example.com": { protocol: "h2", lanes: 6 } }
 * })
 *
 * const Hedged = HttpHedge.layer.pipe(
 *   Layer.provide(HedgePolicy.layer({ schedule: HedgeSchedule.fixed("80 millis") })),
 *   Layer.provide(Lanes)
 * )
 *
 * export const main = user.pipe(Effect.provide(Hedged))
 *
 * @module
 */
import type { ConnectionOptions } from "node:tls"
import type { HttpClient } from "@effect/platform"
import type { Duration, Effect, Layer, Scope } from "effect"
import * as internal from "./internal/make.js"
import type { LaneInfo, Listener } from "./LaneEvent.js"

/** How the lanes of an upstream are made, wherever it is. Every field is optional; sizes are bytes. */
export interface Defaults {
  /**
   * Default `"auto"`: what the server prefers of HTTP/2 and HTTP/1.1 (ALPN), each connection for itself; HTTP/1.1 where it is not secure. `"h2"` there means
   * that the server is known to speak it.
   */
  readonly protocol?: "auto" | "http/1.1" | "h2"
  /**
   * The most connections at once, without those of HTTP/2 that take no more requests. Default: 4 over HTTP/2; over HTTP/1.1, where each serves one request at
   * a time, as many as are needed.
   */
  readonly lanes?: number
  /** The most connections that are being opened at once. Default 16: a cold burst is served sooner by few that are soon ready than by many that are late. */
  readonly connecting?: number
  /** The most requests on a lane of HTTP/2, and never more than the server allows. Default 100. */
  readonly streamsPerLane?: number
  /** What a server may send ahead of its reader, on one stream. HTTP/2 only. Default 262,144. */
  readonly windowSize?: number
  /** The same, on all streams of a lane. Default 1,048,576. */
  readonly connectionWindowSize?: number
  /** Between two PINGs of HTTP/2 while requests are in flight; `Infinity` sends only those that confirm a reset. Default 500 ms. */
  readonly pingInterval?: Duration.DurationInput
  /** An HTTP/2 lane on which nothing has come for so long, with a PING out, is taken for dead. Default 10 s. */
  readonly pingTimeout?: Duration.DurationInput
  /** HTTP/2 streams that may be reset at once on a lane. Default 400; Node's own servers end a connection at 1,000. */
  readonly resetBurst?: number
  /** And then per second. Default 20. */
  readonly resetsPerSecond?: number
  /** For DNS, TCP and TLS together. Default 10 s. */
  readonly connectTimeout?: Duration.DurationInput
  /** How long a lane is kept that nobody uses; less if an HTTP/1.1 server says so (`Keep-Alive`). Default 30 s. */
  readonly keepAlive?: Duration.DurationInput
  /** What is different for the lanes of long streams. */
  readonly longStreams?: { readonly lanes?: number; readonly streamsPerLane?: number }
  /** Options of `tls.connect`, such as `ca`, `cert` and `key`. */
  readonly tls?: ConnectionOptions
}

/** What is said of one upstream. */
export interface Upstream extends Defaults {
  /**
   * Where its connections go instead of where its name leads: a host or an IP address, with or without a port. `Host`, SNI and the name that is expected in the
   * certificate stay.
   */
  readonly address?: string
}

/** Options of a client: what is said of each upstream goes before what is said of all. */
export interface Options extends Defaults {
  /** By origin, such as `https://api.example.com`. Others may be called too. */
  readonly upstreams?: Readonly<Record<string, Upstream>>
  /** Who is told what happens. Default none. */
  readonly listeners?: ReadonlyArray<Listener>
  /** How long requests under way may go on when the client's scope closes. Those that wait for a lane fail at once. Default 1 s. */
  readonly closeGrace?: Duration.DurationInput
}

/** A lane as it is now; times are milliseconds. */
export interface LaneReport extends LaneInfo {
  readonly state: "open" | "draining" | "closed"
  /** Requests on it, those included that were cancelled and that the other end may still be at work on. */
  readonly inFlight: number
  /** How many it takes at once now. */
  readonly capacity: number
  /** A moving average of PINGs, never less than how long one is out; 0 over HTTP/1.1. */
  readonly roundTrip: number
  readonly age: number
  /** How many it was given. */
  readonly requests: number
}

/** The lanes of an upstream, or those of its long streams. */
export interface UpstreamReport {
  readonly origin: string
  readonly long: boolean
  /** Requests that wait for a lane. */
  readonly waiting: number
  /** Connections that are being opened. */
  readonly connecting: number
  readonly lanes: ReadonlyArray<LaneReport>
}

/** A client, and what its lanes are doing. */
export interface Service {
  readonly client: HttpClient.HttpClient
  readonly report: Effect.Effect<ReadonlyArray<UpstreamReport>>
}

/** The client of {@link layer}, for those who want to know more of it than that it is an `HttpClient`: a tag of {@link Service}. */
export { NodeHedgeClient } from "./internal/make.js"

/**
 * Makes a client that lives as long as the scope. Throws `HedgePolicyError` for options that make no sense.
 *
 * When the scope closes, requests that wait fail, and those under way may end within `closeGrace`; then no connection is left.
 */
export const make: (options?: Options) => Effect.Effect<Service, never, Scope.Scope> = internal.make

/**
 * Provides a client. Throws `HedgePolicyError` for options that make no sense.
 *
 * @example
 * import { NodeHedgeClient } from "@effect-hedge/platform-node"
 * import { Console, Effect } from "effect"
 *
 * export const Lanes = NodeHedgeClient.layer({
 *   connectTimeout: "2 seconds",
 *   upstreams: { "https://api.example.com": { address: "10.0.0.7", lanes: 2 } }
 * })
 *
 * // what its lanes are doing
 * export const show = Effect.flatMap(NodeHedgeClient.NodeHedgeClient, ({ report }) => Effect.flatMap(report, Console.log))
 */
export const layer: (options?: Options) => Layer.Layer<HttpClient.HttpClient | internal.NodeHedgeClient> =
  internal.layer

/**
 * Says that the requests made inside have answers that take long to end, however little comes of them at once: they take the lanes of long streams, and
 * short requests none of theirs.
 *
 * @example
 * import { HttpClient } from "@effect/platform"
 * import { NodeHedgeClient } from "@effect-hedge/platform-node"
 *
 * export const download = NodeHedgeClient.longStream(HttpClient.get("https://api.example.com/export"))
 */
export const longStream: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> =
  internal.longStream
