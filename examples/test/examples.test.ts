/** Runs every program of examples/src and holds it to what its comments say. */
import { expect, it } from "@effect/vitest"
import { type Duration, Effect, Fiber, TestClock } from "effect"
import * as HedgeTest from "effect-hedge/testing"
import * as AnyEffect from "../src/anyEffect.js"
import * as Cursor from "../src/cursor.js"
import * as HttpClientExample from "../src/httpClient.js"
import * as Replicas from "../src/replicas.js"
import * as Retry from "../src/retry.js"
import * as SeveralPolicies from "../src/severalPolicies.js"
import * as SqlReplicas from "../src/sqlReplicas.js"
import * as Telemetry from "../src/telemetry.js"

/** Runs a program in a time of its own, with a throttle of its own. */
const within = <A, E>(time: Duration.DurationInput, program: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const running = yield* Effect.fork(program)
    yield* TestClock.adjust(time)
    return yield* Fiber.join(running)
  }).pipe(Effect.provide(HedgeTest.layer))

it.effect("any effect: a second request answers for the first, which is late", () =>
  Effect.gen(function* () {
    expect(yield* within("100 millis", AnyEffect.main)).toEqual({ price: 42, requests: 2 })
  })
)

it.live("an HttpClient with a policy layer: a request without an answer is sent again", () =>
  Effect.gen(function* () {
    expect(yield* HttpClientExample.main).toEqual({ name: "Ada", requests: 2 })
  })
)

it.live("replicas with a fallback: one that is well answers; the last rate known, if none is", () =>
  Effect.gen(function* () {
    expect(yield* Replicas.main).toEqual({ oneIsWell: "replica", noneIsWell: "last known" })
  })
)

it.live("hedged reads of a SQL replica pair: the replica answers while a transaction holds the primary", () =>
  Effect.gen(function* () {
    expect(yield* SqlReplicas.main).toEqual({ free: "primary", busy: "replica" })
  })
)

it.effect("several policies side by side: each hedges after its own delay", () =>
  Effect.gen(function* () {
    expect(yield* within("1 second", SeveralPolicies.main)).toEqual({ search: 30, stock: 210 })
  })
)

it.effect("listener, metrics and tracing: each tells its part", () =>
  Effect.gen(function* () {
    expect(yield* within("1 second", Telemetry.main)).toEqual({
      notes: ["Win of attempt 0", "Win of attempt 1", "no hedge: Disabled", "Win of attempt 0"],
      trace: ["request", "hedge.call", "hedge.attempt", "query"],
      hedgeRate: 1 / 3,
      hedgeWinShare: 1,
      requestsPerCall: 4 / 3
    })
  })
)

it.effect("a retry around a hedge: an outage costs no more than the budget that they share", () =>
  Effect.gen(function* () {
    const { calls, requests } = yield* within("1 minute", Retry.main)
    // 10, and a tenth of the calls and of their retries, which are at most 20 / 0.9
    expect(requests).toBeGreaterThan(calls + 10)
    expect(requests).toBeLessThanOrEqual(calls + Math.floor(20 / 0.9))
  })
)

it.effect("a hedged cursor: the loser is given up at once, the winner closed with the caller's scope", () =>
  Effect.gen(function* () {
    const log = yield* within("1 second", Cursor.main)
    // the loser unwinds in the background
    expect(log.filter((line) => line !== "gave up 1")).toEqual([
      "open 1",
      "open 2",
      "read 3 rows",
      "closed 2"
    ])
    expect(log).toContain("gave up 1")
  })
)
