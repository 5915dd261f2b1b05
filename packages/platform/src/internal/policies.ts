import type { HttpClientRequest, HttpClientResponse } from "@effect/platform"
import { Context, Effect, Exit } from "effect"
import {
  type HedgeAttempt,
  type HedgeOutcome,
  HedgePolicy,
  HedgeThrottle,
  type LatencyEstimator
} from "effect-hedge"
import type { ServerSentEvent } from "../HttpHedge.js"
import { eventJudgement, Held, judgement, originOf, release, responseOf } from "./http.js"
import { Opening } from "./opening.js"
import { type AnyEventsOptions, type AnyOptions, refuse } from "./options.js"
import { originThrottle } from "./origins.js"
import { keyedBy } from "./request.js"

type Request = HttpClientRequest.HttpClientRequest
type Response = HttpClientResponse.HttpClientResponse

export type AnyPolicy = HedgePolicy.HedgePolicy<never, never, unknown, unknown>
/** A policy that judges and releases what attempts end with: responses, the first events of streams, or failures that hold a response. */
export type HeldPolicy<A> = HedgePolicy.HedgePolicy<A | Held, unknown, never, never>

interface Pair<A> {
  readonly hedged: HeldPolicy<A>
  readonly ineligible: HeldPolicy<A>
}

interface Derived<A> extends Pair<A> {
  /** The same two under the throttle of an origin. */
  readonly under: WeakMap<HedgeThrottle.HedgeThrottle, Pair<A>>
}

const pair = <A>(policy: HeldPolicy<A>): Pair<A> => ({
  hedged: policy,
  ineligible: HedgePolicy.ineligible(policy)
})

const unheldExit = <A>(exit: Exit.Exit<A | Held, unknown>): Exit.Exit<A, unknown> =>
  exit._tag === "Success" && exit.value instanceof Held
    ? Exit.fail(exit.value.error)
    : (exit as Exit.Exit<A, unknown>)

const judge = judgement(keyedBy({}))

/** The judgement of a client that is told nothing else. */
export const fromExit = (
  exit: Exit.Exit<Response, unknown>,
  attempt?: HedgeAttempt.HedgeAttempt
): HedgeOutcome.HedgeOutcome =>
  judge(Exit.isExit(exit) ? exit : refuse("exit", exit, "the Exit of an attempt"), attempt)

/** HTTP's judgement, and release of what is discarded, after the policy's own `onDiscard`. */
export const forResponses = (policy: AnyPolicy, options: AnyOptions): HeldPolicy<Response> => {
  const own = policy as HedgePolicy.HedgePolicy<Response, unknown, never, never>
  const classify = options.classify ?? own.classify ?? judgement(keyedBy(options))
  const { onDiscard } = own
  return HedgePolicy.modify(policy as HeldPolicy<Response>, {
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

/** The judgement of first events. Responses are released with the scopes of their attempts, so `onDiscard` is the policy's own affair. */
export const forEvents = (policy: AnyPolicy, options: AnyEventsOptions): HeldPolicy<FirstEvent> => {
  const own = policy as HedgePolicy.HedgePolicy<ServerSentEvent, unknown, never, never>
  const classify = options.classify ?? own.classify ?? eventJudgement(keyedBy(options))
  const { onDiscard } = own
  return HedgePolicy.modify(policy as HeldPolicy<FirstEvent>, {
    classify: (exit: Exit.Exit<FirstEvent | Held, unknown>, attempt: HedgeAttempt.HedgeAttempt) =>
      classify(Exit.flatMap(unheldExit(exit), decisive), attempt),
    onDiscard: (value: FirstEvent | Held) => {
      const first = value instanceof Held ? undefined : decisive(value)
      return onDiscard === undefined || first?._tag !== "Success" ? Effect.void : onDiscard(first.value)
    }
  })
}

/** What a stream of events begins with. */
type FirstEvent = ServerSentEvent | Opening

const decisive = (first: FirstEvent): Exit.Exit<ServerSentEvent> =>
  first instanceof Opening ? first.exit : Exit.succeed(first)

/**
 * The policy that a request's call runs under: `adapt` makes one that judges what attempts end with. A policy that names no throttle, in a context
 * that holds the process's default one, gets a throttle for the origin of the request: an upstream's outage takes nothing from another. One that
 * learns is told what to tell calls apart by, unless it has been told.
 */
export const policiesOf = <A>(
  adapt: (policy: AnyPolicy) => HeldPolicy<A>,
  keyOf: (request: Request) => LatencyEstimator.Key
) => {
  const derived = new WeakMap<AnyPolicy, Derived<A>>()
  const processDefault = Context.get(Context.empty(), HedgeThrottle.Default)

  const derive = (policy: AnyPolicy): Derived<A> => {
    let known = derived.get(policy)
    if (known === undefined) {
      known = { ...pair(adapt(policy)), under: new WeakMap() }
      derived.set(policy, known)
    }
    return known
  }

  const under = (known: Derived<A>, throttle: HedgeThrottle.HedgeThrottle): Pair<A> => {
    let throttled = known.under.get(throttle)
    if (throttled === undefined) {
      throttled = pair(HedgePolicy.modify(known.hedged, { throttle }))
      known.under.set(throttle, throttled)
    }
    return throttled
  }

  const throttled = (policy: AnyPolicy, context: Context.Context<never>, request: Request): Pair<A> => {
    const known = derive(policy)
    if (policy.throttle !== undefined) return known
    const provided = context.unsafeMap.get(HedgeThrottle.Default.key)
    if (provided !== undefined && provided !== processDefault) return known
    const origin = originOf(request)
    return origin === undefined ? known : under(known, originThrottle(origin))
  }

  return (
    policy: AnyPolicy,
    context: Context.Context<never>,
    request: Request,
    eligible: boolean
  ): HeldPolicy<A> => {
    const { hedged, ineligible } = throttled(policy, context, request)
    const chosen = eligible ? hedged : ineligible
    return policy.learns && policy.key === undefined ? HedgePolicy.keyed(chosen, keyOf(request)) : chosen
  }
}
