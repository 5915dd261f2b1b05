import { HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"

export const PolicyLive = HedgePolicy.layer({
  schedule: HedgeSchedule.fixed("50 millis"),
  maxAttempts: 2,
  throttle: HedgeThrottle.all(
    HedgeThrottle.loadBudget({ extraLoad: 0.1, burst: 10 }),
    HedgeThrottle.tokenBucket({ maxTokens: 100, tokenRatio: 0.1 })
  )
})
