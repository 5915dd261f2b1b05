import { HttpClient, type HttpClientRequest, type HttpClientResponse } from "@effect/platform"
import { Context, Effect, Scope } from "effect"
import { Hedge, type HedgeAttempt, HedgePolicy } from "effect-hedge"
import type { Options, OptionsWithPolicy } from "../HttpHedge.js"
import {
  type Held,
  held,
  releaseAtAbort,
  type Stages,
  scopedController,
  sendInScope,
  stagesOf,
  unheld
} from "./http.js"
import { keysOf } from "./keys.js"
import { type AnyOptions, checkClient, checkOptions } from "./options.js"
import { type AnyPolicy, forResponses, policiesOf } from "./policies.js"
import { copies } from "./request.js"

type Request = HttpClientRequest.HttpClientRequest
type Response = HttpClientResponse.HttpClientResponse
type Client<E, R> = HttpClient.HttpClient.With<E, R>

export function withHedge<EX, RP>(
  options: OptionsWithPolicy<EX, RP>
): <E, R>(self: Client<E, R>) => Client<E | EX, R | RP>
export function withHedge(
  options?: Options
): <E, R>(self: Client<E, R>) => Client<E | Hedge.HedgeError, R | HedgePolicy.DefaultPolicy>
export function withHedge(input: AnyOptions = {}) {
  const options = checkOptions(input)
  return (self: Client<never, never>): Client<unknown, unknown> => {
    const stages = stagesOf<unknown, never>(checkClient(self))
    return HttpClient.makeWith(Effect.flatMap(callsOf(stages, options)), stages.preprocess)
  }
}

export const defaultPolicy = (context: Context.Context<never>): AnyPolicy =>
  Context.unsafeGet(context, HedgePolicy.DefaultPolicy)

const inScope = (context: Context.Context<never>): boolean => context.unsafeMap.has(Scope.Scope.key)

/** A hedge that goes to a replica has somewhere to go, whatever the primary's upstream says of its own connections. */
const anywhere: HedgePolicy.HedgeTargets = { leastInFlight: () => Infinity }

/** Where hedges may go, if that is known before anything is sent. */
export const targetsOf = ({
  replicas
}: Pick<AnyOptions, "replicas">): HedgePolicy.HedgeTargets | undefined =>
  replicas === undefined ? undefined : anywhere

/**
 * The call that a request becomes. What the client below does with a request before it is sent (its base URL, its token, its cookies) has been
 * done once; sending is done once for each attempt, on a copy of the request.
 */
export const callsOf = (
  { postprocess }: Stages<unknown, never>,
  options: AnyOptions
): ((request: Request) => Effect.Effect<Response, unknown>) => {
  const { eligible, copyFor } = copies(options)
  const policyOf = policiesOf((policy) => forResponses(policy, options), keysOf(options))
  const targets = targetsOf(options)

  const send = (copy: Request, context: Context.Context<never>): Effect.Effect<Response | Held, unknown> =>
    inScope(context) ? sendInScope(copy, postprocess) : held(postprocess(Effect.succeed(copy)))

  return (request) =>
    Effect.withFiberRuntime((caller) => {
      const context = caller.currentContext
      const policy = policyOf(options.policy ?? defaultPolicy(context), context, request, eligible(request))
      const attempt = (attempt: HedgeAttempt.HedgeAttempt) => {
        attempt.targets ??= targets
        return send(copyFor(request, attempt), context)
      }
      const result = Hedge.hedgeWith(attempt, policy)
      const scoped = scopedController(request)
      return Effect.flatMap(
        scoped === undefined ? result : Effect.tap(result, releaseAtAbort(scoped)),
        unheld
      )
    })
}
