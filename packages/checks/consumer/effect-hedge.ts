/** What a user of `effect-hedge` writes: exits with an error unless the hedge answers for the primary. */
import { deepStrictEqual, strictEqual } from "node:assert"
import { Effect, Fiber, Layer, TestClock, TestContext } from "effect"
import { Hedge, HedgeEvent, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import { hedgeWith } from "effect-hedge/Hedge"
import * as HedgeTest from "effect-hedge/testing"

/** The first attempt never answers. */
const inline: Effect.Effect<number> = hedgeWith(
  (attempt) => (attempt.index === 0 ? Effect.never : Effect.succeed(42)),
  { schedule: HedgeSchedule.fixed("5 millis") }
)
strictEqual(await Effect.runPromise(inline), 42)

const deadline: Effect.Effect<never, Hedge.HedgeError> = Hedge.hedge(Effect.never, {
  schedule: HedgeSchedule.onFailure,
  deadline: "5 millis"
})
const reason = await Effect.runPromise(
  Effect.catchTag(deadline, "HedgeError", (error) => Effect.succeed(error.reason))
)
strictEqual(reason, "DeadlineExceeded")

class SearchPolicy extends HedgePolicy.Tag("app/SearchPolicy")<SearchPolicy>() {}

const search: Effect.Effect<string, Hedge.HedgeError, SearchPolicy> = Effect.succeed("found").pipe(
  Hedge.withPolicy(SearchPolicy)
)
const events: Array<HedgeEvent.HedgeEvent["_tag"]> = []
const Live = Layer.merge(
  SearchPolicy.layerAdaptive({ extraLoad: 0.1, throttle: HedgeThrottle.unlimited }),
  HedgeEvent.layer({ onEvent: (event) => void events.push(event._tag) })
)
strictEqual(await Effect.runPromise(Effect.provide(search, Live)), "found")
deepStrictEqual(events, ["CallStarted", "AttemptStarted", "AttemptEnded", "CallEnded"])

const underTestClock = Effect.gen(function* () {
  const script = yield* HedgeTest.script([{ never: true }, { after: "20 millis", succeed: "hedge" }])
  const call = yield* Effect.fork(Hedge.hedge(script.effect, { schedule: HedgeSchedule.fixed("80 millis") }))
  yield* TestClock.adjust("100 millis")
  return yield* Fiber.join(call)
}).pipe(Effect.provide(HedgeTest.layer), Effect.provide(TestContext.TestContext))
strictEqual(await Effect.runPromise(underTestClock), "hedge")
