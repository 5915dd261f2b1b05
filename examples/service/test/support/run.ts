/** A run of which all is known beforehand: who is late, whose hedge wins, and how long each loser ran by the test's clock. */
import { Effect, Fiber, TestClock } from "effect"
import type { Running } from "./service.js"
import { answer, type Upstream } from "./upstream.js"

const symbols = (kind: string, n: number) => Array.from({ length: n }, (_, i) => `${kind}-${i}`)

const fast = symbols("fast", 20)
/** The primary is never answered, the hedge at once. */
const hedgeWins = symbols("hedge-wins", 6)
/** Both wait, and 20 ms after the hedge was sent the primary is answered. */
const primaryWins = symbols("primary-wins", 4)

export const known = {
  calls: 20 + 6 + 4,
  hedged: 6 + 4,
  hedgeWins: 6,
  requests: 20 + 2 * (6 + 4),
  /** In seconds: primaries that lost when the hedge was sent, hedges that lost 20 ms after. */
  losers: 6 * 0.08 + 4 * 0.02
}

export const run = (upstream: Upstream, service: Running): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* Effect.forEach(fast, service.quote, { concurrency: "unbounded" })
    const calls = yield* Effect.forEach([...hedgeWins, ...primaryWins], (symbol) =>
      Effect.fork(service.quote(symbol))
    )
    const arrived = (n: number) =>
      Effect.forEach([...hedgeWins, ...primaryWins], (symbol) => upstream.request(symbol, n))
    yield* arrived(0)
    yield* TestClock.adjust("80 millis")
    yield* arrived(1)
    yield* Effect.forEach(hedgeWins, (symbol) => Effect.flatMap(upstream.request(symbol, 1), answer))
    yield* Effect.forEach(calls.slice(0, hedgeWins.length), Fiber.join)
    yield* TestClock.adjust("20 millis")
    yield* Effect.forEach(primaryWins, (symbol) => Effect.flatMap(upstream.request(symbol, 0), answer))
    yield* Effect.forEach(calls, Fiber.join)
  })
