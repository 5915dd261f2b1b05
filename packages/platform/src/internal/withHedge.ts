import { HttpClient, type HttpClientRequest, type HttpClientResponse } from "@effect/platform"
import { Context, Effect, Scope } from "effect"
import { Hedge, type HedgeAttempt, HedgePolicy } from "effect-hedge"
import { abortable, type Held, held, releaseAtAbort, scopedController, stagesOf, unheld } from "./http.js"
import { type AnyOptions, checkOptions } from "./options.js"
import { type AnyPolicy, policiesOf } from "./policies.js"
import { copies } from "./request.js"

type Request = HttpClientRequest.HttpClientRequest
type Response = HttpClientResponse.HttpClientResponse
type AnyClient = HttpClient.HttpClient.With<unknown, never>

const defaultPolicy = (context: Context.Context<never>): AnyPolicy =>
  Context.unsafeGet(context, HedgePolicy.DefaultPolicy)

export const withHedge = (input: AnyOptions = {}) => {
  const options = checkOptions(input)
  return (self: AnyClient): AnyClient => hedged(self, options)
}

/**
 * A client whose requests are calls. What the client below does with a request before it is sent (its base URL, its token, its cookies) is done
 * once for a call; sending is done once for each attempt, on a copy of the request.
 */
export const hedged = (self: AnyClient, options: AnyOptions): AnyClient => {
  const { preprocess, postprocess } = stagesOf(self)
  const { eligible, copyFor, stamped } = copies(options)
  const policies = policiesOf(options)

  const send = (copy: Request, context: Context.Context<never>): Effect.Effect<Response | Held, unknown> => {
    const sent = postprocess(Effect.succeed(copy))
    const mayBeScoped = Context.getOption(context, Scope.Scope)._tag === "Some"
    return held(mayBeScoped ? abortable(sent, copy) : sent)
  }

  const call = (request: Request): Effect.Effect<Response, unknown> =>
    Effect.contextWithEffect((context: Context.Context<never>) => {
      const { hedged, ineligible } = policies(options.policy ?? defaultPolicy(context), context, request)
      const attempt = (attempt: HedgeAttempt.HedgeAttempt) => {
        const copy = copyFor(request, attempt)
        return stamped === undefined
          ? send(copy, context)
          : Effect.flatMap(stamped(copy, attempt), (copy) => send(copy, context))
      }
      const result = Effect.flatMap(Hedge.hedgeWith(attempt, eligible(request) ? hedged : ineligible), unheld)
      const scoped = scopedController(request)
      return scoped === undefined ? result : Effect.tap(result, releaseAtAbort(scoped))
    })

  return HttpClient.makeWith(Effect.flatMap(call), preprocess)
}
