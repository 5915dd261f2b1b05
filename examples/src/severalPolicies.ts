/**
 * Several policies side by side, each a tag with a layer and a throttle of its own: an outage of the search takes nothing from the stock.
 */
import { Duration, Effect, Layer } from "effect"
import { Hedge, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"

/** Search is cheap and often late: up to two hedges, at most 30 % more requests. */
export class SearchPolicy extends HedgePolicy.Tag("app/SearchPolicy")<SearchPolicy>() {
  static readonly Live = SearchPolicy.layer({
    schedule: HedgeSchedule.fixed("20 millis"),
    maxAttempts: 3,
    throttle: HedgeThrottle.loadBudget({ extraLoad: 0.3, burst: 10 })
  })
}

/** The stock is dear: one hedge, late, at most 2 % more requests, no more than 5 of them at once. */
export class StockPolicy extends HedgePolicy.Tag("app/StockPolicy")<StockPolicy>() {
  static readonly Live = StockPolicy.layer({
    schedule: HedgeSchedule.fixed("200 millis"),
    deadline: "1 second",
    throttle: HedgeThrottle.all(
      HedgeThrottle.loadBudget({ extraLoad: 0.02, burst: 5 }),
      HedgeThrottle.concurrency(5)
    )
  })
}

/** Two backends that never answer a first request in time. */
const makeBackend = <A>(answer: A) => {
  let requests = 0
  return Effect.suspend(() =>
    Effect.as(Effect.sleep(++requests % 2 === 1 ? "30 seconds" : "10 millis"), answer)
  )
}

const search = makeBackend(["tea", "teapot"]).pipe(Hedge.withPolicy(SearchPolicy))
const stock = makeBackend(7).pipe(Hedge.withPolicy(StockPolicy))

/** How long a call takes, in milliseconds. */
const millis = <A, E, R>(call: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.timed(call), ([took]) => Math.round(Duration.toMillis(took)))

export const main = Effect.all({ search: millis(search), stock: millis(stock) }).pipe(
  Effect.provide(Layer.merge(SearchPolicy.Live, StockPolicy.Live))
)
