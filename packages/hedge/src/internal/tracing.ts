import type { Fiber, FiberId, Layer } from "effect"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import type {
  AttemptEnded,
  AttemptStarted,
  CallEnded,
  CallStarted,
  HedgeEvent,
  HedgeSuppressed,
  Listener
} from "../HedgeEvent.js"
import { HedgeError } from "./errors.js"
import { type Listeners, layer as listenerLayer } from "./listeners.js"

type Caller = Fiber.RuntimeFiber<unknown, unknown>
type Attributes = Readonly<Record<string, unknown>>

// --- spans ---------------------------------------------------------------------------------------------------------

/** The nearest span that may have children: one made while tracing was off may not. */
const visible = (span: Tracer.AnySpan | undefined): Option.Option<Tracer.AnySpan> => {
  if (span === undefined) return Option.none()
  if (!Context.get(span.context, Tracer.DisablePropagation)) return Option.some(span)
  return span._tag === "Span" ? visible(Option.getOrUndefined(span.parent)) : Option.none()
}

const annotate = (span: Tracer.Span, attributes: Attributes): void => {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) span.attribute(key, value)
  }
}

/**
 * Makes spans as `Effect.makeSpan` would on the caller's fiber when the call started. By the time the last loser's span ends the caller may
 * have gone on, under another tracer or clock.
 */
class Tracing {
  private readonly tracer: Tracer.Tracer
  private readonly clock: Clock.Clock | undefined
  private readonly annotations: Attributes
  private readonly links: ReadonlyArray<Tracer.SpanLink>

  constructor(caller: Caller) {
    const timed = caller.getFiberRef(FiberRef.currentTracerTimingEnabled)
    this.tracer = caller.currentTracer
    this.clock = timed ? Context.unsafeGet(caller.currentDefaultServices, Clock.Clock) : undefined
    this.annotations = Object.fromEntries(caller.getFiberRef(FiberRef.currentTracerSpanAnnotations))
    this.links = Chunk.toReadonlyArray(caller.getFiberRef(FiberRef.currentTracerSpanLinks))
  }

  now(): bigint {
    return this.clock === undefined ? 0n : this.clock.unsafeCurrentTimeNanos()
  }

  start(name: string, parent: Option.Option<Tracer.AnySpan>, attributes: Attributes): Tracer.Span {
    const options = { attributes }
    const span = this.tracer.span(name, parent, Context.empty(), this.links, this.now(), "internal", options)
    annotate(span, this.annotations)
    annotate(span, attributes)
    return span
  }
}

// --- calls ---------------------------------------------------------------------------------------------------------

/** A call whose spans have not all ended. */
interface TracedCall {
  readonly caller: FiberId.FiberId
  readonly tracing: Tracing
  readonly span: Tracer.Span
  /** Of the attempts whose fiber runs. */
  readonly attempts: Map<number, Tracer.Span>
  ended: boolean
}

/** By their id. A call is dropped when its last span ends. */
export const tracedCalls: Map<string, TracedCall> = new Map()

// --- events --------------------------------------------------------------------------------------------------------

const onCallStarted = ({ callId, policy, caller }: CallStarted): void => {
  if (!caller.getFiberRef(FiberRef.currentTracerEnabled)) return
  const attributes = { "hedge.call": callId, "hedge.policy": policy }
  const tracing = new Tracing(caller)
  const span = tracing.start("hedge.call", visible(caller.currentSpan), attributes)
  tracedCalls.set(callId, { caller: caller.id(), tracing, span, attempts: new Map(), ended: false })
}

const onAttemptStarted = (call: TracedCall, event: AttemptStarted): void => {
  const attributes = {
    "hedge.call": event.callId,
    "hedge.policy": event.policy,
    "hedge.attempt": event.attempt,
    "hedge.launch": event.reason
  }
  const span = call.tracing.start("hedge.attempt", Option.some(call.span), attributes)
  call.attempts.set(event.attempt, span)
}

/** A loser ends as cancelled, whatever its fiber did while it unwound: it is no error. */
const exitOf = (call: TracedCall, event: AttemptEnded): Exit.Exit<unknown, unknown> => {
  if (event.interrupted === "AttemptTimeout") {
    const report = { index: event.attempt, status: "TimedOut", elapsed: event.ran } as const
    return Exit.fail(new HedgeError({ reason: "AttemptTimeout", attempts: [report] }))
  }
  if (event.outcome !== "Cancelled") return event.exit
  return event.exit._tag === "Failure" && Cause.isInterruptedOnly(event.exit.cause)
    ? event.exit
    : Exit.interrupt(call.caller)
}

const onAttemptEnded = (call: TracedCall, event: AttemptEnded): void => {
  const span = call.attempts.get(event.attempt)
  call.attempts.delete(event.attempt)
  if (span === undefined) return
  annotate(span, { "hedge.outcome": event.outcome, "hedge.interrupted": event.interrupted })
  span.end(call.tracing.now(), exitOf(call, event))
}

const onSuppressed = (call: TracedCall, event: HedgeSuppressed): void => {
  const attributes = { "hedge.attempt": event.attempt, "hedge.reason": event.reason }
  call.span.event(
    "hedge.suppressed",
    call.tracing.now(),
    event.throttle === undefined ? attributes : { ...attributes, "hedge.throttle": event.throttle }
  )
}

const onCallEnded = (call: TracedCall, event: CallEnded): void => {
  call.ended = true
  annotate(call.span, {
    "hedge.outcome": event.outcome,
    "hedge.winner": event.winner,
    "hedge.attempts": event.attempts
  })
  call.span.end(call.tracing.now(), event.exit)
}

const onEventOf = (call: TracedCall, event: HedgeEvent): void => {
  switch (event._tag) {
    case "AttemptStarted":
      return onAttemptStarted(call, event)
    case "AttemptEnded":
      return onAttemptEnded(call, event)
    case "HedgeSuppressed":
      return onSuppressed(call, event)
    case "CallEnded":
      return onCallEnded(call, event)
  }
}

export const listener: Listener = {
  onEvent: (event) => {
    if (event._tag === "CallStarted") return onCallStarted(event)
    const call = tracedCalls.get(event.callId)
    if (call === undefined) return
    try {
      onEventOf(call, event)
    } finally {
      if (call.ended && call.attempts.size === 0) tracedCalls.delete(event.callId)
    }
  },
  spanOf: (event) => tracedCalls.get(event.callId)?.attempts.get(event.attempt)
}

export const layer: Layer.Layer<Listeners> = listenerLayer(listener)
