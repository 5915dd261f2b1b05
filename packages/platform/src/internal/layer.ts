import { HttpClient, HttpClientError, type HttpClientRequest } from "@effect/platform"
import { Cause, Context, Effect, Layer, Scope } from "effect"
import { type Hedge, HedgePolicy } from "effect-hedge"
import { type AnyOptions, checkOptions } from "./options.js"
import type { AnyPolicy } from "./policies.js"
import { hedged } from "./withHedge.js"

/** The policy under which a layer's losers are the layer's own. */
class LayerPolicy extends HedgePolicy.Tag("@effect-hedge/platform/HttpHedge")<LayerPolicy>() {}

const asClientError =
  (request: HttpClientRequest.HttpClientRequest) =>
  (error: HttpClientError.HttpClientError | Hedge.HedgeError): HttpClientError.HttpClientError =>
    error._tag === "HedgeError"
      ? new HttpClientError.RequestError({
          request,
          reason: "Transport",
          description: error.message,
          cause: error
        })
      : error

/** An `HttpClient` service needs nothing: what the calls need is what the layer was built with, unless the caller brings it. */
const within =
  (context: Context.Context<never>) =>
  (own: Context.Context<never>): Context.Context<never> =>
    Context.merge(context, own)

export const layerWith = (options: AnyOptions): Layer.Layer<HttpClient.HttpClient, never, never> => {
  checkOptions(options)
  return Layer.scoped(
    HttpClient.HttpClient,
    Effect.gen(function* () {
      const client = yield* HttpClient.HttpClient
      const context = Context.omit(Scope.Scope)(yield* Effect.context<Scope.Scope>())
      const policy: AnyPolicy = options.policy ?? (yield* HedgePolicy.DefaultPolicy)
      const owned = yield* Layer.build(LayerPolicy.layer(policy as never))
      const calls: HttpClient.HttpClient.With<HttpClientError.HttpClientError | Hedge.HedgeError> = hedged(
        client,
        {
          ...options,
          policy: Context.get(owned, LayerPolicy)
        }
      ) as never
      return calls.pipe(
        HttpClient.transform((call, request) =>
          Effect.mapErrorCause(call, Cause.map(asClientError(request)))
        ),
        HttpClient.transformResponse(Effect.mapInputContext(within(context)))
      ) as HttpClient.HttpClient
    })
  ) as never
}

export const layer = layerWith({}) as never
