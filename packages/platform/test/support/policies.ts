import { HttpClient, type HttpClientResponse } from "@effect/platform"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect } from "effect"
import { HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"

type Policy = HedgePolicy.HedgePolicy<HttpClientResponse.HttpClientResponse, unknown>

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

/** The client in context, hedged, with attempts that a server can tell apart. */
export const hedged = (policy: Policy, options: HttpHedge.Options = {}) =>
  Effect.map(
    HttpClient.HttpClient,
    HttpHedge.withHedge({ policy, headers: { attempt: attemptHeader }, ...options })
  )
