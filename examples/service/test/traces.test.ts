/** Reads in a collector what the service tells of its calls over OTLP. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, type Scope, TestClock } from "effect"
import { type Collector, collector, type Span } from "./support/collector.js"
import { everything, everythingByOtlp } from "./support/everything.js"
import { type Running, service } from "./support/service.js"
import { answer, type Upstream, upstream } from "./support/upstream.js"

interface Scene {
  readonly server: Upstream
  readonly collected: Collector
  readonly quotes: Running
}

/** Spans are exported in batches: those that still wait go out when the service ends. */
const exported = <A>(
  scene: (scene: Scene) => Effect.Effect<A, unknown, Scope.Scope>
): Effect.Effect<readonly [A, Collector], unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const server = yield* upstream
    const collected = yield* collector
    const a = yield* Effect.scoped(
      Effect.flatMap(service({ upstream: server.url, otlp: collected.url }), (quotes) =>
        scene({ server, collected, quotes })
      )
    )
    return [a, collected] as const
  })

const named = (spans: ReadonlyArray<Span>, name: string) => spans.filter((span) => span.name === name)

/** The names of the spans around a span, outermost first, and its own. */
const path = (spans: ReadonlyArray<Span>, span: Span): string => {
  const parent = spans.find(({ id, trace }) => id === span.parent && trace === span.trace)
  return parent === undefined ? span.name : `${path(spans, parent)} > ${span.name}`
}

const pick = (span: Span, ...keys: ReadonlyArray<string>) =>
  Object.fromEntries(keys.map((key) => [key, span.attributes[key]]))

describe("over OTLP", () => {
  it.scoped("a hedged call is one trace: the request, the call, a child for each attempt, the requests", () =>
    Effect.gen(function* () {
      const [, collected] = yield* exported(({ quotes, server }) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.fork(quotes.quote("late"))
          const primary = yield* server.request("late", 0)
          yield* TestClock.adjust("80 millis")
          const hedge = yield* server.request("late", 1)
          // who looks at the upstream finds the same trace
          const traces = [primary, hedge].map(({ req }) => req.headers.traceparent?.toString().split("-")[1])
          yield* answer(hedge)
          assert.strictEqual(yield* Fiber.join(fiber), 200)
          assert.strictEqual(traces[0], traces[1])
        })
      )
      const spans = yield* collected.spans("hedge.attempt", 2)
      assert.strictEqual(new Set(spans.map(({ trace }) => trace)).size, 1)
      assert.sameMembers(
        spans.map((span) => path(spans, span)),
        [
          "http.server GET",
          "http.server GET > hedge.call",
          "http.server GET > hedge.call > hedge.attempt",
          "http.server GET > hedge.call > hedge.attempt",
          "http.server GET > hedge.call > hedge.attempt > http.client GET",
          "http.server GET > hedge.call > hedge.attempt > http.client GET"
        ]
      )

      const [call] = named(spans, "hedge.call")
      const keys = ["hedge.policy", "hedge.outcome", "hedge.winner", "hedge.attempts"]
      assert.deepStrictEqual(pick(call!, ...keys), {
        "hedge.policy": "quotes",
        "hedge.outcome": "Win",
        "hedge.winner": 1,
        "hedge.attempts": 2
      })
      const attempts = named(spans, "hedge.attempt").sort(
        (a, b) => Number(a.attributes["hedge.attempt"]) - Number(b.attributes["hedge.attempt"])
      )
      const ofAttempts = ["hedge.attempt", "hedge.launch", "hedge.outcome", "hedge.interrupted"]
      assert.deepStrictEqual(
        attempts.map((attempt) => pick(attempt, ...ofAttempts)),
        [
          {
            "hedge.attempt": 0,
            "hedge.launch": "Primary",
            "hedge.outcome": "Cancelled",
            "hedge.interrupted": "Lost"
          },
          {
            "hedge.attempt": 1,
            "hedge.launch": "Stagger",
            "hedge.outcome": "Win",
            "hedge.interrupted": undefined
          }
        ]
      )
      for (const attempt of attempts) {
        assert.strictEqual(attempt.attributes["hedge.call"], call!.attributes["hedge.call"])
      }

      // the loser is no error, nor is anything else
      assert.deepStrictEqual(
        spans.filter(({ isError }) => isError).map((span) => path(spans, span)),
        []
      )
      assert.isTrue(attempts[0]!.attributes["status.interrupted"])
      assert.deepStrictEqual(
        [call!, ...attempts].map(({ end, start }) => end - start),
        [80, 80, 0]
      )
    })
  )

  it.scoped("a call whose attempts all failed says so, and whose answer its caller got", () =>
    Effect.gen(function* () {
      const [, collected] = yield* exported(({ quotes, server }) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.fork(quotes.quote("down"))
          yield* Effect.flatMap(server.request("down", 0), (response) => answer(response, 503))
          yield* Effect.flatMap(server.request("down", 1), (response) => answer(response, 503))
          assert.strictEqual(yield* Fiber.join(fiber), 503)
        })
      )
      const spans = yield* collected.spans("hedge.call", 1)
      const [call] = named(spans, "hedge.call")
      assert.deepStrictEqual(pick(call!, "hedge.outcome", "hedge.winner", "hedge.attempts"), {
        "hedge.outcome": "NonFatal",
        "hedge.winner": 0,
        "hedge.attempts": 2
      })
      const attempts = named(spans, "hedge.attempt").map((span) =>
        pick(span, "hedge.launch", "hedge.outcome")
      )
      assert.sameDeepMembers(attempts, [
        { "hedge.launch": "Primary", "hedge.outcome": "NonFatal" },
        { "hedge.launch": "Failure", "hedge.outcome": "NonFatal" }
      ])
    })
  )

  it.scoped("a loser that takes ten seconds to unwind ends after its call, cancelled and no error", () =>
    Effect.gen(function* () {
      const { spans } = yield* everything
      const call = spans.find(
        ({ attributes, name }) => name === "hedge.call" && attributes["hedge.winner"] === 1
      )!
      const [loser] = spans.filter(
        ({ attributes, parent }) => parent === call.id && attributes["hedge.attempt"] === 0
      )
      assert.strictEqual(loser!.end - call.end, 10_000)
      assert.strictEqual(loser!.attributes["hedge.outcome"], "Cancelled")
      assert.isFalse(loser!.isError)
      const [suppressed] = call.events
      assert.strictEqual(suppressed!.name, "hedge.suppressed")
      assert.deepStrictEqual(suppressed!.attributes, {
        "hedge.attempt": 2,
        "hedge.reason": "Throttled",
        "hedge.throttle": "concurrency"
      })
    })
  )

  it.scoped("Effect's own exporter tells the same", () =>
    Effect.gen(function* () {
      const bySdk = yield* everything
      const byOtlp = yield* everythingByOtlp
      /** Without ids, and what an exporter adds. */
      const told = ({ spans }: { readonly spans: ReadonlyArray<Span> }) =>
        spans.map(({ attributes, end, isError, name, start }) => {
          const ours = Object.entries(attributes).filter(([key]) => /^hedge\.(?!call$)/.test(key))
          return { name, took: end - start, isError, ...Object.fromEntries(ours) }
        })
      assert.sameDeepMembers(told(byOtlp), told(bySdk))
      const metrics = ({ collected }: Pick<typeof bySdk, "collected">) =>
        collected.metrics().filter(({ name }) => name.startsWith("hedge."))
      assert.sameDeepMembers([...metrics(byOtlp)], [...metrics(bySdk)])
    })
  )

  it.scoped("fetching the metrics makes no trace", () =>
    Effect.gen(function* () {
      const [, collected] = yield* exported(({ quotes }) =>
        Effect.zipRight(quotes.metrics, quotes.quote("fast"))
      )
      const spans = yield* collected.spans("hedge.call", 1)
      assert.strictEqual(named(spans, "http.server GET").length, 1)
    })
  )
})
