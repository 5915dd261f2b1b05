/** Calls in which everything happens that can be told of, and what their exporters sent. */
import { Otlp } from "@effect/opentelemetry"
import { FetchHttpClient } from "@effect/platform"
import { type Duration, Effect, Fiber, Layer, type Scope, TestClock } from "effect"
import {
  Hedge,
  HedgeMetrics,
  type HedgePolicy,
  HedgeSchedule,
  HedgeThrottle,
  HedgeTracing
} from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"
import * as Telemetry from "../../src/telemetry.js"
import { type Collector, collector, type Span } from "./collector.js"

type Limit = Duration.DurationInput | undefined
type Options = HedgePolicy.Options<string, string, never, Limit, Limit>
type Attempts = ReadonlyArray<HedgeTest.ScriptedAttempt<string, string>>

/** Runs a call to its end, and its losers too. */
const call = (attempts: Attempts, options: Partial<Options> = {}) =>
  Effect.gen(function* () {
    const script = yield* HedgeTest.script(attempts)
    const policy = {
      name: "everything",
      schedule: HedgeSchedule.fixed("80 millis"),
      throttle: HedgeThrottle.unlimited,
      ...options
    }
    const fiber = yield* Effect.fork(Hedge.hedge(script.effect, policy))
    yield* TestClock.adjust("1 minute")
    return yield* Fiber.interrupt(fiber)
  })

const never: Attempts = [{ never: true }, { never: true }]

const calls = Effect.gen(function* () {
  // the hedge wins, the next is throttled, and the primary takes its time to unwind
  yield* call(
    [
      { never: true, unwind: "10 seconds" },
      { after: "100 millis", succeed: "hedge" }
    ],
    {
      maxAttempts: 3,
      throttle: HedgeThrottle.concurrency(1)
    }
  )
  yield* call([{ fail: "down" }, { fail: "down" }])
  yield* call([{ die: "bug" }])
  yield* call(never, { attemptTimeout: "1 second" })
  yield* call(never, { deadline: "1 second" })
  yield* call(never)
  const defect = () => {
    throw new Error("a gate that is broken")
  }
  yield* call(never, { gates: [defect] })
})

const Observed = Layer.merge(HedgeMetrics.layer, HedgeTracing.layer)

export interface Everything {
  readonly collected: Collector
  readonly spans: ReadonlyArray<Span>
  /** As Prometheus would fetch it. */
  readonly text: string
}

/** Through the exporters of the service. */
export const everything: Effect.Effect<Everything, unknown, Scope.Scope> = Effect.gen(function* () {
  const collected = yield* collector
  const text = yield* Effect.flatMap(Effect.zipRight(calls, Telemetry.Scrape), (scrape) =>
    Effect.map(scrape, ({ body }) => (body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""))
  ).pipe(Effect.provide(Observed), Effect.provide(Telemetry.layer({ otlp: collected.url })))
  return { collected, spans: yield* collected.spans("hedge.call", 7), text }
})

/** Through the exporter that is Effect's own. */
export const everythingByOtlp: Effect.Effect<Omit<Everything, "text">, unknown, Scope.Scope> = Effect.gen(
  function* () {
    const collected = yield* collector
    const Exporter = Layer.provide(
      Otlp.layerJson({ baseUrl: collected.url, resource: { serviceName: "quotes" } }),
      FetchHttpClient.layer
    )
    yield* Effect.provide(calls, Observed).pipe(Effect.provide(Exporter))
    return { collected, spans: yield* collected.spans("hedge.call", 7) }
  }
)
