import { HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"

export const policy = HedgePolicy.make({
  schedule: HedgeSchedule.fixed("49.2 millis"),
  maxAttempts: 3,
  throttle: HedgeThrottle.all(
    HedgeThrottle.loadBudget({ extraLoad: 0.1, burst: 10 }),
    HedgeThrottle.tokenBucket({ maxTokens: 100, tokenRatio: 0.1 })
  )
})
