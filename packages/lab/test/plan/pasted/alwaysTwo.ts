import { Schedule } from "effect"
import { HedgePolicy, HedgeThrottle } from "effect-hedge"

export const PolicyLive = HedgePolicy.layer({
  schedule: Schedule.fromDelays("50 millis", "60 millis"),
  maxAttempts: 3,
  throttle: HedgeThrottle.all(
    HedgeThrottle.loadBudget({ extraLoad: 0.2, burst: 10 }),
    HedgeThrottle.tokenBucket({ maxTokens: 100, tokenRatio: 0.1 })
  )
})
