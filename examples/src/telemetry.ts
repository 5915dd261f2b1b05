/**
 * What an operator sees: a listener for the log, metrics for the dashboard, spans for the trace. Each is a layer, provided once at the edge.
 */
import { Effect, Layer, Metric, MetricState, Option } from "effect"
import { Hedge, HedgeEvent, HedgeMetrics, HedgePolicy, HedgeSchedule, HedgeTracing } from "effect-hedge"

/** A listener is told on the engine's own loop: it must be quick, so this one only takes notes. */
const makeNotes = () => {
  const notes: Array<string> = []
  const listener: HedgeEvent.Listener = {
    onEvent: (event) => {
      if (event._tag === "HedgeSuppressed") notes.push(`no hedge: ${event.reason}`)
      if (event._tag === "CallEnded") notes.push(`${event.outcome} of attempt ${event.winner}`)
    }
  }
  return { notes, layer: HedgeEvent.layer(listener) }
}

/** The sum of a counter over all labels but those given. */
const count = (name: string, labels: Record<string, string> = {}) =>
  Effect.map(Metric.snapshot, (pairs) =>
    pairs
      .filter(({ metricKey }) => metricKey.name === name)
      .filter(({ metricKey }) =>
        Object.entries(labels).every(([key, value]) =>
          metricKey.tags.some((tag) => tag.key === key && tag.value === value)
        )
      )
      .reduce(
        (sum, { metricState }) =>
          sum + (MetricState.isCounterState(metricState) ? Number(metricState.count) : 0),
        0
      )
  )

/** How often a hedge is sent, how often it wins, and how many requests the upstream sees per call. */
const answers = Effect.gen(function* () {
  const policy = "telemetry"
  const calls = yield* count("hedge.calls", { policy })
  const hedged = yield* count("hedge.calls.hedged", { policy })
  return {
    hedgeRate: hedged / calls,
    hedgeWinShare: (yield* count("hedge.wins", { policy, role: "hedge" })) / hedged,
    requestsPerCall: (yield* count("hedge.attempts", { policy })) / calls
  }
})

/** The names of the spans around the effect, outermost first. */
const spans = Effect.gen(function* () {
  const names: Array<string> = []
  let span = Option.getOrUndefined(yield* Effect.option(Effect.currentSpan))
  while (span !== undefined) {
    names.unshift(span.name)
    const parent = Option.getOrUndefined(span.parent)
    span = parent?._tag === "Span" ? parent : undefined
  }
  return names
})

/** Answers from within its own span; every other time not before 800 ms. */
const makeBackend = () => {
  let requests = 0
  return Effect.suspend(() =>
    Effect.delay(spans, ++requests % 2 === 1 ? "10 millis" : requests % 4 === 2 ? "800 millis" : "20 millis")
  ).pipe(Effect.withSpan("query"))
}

export const main = Effect.suspend(() => {
  const notes = makeNotes()
  const query = makeBackend().pipe(Hedge.withPolicy, Effect.withSpan("request"))
  return Effect.gen(function* () {
    yield* query
    const trace = yield* query
    yield* Hedge.withoutHedging(query)
    return { notes: notes.notes, trace, ...(yield* answers) }
  }).pipe(
    Effect.provide(
      Layer.mergeAll(
        HedgePolicy.layer({ schedule: HedgeSchedule.fixed("80 millis"), name: "telemetry" }),
        notes.layer,
        HedgeMetrics.layer,
        HedgeTracing.layer
      )
    )
  )
})
