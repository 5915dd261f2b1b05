/**
 * Any effect can be hedged: when an answer is late the effect is run once more, and the first answer wins.
 */
import { Effect, Ref } from "effect"
import { Hedge, HedgeSchedule } from "effect-hedge"

/** A price list that answers in 20 ms, and every other time not before 800 ms. */
const makePriceList = Effect.gen(function* () {
  const requests = yield* Ref.make(0)
  const price = Effect.gen(function* () {
    const request = yield* Ref.updateAndGet(requests, (n) => n + 1)
    yield* Effect.sleep(request % 2 === 1 ? "800 millis" : "20 millis")
    return 42
  })
  return { price, requests: Ref.get(requests) }
})

/** Another request after 80 ms without an answer, one more after 160, and an error after 2 s, whatever is in flight then. */
const hedged = Hedge.hedge({
  schedule: HedgeSchedule.fixed("80 millis"),
  maxAttempts: 3,
  deadline: "2 seconds"
})

export const main = Effect.gen(function* () {
  const priceList = yield* makePriceList
  const price = yield* priceList.price.pipe(hedged)
  return { price, requests: yield* priceList.requests }
})
