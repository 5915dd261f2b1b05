/**
 * Hedging for an `HttpClient`: when an answer is late, another copy of the request is sent; the first good answer wins and the others
 * are cancelled.
 *
 * - A request is hedged if it may be sent twice: `GET`, `HEAD` and `OPTIONS`, and others by consent or with an idempotency key (see
 *   {@link Options}), with a body that can be sent again. Any other passes through as one attempt.
 * - An answer is decided on when its headers arrive ({@link fromExit}). Its body is not touched: it streams as without hedging, and it is
 *   not hedged. To hedge the reading too, put it inside: `Hedge.hedge(Effect.flatMap(client.get(url), (response) => response.json), policy)`.
 * - Losers are cancelled at once, wherever they are: before their headers, with headers unread, in the middle of a body. Over HTTP/1.1 that
 *   costs their connection, over HTTP/2 a reset of their stream.
 * - If no attempt had a good answer, the caller gets what the primary got, a 503 with its body for example.
 * - Under a policy that names no throttle, each origin has one of its own (`HedgeThrottle.makeDefault`), so that an outage of one upstream
 *   takes nothing from another. They are shared by the clients of the process; 256 origins are remembered, those used again before those used once. A throttle that the
 *   policy names or that replaces `HedgeThrottle.Default` is asked for all origins.
 * - A policy that learns (`HedgePolicy.layerAdaptive`, or a schedule such as `HedgeSchedule.quantile`) learns for each origin and, under it, each
 *   route: see {@link routeOf}. A route that is new goes by what is known of its origin. The budget of `layerAdaptive` is one for each origin.
 *   `HedgePolicy.inspect(policy, ["https://api.example.com", "GET /users/:id"])` tells what is known of a route. A policy that is keyed already
 *   (`HedgePolicy.keyed`) keeps its key.
 *
 * How it goes together with other transformations of a client; *above* means later in the `pipe`:
 *
 * | with | where | because |
 * |---|---|---|
 * | `mapRequest`, `mapRequestEffect` | below or above | done once for a call: every copy has the same token and the same idempotency key |
 * | `filterStatusOk` | above | below works too: the error is judged by its status, and its response is released when it loses |
 * | `retry`, `retryTransient` | above | each retry is a new call; below, every attempt would retry |
 * | `withCookiesRef` | above | only the winner's cookies are kept; below, those of every answer |
 * | `followRedirects` | below | the whole chain is one attempt, and a redirect of a replica leads to the replica; above, every step is a call |
 * | `withScope` | above or below | the answer ends with the scope; losers end at once |
 * | a rate limiter, a breaker | below | each attempt counts, since the upstream sees each |
 * | a cache, `RequestResolver` batching | above | below, a hedge joins the slow call and does nothing |
 * | `HttpApiClient` | over {@link layer}, or with {@link withHedge} as its `transformClient` | |
 * | `tap` with an effect that waits | above | below, a loser that is interrupted in it has a response that nobody releases |
 *
 * Every attempt has the client's own span, all in one trace; `HedgeTracing` adds a span for the call and for each attempt around them.
 *
 * @example
 * import { FetchHttpClient, HttpClient } from "@effect/platform"
 * import { HttpHedge } from "@effect-hedge/platform"
 * import { Effect, Layer } from "effect"
 * import { HedgePolicy, HedgeSchedule } from "effect-hedge"
 *
 * // the program knows nothing of hedging
 * const user = HttpClient.get("https://api.example.com/users/1").pipe(Effect.flatMap((response) => response.json))
 *
 * const HedgedHttpClient = HttpHedge.layer.pipe(
 *   Layer.provide(HedgePolicy.layer({ schedule: HedgeSchedule.fixed("80 millis"), deadline: "2 seconds" })),
 *   Layer.provide(FetchHttpClient.layer)
 * )
 *
 * export const main = user.pipe(Effect.provide(HedgedHttpClient))
 *
 * @module
 */
import type { HttpClient, HttpClientError, HttpClientRequest, HttpClientResponse } from "@effect/platform"
import type { Exit, Layer, Stream } from "effect"
import type { Hedge, HedgeAttempt, HedgeOutcome, HedgePolicy, LatencyEstimator } from "effect-hedge"
import * as internalEvents from "./internal/events.js"
import * as internalKeys from "./internal/keys.js"
import * as internalLayer from "./internal/layer.js"
import * as internalPolicies from "./internal/policies.js"
import * as internal from "./internal/withHedge.js"

/** What a user may say beside the policy. Every field is optional. */
export interface Options {
  /**
   * Further requests that may be sent more than once. `GET`, `HEAD` and `OPTIONS` always may, and so may a request with an idempotency key. To
   * exclude a call that would be eligible, wrap it in `Hedge.withoutHedging`.
   */
  readonly eligible?: (request: HttpClientRequest.HttpClientRequest) => boolean
  /** The header that makes a request of any method eligible when it is present. Default `Idempotency-Key`. */
  readonly idempotencyHeader?: string
  /** What an attempt's exit means, instead of the policy's own `classify` and of {@link fromExit}. */
  readonly classify?: (
    exit: Exit.Exit<HttpClientResponse.HttpClientResponse, unknown>,
    attempt: HedgeAttempt.HedgeAttempt
  ) => HedgeOutcome.HedgeOutcome
  /**
   * Absolute base URLs that hedges go to, in turn; the primary goes where the request says. A hedge's URL is the replica's with the path and the
   * query of the request's own: for `https://example.com/users?page=2` and the replica `https://eu.example.com/api` that is
   * `https://eu.example.com/api/users?page=2`. Default: hedges go where the primary goes.
   */
  readonly replicas?: ReadonlyArray<string>
  /**
   * What tells the calls of an origin apart for a policy that learns: a text, or several of which each stands under those before it, such as the
   * route and a class of sizes. A throw, or what is neither, fails the call with that defect. Default {@link routeOf}; of
   * {@link events} `[routeOf(request), "events"]`.
   */
  readonly key?: (request: HttpClientRequest.HttpClientRequest) => LatencyEstimator.Key
  /** Whether the request's `Authorization`, `Cookie` and `Proxy-Authorization` go to replicas too. Default `"include"`. */
  readonly credentials?: "include" | "omit"
  /**
   * The request that a hedge sends when the body of the original can be read only once: the same request with its whole body anew. Without it,
   * a request with a stream for a body is sent once. It is no consent: see `eligible`.
   */
  readonly replay?: (request: HttpClientRequest.HttpClientRequest) => HttpClientRequest.HttpClientRequest
  /**
   * Names of headers to send: the attempt's number (hedges only: 1, 2, …), the call's id (the same on each copy), and the time left until the
   * deadline in whole milliseconds. Default none.
   */
  readonly headers?: {
    readonly attempt?: string
    readonly callId?: string
    readonly deadline?: string
  }
}

/** {@link Options} with a policy of its own. */
export interface OptionsWithPolicy<out EX, out RP> extends Options {
  readonly policy: HedgePolicy.HedgePolicy<HttpClientResponse.HttpClientResponse, unknown, EX, RP>
}

/**
 * Hedges a client: each request is one call of the given policy, or of `HedgePolicy.DefaultPolicy` in the context.
 *
 * Throws `HedgePolicyError` for options that make no sense and for what is no client. The client fails with `HedgeError` besides what it failed with, if the policy has a
 * deadline or an attempt timeout. Losers of a policy layer belong to that layer, those of a policy given here are daemons: {@link layerWith}
 * owns them.
 *
 * A policy's `onDiscard` is given each response that is discarded before it is released; it need not release it. If the client below makes
 * errors of statuses, such a failure goes through the engine as a value: listeners of `HedgeEvent` see it as a success, `classify` does not.
 *
 * @example
 * import { HttpClient } from "@effect/platform"
 * import { HttpHedge } from "@effect-hedge/platform"
 * import { Effect } from "effect"
 * import { HedgePolicy, HedgeSchedule } from "effect-hedge"
 *
 * const policy = HedgePolicy.make({ schedule: HedgeSchedule.fixed("80 millis"), maxAttempts: 3 })
 *
 * export const users = Effect.map(HttpClient.HttpClient, (client) =>
 *   client.pipe(HttpHedge.withHedge({ policy, replicas: ["https://eu.example.com", "https://us.example.com"] }))
 * )
 */
export const withHedge: {
  <EX, RP>(
    options: OptionsWithPolicy<EX, RP>
  ): <E, R>(self: HttpClient.HttpClient.With<E, R>) => HttpClient.HttpClient.With<E | EX, R | RP>
  (
    options?: Options
  ): <E, R>(
    self: HttpClient.HttpClient.With<E, R>
  ) => HttpClient.HttpClient.With<E | Hedge.HedgeError, R | HedgePolicy.DefaultPolicy>
} = internal.withHedge

/** An event of a stream of server-sent events. */
export interface ServerSentEvent {
  /** Its type: `"message"` unless the server named one. */
  readonly event: string
  /** Its data; lines are parted by `\n`. */
  readonly data: string
  /** The id that came with it, if one did. */
  readonly id: string | undefined
}

/** What a user may say of hedged events beside the policy: {@link Options}, with another `classify`. */
export interface EventsOptions extends Omit<Options, "classify"> {
  /**
   * Whether an event decides. Those before the first that does are kept: they reach the consumer, in their order, but win nothing; so a server that
   * says at once that it is there, and takes long to say something, is still hedged. A stream that ends without a decisive event is judged as if
   * it had none. There is no limit to what is kept: a stream of which nothing decides is held until it ends. Default: every event decides.
   */
  readonly decisive?: (event: ServerSentEvent) => boolean
  /** What the exit of an attempt's first decisive event means, instead of the policy's own `classify` and of what {@link events} says. */
  readonly classify?: (
    exit: Exit.Exit<ServerSentEvent, unknown>,
    attempt: HedgeAttempt.HedgeAttempt
  ) => HedgeOutcome.HedgeOutcome
}

/** {@link EventsOptions} with a policy of its own. */
export interface EventsOptionsWithPolicy<out EX, out RP> extends EventsOptions {
  readonly policy: HedgePolicy.HedgePolicy<ServerSentEvent, unknown, EX, RP>
}

/**
 * Turns a client into a function from a request to the stream of its server-sent events, hedged on the first of them: the response whose first
 * event is good streams on, the others are cancelled at once. For streams of tokens, whose headers say nothing of when the first one comes.
 *
 * - Each run of a stream is one call, of the given policy or of `HedgePolicy.DefaultPolicy` in the context, as `Hedge.hedgeStream` says:
 *   `deadline` and `attemptTimeout` run until the first event, an error after it reaches the consumer as it is, and the consumer's pace is the
 *   server's. Comments, with which servers keep connections alive, are no events.
 * - A `POST` is hedged by consent or with an idempotency key, as any request is: `eligible: () => true`.
 * - `Accept: text/event-stream` is sent unless the request has an `Accept`.
 * - A status other than 2xx and another content type than `text/event-stream` fail as `ResponseError`, of reason `StatusCode` or `Decode`; so does an event
 *   longer than 10 MiB. The body of such a response is read, for a second at most, so that the error's `response.text` and `response.json` have it.
 * - The first event is a `Win`; a `ResponseError` with a status is judged as {@link fromExit} says of that status: a 404 is an answer, a 503 is
 *   not. A stream that ends before its first event is `NonFatal`; if all do, the result is empty.
 * - An event that the end of the body cuts off is dropped. Nothing reconnects: the protocol of the events says whether they were all there
 *   and how to go on.
 * - A client that is hedged already (`withHedge`, {@link layer}) does not hedge within this call.
 *
 * @example
 * import { HttpClient, HttpClientRequest } from "@effect/platform"
 * import { HttpHedge } from "@effect-hedge/platform"
 * import { Effect, Stream } from "effect"
 * import { HedgePolicy, HedgeSchedule } from "effect-hedge"
 *
 * const policy = HedgePolicy.make({ schedule: HedgeSchedule.fixed("800 millis"), deadline: "10 seconds" })
 *
 * export const tokens = (prompt: string) =>
 *   Stream.unwrap(
 *     Effect.map(HttpClient.HttpClient, (client) => {
 *       const events = client.pipe(HttpHedge.events({ policy, eligible: () => true }))
 *       return HttpClientRequest.post("https://llm.example.com/v1/completions").pipe(
 *         HttpClientRequest.bodyUnsafeJson({ prompt, stream: true }),
 *         events,
 *         Stream.map(({ data }) => data)
 *       )
 *     })
 *   )
 */
export const events: {
  <EX, RP>(
    options: EventsOptionsWithPolicy<EX, RP>
  ): <E, R>(
    self: HttpClient.HttpClient.With<E, R>
  ) => (
    request: HttpClientRequest.HttpClientRequest
  ) => Stream.Stream<ServerSentEvent, E | HttpClientError.ResponseError | EX, R | RP>
  (
    options?: EventsOptions
  ): <E, R>(
    self: HttpClient.HttpClient.With<E, R>
  ) => (
    request: HttpClientRequest.HttpClientRequest
  ) => Stream.Stream<
    ServerSentEvent,
    E | HttpClientError.ResponseError | Hedge.HedgeError,
    R | HedgePolicy.DefaultPolicy
  >
} = internalEvents.events

/**
 * What an attempt's exit means unless somebody says otherwise.
 *
 * | exit | outcome |
 * |---|---|
 * | an answer that the server meant to give: any status but those below | `Win` |
 * | status 408, 425, 429, 500, 502, 503 or 504 | `NonFatal` |
 * | status 409 to a write that has an idempotency key: its server is at work on another copy | `NonFatal`, do-not-retry |
 * | `RequestError` with reason `Transport` | `NonFatal` |
 * | `RequestError` with reason `InvalidUrl` or `Encode`: nothing was sent | `Fatal` |
 * | `ResponseError` with reason `StatusCode` | as its response |
 * | anything else | as by `HedgeOutcome.fromExit` |
 *
 * A `NonFatal` response may carry pushback: `grpc-retry-pushback-ms`, else `Retry-After` in seconds or as a date, which is read by the clock of
 * the attempt, or without one by the system's. A 429 without pushback, and pushback that cannot be read, mean do-not-retry. Throws `HedgePolicyError` for what is no `Exit`.
 */
export const fromExit: (
  exit: Exit.Exit<HttpClientResponse.HttpClientResponse, unknown>,
  attempt?: HedgeAttempt.HedgeAttempt
) => HedgeOutcome.HedgeOutcome = internalPolicies.fromExit

/**
 * The route of a request, under which a policy learns unless {@link Options} say otherwise: the method and the path, without query and fragment, a
 * segment that looks like an id replaced by `:id`.
 *
 * | segment | example |
 * |---|---|
 * | digits, alone or in groups that `-`, `:` or `,` part | `42`, `2024-05-31` |
 * | a UUID | `0b0f4ad0-8c49-4a3c-9d1f-5ab0f2d8f0c1` |
 * | 8 or more hexadecimal digits, one of them a digit | `9f86d081` |
 * | 16 or more letters and digits, one of them a digit, after a prefix such as `cus_` perhaps | `01J9ZK6W3V1QZ8Y7T5R4P2N0M6` |
 *
 * An extension stays: `:id.json`. Anything else is a name, also a slug or a user's name: where those are many, say `key`, or all of them are
 * young keys that go by what is known of their origin.
 *
 * @example
 * import { HttpClientRequest } from "@effect/platform"
 * import { HttpHedge } from "@effect-hedge/platform"
 *
 * export const route = HttpHedge.routeOf(HttpClientRequest.get("https://api.example.com/users/42/posts?page=2"))
 * // GET /users/:id/posts
 *
 * // a large page takes longer than a small one
 * export const options: HttpHedge.Options = {
 *   key: (request) => [HttpHedge.routeOf(request), request.url.includes("limit=1000") ? "large" : "small"]
 * }
 */
export const routeOf: (request: HttpClientRequest.HttpClientRequest) => string = internalKeys.routeOf

/**
 * Hedges the `HttpClient` in context under the `HedgePolicy.DefaultPolicy` in context.
 *
 * A `HedgeError` becomes a `RequestError` of reason `Transport` whose `cause` it is, since an `HttpClient` can fail with nothing else. Losers
 * belong to the layer: closing it waits for them, at most the policy's `loserGrace`, before the client beneath it is closed.
 */
export const layer: Layer.Layer<
  HttpClient.HttpClient,
  never,
  HttpClient.HttpClient | HedgePolicy.DefaultPolicy
> = internalLayer.layer

/**
 * {@link layer} with options. A policy given here takes what it needs from the context in which the layer is built. Throws `HedgePolicyError` for
 * options that make no sense.
 *
 * @example
 * import { FetchHttpClient } from "@effect/platform"
 * import { HttpHedge } from "@effect-hedge/platform"
 * import { Layer } from "effect"
 * import { HedgePolicy, HedgeSchedule } from "effect-hedge"
 *
 * export const HedgedHttpClient = HttpHedge.layerWith({
 *   policy: HedgePolicy.make({ schedule: HedgeSchedule.fixed("80 millis") }),
 *   eligible: (request) => request.method === "POST" && request.url.endsWith("/search")
 * }).pipe(Layer.provide(FetchHttpClient.layer))
 */
export const layerWith: {
  <EX, RP>(
    options: OptionsWithPolicy<EX, RP>
  ): Layer.Layer<HttpClient.HttpClient, never, HttpClient.HttpClient | RP>
  (
    options: Options
  ): Layer.Layer<HttpClient.HttpClient, never, HttpClient.HttpClient | HedgePolicy.DefaultPolicy>
} = internalLayer.layerWith
