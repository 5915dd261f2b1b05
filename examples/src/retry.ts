/**
 * A retry around a hedge, both out of one budget: the hedge is for what is late, the retry for what has failed altogether. However bad things
 * are, the upstream sees no more than the budget allows.
 */
import { Data, Effect, Schedule } from "effect"
import { Hedge, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"

class Unavailable extends Data.TaggedError("Unavailable") {}

/** At most 10 further requests, and 10 % more than there are calls. A retry of a hedged effect is a call, and earns as one. */
const makeBudget = () => HedgeThrottle.loadBudget({ extraLoad: 0.1, burst: 10 })

const makePolicy = (budget: HedgeThrottle.HedgeThrottle) =>
  HedgePolicy.make({ schedule: HedgeSchedule.fixed("80 millis"), deadline: "2 seconds", throttle: budget })

/**
 * Outside the hedge, so that each try is hedged and has the whole deadline. The pause keeps a crowd of clients from coming back at once. The
 * budget is asked by the schedule, after `recurs`: it is then charged for retries that are made, and for no others.
 */
const retrying = (budget: HedgeThrottle.HedgeThrottle) =>
  Effect.retry(
    Schedule.jittered(Schedule.exponential("100 millis")).pipe(
      Schedule.intersect(Schedule.recurs(2)),
      Schedule.whileInputEffect(() => HedgeThrottle.take(budget))
    )
  )

/** A hundred calls while the backend is down: it refuses each one after 20 ms. */
export const main = Effect.gen(function* () {
  let requests = 0
  const backend = Effect.suspend(() => {
    requests += 1
    return Effect.delay(new Unavailable(), "20 millis")
  })
  const budget = makeBudget()
  const call = backend.pipe(Hedge.hedge(makePolicy(budget)), retrying(budget))
  const outcomes = yield* Effect.forEach(Array.from({ length: 100 }), () => Effect.either(call))
  return { calls: outcomes.length, requests }
})
