import { Duration, Effect, Random, Schedule } from "effect"
import { HedgePolicy, HedgeThrottle } from "effect-hedge"

/** So many of the calls that are late get this hedge. */
const withProbability = (probability: number) =>
  Schedule.modifyDelayEffect((_: unknown, delay: Duration.DurationInput) =>
    Effect.map(Random.next, (drawn) => (drawn < probability ? delay : Duration.infinity))
  )

export const PolicyLive = HedgePolicy.layer({
  schedule: Schedule.andThen(
    Schedule.fromDelay("50 millis"),
    Schedule.fromDelay("60 millis").pipe(withProbability(0.4))
  ),
  maxAttempts: 3,
  throttle: HedgeThrottle.all(
    HedgeThrottle.loadBudget({ extraLoad: 0.11, burst: 10 }),
    HedgeThrottle.tokenBucket({ maxTokens: 100, tokenRatio: 0.1 })
  )
})
