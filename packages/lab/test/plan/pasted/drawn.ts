import { Duration, Effect, Random, Schedule } from "effect"
import { HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"

export const policy = HedgePolicy.make({
  // 87.1 % of the calls that are late get a hedge
  schedule: HedgeSchedule.fixed("646 millis").pipe(
    Schedule.modifyDelayEffect((_, delay) =>
      Effect.map(Random.next, (drawn) => (drawn < 0.871 ? delay : Duration.infinity))
    )
  ),
  throttle: HedgeThrottle.all(
    HedgeThrottle.loadBudget({ extraLoad: 0.05, burst: 10 }),
    HedgeThrottle.tokenBucket({ maxTokens: 100, tokenRatio: 0.1 })
  )
})
