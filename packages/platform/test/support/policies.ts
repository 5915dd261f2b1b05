import { HttpClient, type HttpClientResponse } from "@effect/platform"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect, type Exit, Option } from "effect"
import { HedgeAttempt, type HedgeOutcome, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"

type Policy<A = unknown> = HedgePolicy.HedgePolicy<A, unknown>
type Response = HttpClientResponse.HttpClientResponse

/** Header by which servers of these tests tell hedges from primaries. */
export const attemptHeader = "x-attempt"

const unlimited = HedgeThrottle.unlimited

/** Two attempts, both at once. */
export const both: Policy = HedgePolicy.make({ schedule: HedgeSchedule.parallel, throttle: unlimited })

/** A hedge only after a failure. */
export const afterFailure: Policy = HedgePolicy.make({
  schedule: HedgeSchedule.onFailure,
  throttle: unlimited
})

/** The same, and something more about responses. */
export const afterFailureWith = (options: {
  readonly classify?: (exit: Exit.Exit<Response, unknown>) => HedgeOutcome.HedgeOutcome
  readonly onDiscard?: (response: Response) => Effect.Effect<void>
}): Policy<Response> =>
  HedgePolicy.make({ schedule: HedgeSchedule.onFailure, throttle: unlimited, ...options })

/** A client as one is that keeps its connections, and has but one: it knows of nowhere else to send a hedge. */
export const withOneConnection: <E, R>(
  client: HttpClient.HttpClient.With<E, R>
) => HttpClient.HttpClient.With<E, R> = HttpClient.transform((sent) =>
  Effect.flatMap(HedgeAttempt.current, (attempt) => {
    if (Option.isSome(attempt)) attempt.value.targets ??= { leastInFlight: () => undefined }
    return sent
  })
)

/** The client in context, hedged, with attempts that a server can tell apart. */
export const hedged = (policy: Policy<Response>, options: HttpHedge.Options = {}) =>
  Effect.map(
    HttpClient.HttpClient,
    HttpHedge.withHedge({ policy, headers: { attempt: attemptHeader }, ...options })
  )
