/** The same without types. */
import { strictEqual, throws } from "node:assert"
import { Effect } from "effect"
import { Hedge, HedgePolicy, HedgeSchedule } from "effect-hedge"

const quote = Hedge.hedgeWith(
  (attempt) => (attempt.index === 0 ? Effect.never : Effect.succeed(attempt.index)),
  { schedule: HedgeSchedule.fixed("5 millis") }
)
strictEqual(await Effect.runPromise(quote), 1)

throws(
  () => HedgePolicy.make({ schedule: HedgeSchedule.parallel, maxAttempts: 1 }),
  /^HedgePolicyError: maxAttempts is 1; allowed is a whole number, at least 2$/
)
