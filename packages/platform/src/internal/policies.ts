import type { HttpClientRequest, HttpClientResponse } from "@effect/platform"
import { Context, Effect, Exit } from "effect"
import { type HedgeAttempt, type HedgeOutcome, HedgePolicy, HedgeThrottle } from "effect-hedge"
import { Held, judgement, originOf, release } from "./http.js"
import { keysOf } from "./keys.js"
import { type AnyOptions, refuse } from "./options.js"
import { originThrottle } from "./origins.js"
import { keyedBy } from "./request.js"

type Request = HttpClientRequest.HttpClientRequest
type Response = HttpClientResponse.HttpClientResponse

export type AnyPolicy = HedgePolicy.HedgePolicy<never, never, unknown, unknown>
/** A policy that judges and releases what attempts end with. */
export type HttpPolicy = HedgePolicy.HedgePolicy<Response | Held, unknown, never, never>

interface Pair {
  readonly hedged: HttpPolicy
  readonly ineligible: HttpPolicy
}

interface Derived extends Pair {
  /** The same two under the throttle of an origin. */
  readonly under: WeakMap<HedgeThrottle.HedgeThrottle, Pair>
}

const pair = (policy: HttpPolicy): Pair => ({ hedged: policy, ineligible: HedgePolicy.ineligible(policy) })

const unheldExit = (exit: Exit.Exit<Response | Held, unknown>): Exit.Exit<Response, unknown> =>
  exit._tag === "Success" && exit.value instanceof Held
    ? Exit.fail(exit.value.error)
    : (exit as Exit.Exit<Response, unknown>)

const responseOf = (value: Response | Held): Response =>
  value instanceof Held ? value.error.response : value

const judge = judgement(keyedBy({}))

/** The judgement of a client that is told nothing else. */
export const fromExit = (exit: Exit.Exit<Response, unknown>): HedgeOutcome.HedgeOutcome =>
  judge(Exit.isExit(exit) ? exit : refuse("exit", exit, "the Exit of an attempt"))

/** HTTP's judgement, and release of what is discarded, after the policy's own `onDiscard`. */
const forHttp = (
  policy: HedgePolicy.HedgePolicy<Response, unknown, never, never>,
  options: AnyOptions
): HttpPolicy => {
  const classify = options.classify ?? policy.classify ?? judgement(keyedBy(options))
  const { onDiscard } = policy
  return HedgePolicy.modify(policy as HttpPolicy, {
    classify: (exit: Exit.Exit<Response | Held, unknown>, attempt: HedgeAttempt.HedgeAttempt) =>
      classify(unheldExit(exit), attempt),
    onDiscard: (value: Response | Held) => {
      const response = responseOf(value)
      return onDiscard === undefined
        ? release(response)
        : Effect.ensuring(
            Effect.suspend(() => onDiscard(response)),
            release(response)
          )
    }
  })
}

/**
 * The policy that a request's call runs under. A policy that names no throttle, in a context that holds the process's default one, gets a
 * throttle for the origin of the request: an upstream's outage takes nothing from another. One that learns is told what to tell calls apart by,
 * unless it has been told.
 */
export const policiesOf = (options: AnyOptions) => {
  const derived = new WeakMap<AnyPolicy, Derived>()
  const processDefault = Context.get(Context.empty(), HedgeThrottle.Default)
  const keyOf = keysOf(options)

  const derive = (policy: AnyPolicy): Derived => {
    let known = derived.get(policy)
    if (known === undefined) {
      known = { ...pair(forHttp(policy as never, options)), under: new WeakMap() }
      derived.set(policy, known)
    }
    return known
  }

  const under = (known: Derived, throttle: HedgeThrottle.HedgeThrottle): Pair => {
    let throttled = known.under.get(throttle)
    if (throttled === undefined) {
      throttled = pair(HedgePolicy.modify(known.hedged, { throttle }))
      known.under.set(throttle, throttled)
    }
    return throttled
  }

  const throttled = (policy: AnyPolicy, context: Context.Context<never>, request: Request): Pair => {
    const known = derive(policy)
    if (policy.throttle !== undefined) return known
    if (Context.get(context, HedgeThrottle.Default) !== processDefault) return known
    const origin = originOf(request)
    return origin === undefined ? known : under(known, originThrottle(origin))
  }

  return (
    policy: AnyPolicy,
    context: Context.Context<never>,
    request: Request,
    eligible: boolean
  ): HttpPolicy => {
    const { hedged, ineligible } = throttled(policy, context, request)
    const chosen = eligible ? hedged : ineligible
    return policy.learns && policy.key === undefined ? HedgePolicy.keyed(chosen, keyOf(request)) : chosen
  }
}
