/**
 * Hedging for an `HttpClient`: when an answer is late, another copy of the request is sent; the first good answer wins and the others
 * are cancelled.
 *
 * What each option means, what counts as an answer and how this composes with other transformations of a client is told at
 * {@link Options} and {@link withHedge}.
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
 */
import type { HttpClient, HttpClientRequest, HttpClientResponse } from "@effect/platform"
import type { Exit, Layer } from "effect"
import type { Hedge, HedgeAttempt, HedgeOutcome, HedgePolicy } from "effect-hedge"
import * as internalHttp from "./internal/http.js"
import * as internalLayer from "./internal/layer.js"
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
   * query of the request's own. Default: hedges go where the primary goes.
   */
  readonly replicas?: ReadonlyArray<string>
  /** Whether the request's `Authorization`, `Cookie` and `Proxy-Authorization` go to replicas too. Default `"include"`. */
  readonly credentials?: "include" | "omit"
  /**
   * The request that a hedge sends when the body of the original can be read only once: the same request with its whole body anew. Without it,
   * a request with a stream for a body is sent once.
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
 * Throws `HedgePolicyError` for options that make no sense.
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
} = internal.withHedge as never

/**
 * What an attempt's exit means unless somebody says otherwise.
 *
 * | exit | outcome |
 * |---|---|
 * | an answer that the server meant to give: any status but those below | `Win` |
 * | status 408, 425, 429, 500, 502, 503 or 504 | `NonFatal` |
 * | `RequestError` with reason `Transport` | `NonFatal` |
 * | `RequestError` with reason `InvalidUrl` or `Encode`: nothing was sent | `Fatal` |
 * | `ResponseError` with reason `StatusCode` | as its response |
 * | anything else | as by `HedgeOutcome.fromExit` |
 *
 * A `NonFatal` response may carry pushback: `grpc-retry-pushback-ms`, else `Retry-After` in seconds or as a date. A 429 without one, and one
 * that cannot be read, mean do-not-retry.
 */
export const fromExit: (
  exit: Exit.Exit<HttpClientResponse.HttpClientResponse, unknown>
) => HedgeOutcome.HedgeOutcome = internalHttp.fromExit

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

/** {@link layer} with options. Throws `HedgePolicyError` for options that make no sense. */
export const layerWith: {
  <EX, RP>(
    options: OptionsWithPolicy<EX, RP>
  ): Layer.Layer<HttpClient.HttpClient, never, HttpClient.HttpClient | RP>
  (
    options: Options
  ): Layer.Layer<HttpClient.HttpClient, never, HttpClient.HttpClient | HedgePolicy.DefaultPolicy>
} = internalLayer.layerWith as never
