import {
  HttpClient,
  HttpClientError,
  type HttpClientRequest,
  type HttpClientResponse
} from "@effect/platform"
import { Cause, Context, Effect, Layer } from "effect"
import { type Hedge, HedgeEvent, HedgePolicy, HedgeThrottle } from "effect-hedge"
import type { Options, OptionsWithPolicy } from "../HttpHedge.js"
import { stagesOf } from "./http.js"
import { type AnyOptions, checkOptions } from "./options.js"
import type { AnyPolicy } from "./policies.js"
import { callsOf } from "./withHedge.js"

type Request = HttpClientRequest.HttpClientRequest
type Response = HttpClientResponse.HttpClientResponse
type ClientError = HttpClientError.HttpClientError

/** The policy under which a layer's losers are the layer's own. */
class LayerPolicy extends HedgePolicy.Tag("@effect-hedge/platform/HttpHedge")<LayerPolicy>() {}

/** An `HttpClient` can fail with nothing but its own errors. */
const asClientError =
  (request: Request) =>
  (error: unknown): ClientError =>
    HttpClientError.isHttpClientError(error)
      ? error
      : new HttpClientError.RequestError({
          request,
          reason: "Transport",
          description: (error as Hedge.HedgeError).message,
          cause: error
        })

/** The throttle, the listeners and the targets that the layer was given, for calls whose callers bring none of their own. */
const brought = (context: Context.Context<never>): Context.Context<never> | undefined => {
  const own = Context.pick(HedgeThrottle.Default, HedgeEvent.Listeners, HedgePolicy.Targets)(context)
  return own.unsafeMap.size === 0 ? undefined : (own as Context.Context<never>)
}

const bring =
  (own: Context.Context<never> | undefined) =>
  <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    own === undefined
      ? call
      : Effect.mapInputContext(call, (context: Context.Context<never>) => Context.merge(own, context))

export function layerWith<EX, RP>(
  options: OptionsWithPolicy<EX, RP>
): Layer.Layer<HttpClient.HttpClient, never, HttpClient.HttpClient | RP>
export function layerWith(
  options: Options
): Layer.Layer<HttpClient.HttpClient, never, HttpClient.HttpClient | HedgePolicy.DefaultPolicy>
export function layerWith(options: AnyOptions) {
  checkOptions(options)
  return Layer.scoped(
    HttpClient.HttpClient,
    Effect.gen(function* () {
      const client = yield* HttpClient.HttpClient
      const given = bring(brought(yield* Effect.context<never>()))
      const policy: AnyPolicy = options.policy ?? (yield* HedgePolicy.DefaultPolicy)
      const owned = Context.get(yield* Layer.build(LayerPolicy.layer(policy as never)), LayerPolicy)
      const stages = stagesOf(client)
      const callOf = callsOf(stages, { ...options, policy: owned })
      const call = (request: Request): Effect.Effect<Response, ClientError> =>
        Effect.catchAllCause(given(callOf(request)), (cause) =>
          Effect.failCause(Cause.map(cause, asClientError(request)))
        )
      return HttpClient.makeWith(Effect.flatMap(call), stages.preprocess)
    })
  )
}

export const layer = layerWith({})
