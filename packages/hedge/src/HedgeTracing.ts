/**
 * Spans of hedged calls: one for the call, and under it one for each attempt, in which the attempt runs.
 *
 * Provide {@link layer} once, at the edge of the program. Spans are made by the caller's tracer, timed by its clock, and carry its span
 * annotations and links; nothing is made where tracing is off (`Effect.withTracerEnabled(false)`).
 *
 * | span | parent | attributes |
 * |---|---|---|
 * | `hedge.call` | the caller's current span, if it has one | `hedge.call` (its id), `hedge.policy`; at its end `hedge.outcome`, `hedge.winner` (the index of the attempt whose exit is the result), `hedge.attempts` (how many were launched) |
 * | `hedge.attempt` | the call's | `hedge.call`, `hedge.policy`, `hedge.attempt` (its index), `hedge.launch` (`Primary`, `Stagger` or `Failure`); at its end `hedge.outcome`, and `hedge.interrupted` if it was interrupted, with the reason |
 *
 * - A hedge that was due and not sent is an event `hedge.suppressed` of the call's span, with `hedge.attempt` (the index it would have had),
 *   `hedge.reason` and, if it was throttled, `hedge.throttle`.
 * - A loser's span ends as interrupted, not as an error, whatever its fiber did while it unwound; `hedge.outcome` is then `Cancelled`. It ends
 *   when the fiber does, which may be after the call's span.
 * - An attempt that took longer than `attemptTimeout` ends with that error.
 * - The call's span ends with what the caller gets.
 * - After the call the caller's current span is what it was before.
 *
 * @example
 * import { Effect } from "effect"
 * import { Hedge, HedgeSchedule, HedgeTracing } from "effect-hedge"
 *
 * // request > hedge.call > hedge.attempt > query
 * export const program = Effect.succeed(42).pipe(
 *   Effect.withSpan("query"),
 *   Hedge.hedge({ schedule: HedgeSchedule.fixed("80 millis") }),
 *   Effect.withSpan("request"),
 *   Effect.provide(HedgeTracing.layer)
 * )
 *
 * @module
 */
import type { Layer } from "effect"
import type { Listener, Listeners } from "./HedgeEvent.js"
import * as internal from "./internal/tracing.js"

/** Makes the spans. It keeps a call until its last attempt has ended, and nothing after that. */
export const listener: Listener = internal.listener

/** Traces the calls of the effects that it is provided to, each once, also when it is provided twice. */
export const layer: Layer.Layer<Listeners> = internal.layer
