import { assert, beforeEach, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, FiberRef, Logger, Option, TestClock, Tracer } from "effect"
import { Hedge, HedgeEvent, HedgePolicy, HedgeSchedule, HedgeThrottle, HedgeTracing } from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"
import { tracedCalls } from "../src/internal/tracing.js"

interface RecordedSpan extends Tracer.Span {
  readonly events: ReadonlyArray<
    readonly [name: string, time: bigint, attributes: Readonly<Record<string, unknown>>]
  >
}

/** A tracer that keeps its spans in the order in which they started. */
const recording = Effect.map(Effect.tracer, (native) => {
  const spans: Array<RecordedSpan> = []
  const tracer = Tracer.make({
    span: (...args) => {
      const span = native.span(...args) as RecordedSpan
      spans.push(span)
      return span
    },
    context: native.context
  })
  return {
    spans,
    traced: <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      effect.pipe(Effect.provide(HedgeTracing.layer), Effect.withTracer(tracer))
  }
})

const options = {
  schedule: HedgeSchedule.fixed("80 millis"),
  maxAttempts: 2,
  throttle: HedgeThrottle.unlimited
}

/** The hedge of 80 ms wins at 100 ms; the primary takes ten seconds to unwind. */
const hedgeWins = HedgeTest.script([
  { never: true, unwind: "10 seconds" },
  { after: "20 millis", succeed: "hedge" }
])

const named = (spans: ReadonlyArray<RecordedSpan>, name: string) => spans.filter((span) => span.name === name)

const path = (span: Tracer.AnySpan): string => {
  if (span._tag === "ExternalSpan") return "external"
  const parent = Option.match(span.parent, { onNone: () => "", onSome: (outer) => `${path(outer)} > ` })
  const index = span.attributes.get("hedge.attempt")
  return `${parent}${span.name}${index === undefined ? "" : ` ${index}`}`
}

const endOf = (span: Tracer.Span | undefined) => {
  if (span?.status._tag !== "Ended") return assert.fail("the span has not ended")
  return { millis: Number(span.status.endTime / 1_000_000n), exit: span.status.exit }
}

const isEnded = (span: Tracer.Span): boolean => span.status._tag === "Ended"

const attributesOf = (span: Tracer.Span | undefined) => Object.fromEntries(span?.attributes ?? [])

/** How often something was logged, such as the failure of a listener. */
const logsOf = <A, E, R>(effect: Effect.Effect<A, E, R>) => {
  let count = 0
  const logger = Logger.make(() => {
    count += 1
  })
  return effect.pipe(
    Effect.exit,
    Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
    Effect.map(() => count)
  )
}

describe("HedgeTracing", () => {
  beforeEach(() => tracedCalls.clear())

  it.effect(
    "makes a span of the call under the caller's, and one of each attempt, in which the attempt runs",
    () =>
      Effect.gen(function* () {
        const { spans, traced } = yield* recording
        const query = Hedge.hedgeWith(
          ({ index }) =>
            Effect.withSpan(
              index === 0 ? Effect.never : Effect.succeed("hedge"),
              `query of attempt ${index}`
            ),
          options
        )
        const fiber = yield* Effect.fork(traced(Effect.withSpan(query, "request")))
        yield* TestClock.adjust("80 millis")
        yield* Fiber.join(fiber)
        assert.deepStrictEqual(spans.map(path), [
          "request",
          "request > hedge.call",
          "request > hedge.call > hedge.attempt 0",
          "request > hedge.call > hedge.attempt 0 > query of attempt 0",
          "request > hedge.call > hedge.attempt 1",
          "request > hedge.call > hedge.attempt 1 > query of attempt 1"
        ])
      })
  )

  it.effect("makes internal spans, and gives the tracer their attributes when they start", () =>
    Effect.gen(function* () {
      const native = yield* Effect.tracer
      const made: Array<ReadonlyArray<unknown>> = []
      const tracer = Tracer.make({
        span: (...args) => {
          const [name, , , , , kind, options] = args
          made.push([name, kind, options?.attributes?.["hedge.policy"]])
          return native.span(...args)
        },
        context: native.context
      })
      const call = Hedge.hedge(Effect.void, { ...options, name: "quotes" })
      yield* call.pipe(Effect.provide(HedgeTracing.layer), Effect.withTracer(tracer))
      assert.deepStrictEqual(made, [
        ["hedge.call", "internal", "quotes"],
        ["hedge.attempt", "internal", "quotes"]
      ])
    })
  )

  it.effect("makes a root span of the call when the caller has none", () =>
    Effect.gen(function* () {
      const { spans, traced } = yield* recording
      yield* traced(Hedge.hedge(Effect.void, options))
      assert.deepStrictEqual(spans.map(path), ["hedge.call", "hedge.call > hedge.attempt 0"])
    })
  )

  it.effect("continues a trace that came from outside", () =>
    Effect.gen(function* () {
      const { spans, traced } = yield* recording
      const outside = Tracer.externalSpan({ traceId: "trace", spanId: "span" })
      yield* traced(Effect.withParentSpan(Hedge.hedge(Effect.void, options), outside))
      assert.deepStrictEqual(spans.map(path), [
        "external > hedge.call",
        "external > hedge.call > hedge.attempt 0"
      ])
      assert.deepStrictEqual(
        spans.map(({ traceId }) => traceId),
        ["trace", "trace"]
      )
    })
  )

  it.effect("says on the spans which call, policy and attempt, and how it went", () =>
    Effect.gen(function* () {
      const { spans, traced } = yield* recording
      const script = yield* hedgeWins
      const fiber = yield* Effect.fork(traced(Hedge.hedge(script.effect, { ...options, name: "quotes" })))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)
      const [call, primary, hedge] = spans.map(attributesOf)
      const both = { "hedge.call": call?.["hedge.call"], "hedge.policy": "quotes" }
      assert.isString(both["hedge.call"])
      assert.deepStrictEqual(call, {
        ...both,
        "hedge.outcome": "Win",
        "hedge.winner": 1,
        "hedge.attempts": 2
      })
      assert.deepStrictEqual(primary, {
        ...both,
        "hedge.attempt": 0,
        "hedge.launch": "Primary",
        "hedge.outcome": "Cancelled",
        "hedge.interrupted": "Lost"
      })
      assert.deepStrictEqual(hedge, {
        ...both,
        "hedge.attempt": 1,
        "hedge.launch": "Stagger",
        "hedge.outcome": "Win"
      })
    })
  )

  it.effect("takes times from the Clock; a loser's span ends with its fiber, after the call's", () =>
    Effect.gen(function* () {
      const { spans, traced } = yield* recording
      const script = yield* hedgeWins
      const fiber = yield* Effect.fork(traced(Hedge.hedge(script.effect, options)))
      yield* TestClock.adjust("100 millis")
      yield* Fiber.join(fiber)
      const [call, primary, hedge] = spans
      assert.deepStrictEqual(spans.map(isEnded), [true, false, true])
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(
        spans.map((span) => Number(span.status.startTime / 1_000_000n)),
        [0, 0, 80]
      )
      // a scripted attempt answers one nanosecond before its time
      assert.deepStrictEqual(
        [call, primary, hedge].map((span) => endOf(span).millis),
        [99, 10_099, 99]
      )
    })
  )

  it.effect("ends a loser's span as interrupted, even if the loser fails while it unwinds", () =>
    Effect.gen(function* () {
      const { spans, traced } = yield* recording
      const attempt = (index: number) =>
        index === 0
          ? Effect.onInterrupt(Effect.never, () => Effect.die("no way out"))
          : Effect.succeed("hedge")
      const fiber = yield* Effect.fork(traced(Hedge.hedgeWith(({ index }) => attempt(index), options)))
      yield* TestClock.adjust("80 millis")
      yield* Fiber.join(fiber)
      const { exit } = endOf(spans[1])
      assert.isTrue(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))
    })
  )

  it.effect("ends a loser's span as interrupted, even if the loser answers late", () =>
    Effect.gen(function* () {
      const { spans, traced } = yield* recording
      const script = yield* HedgeTest.script([
        { after: "1 second", uninterruptibleFrom: "0 millis", succeed: "primary" },
        { after: "20 millis", succeed: "hedge" }
      ])
      const fiber = yield* Effect.fork(traced(Hedge.hedge(script.effect, options)))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
      assert.strictEqual((yield* script.observed).successes, 2)
      const { exit } = endOf(spans[1])
      assert.isTrue(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))
    })
  )

  it.effect(
    "ends the spans of attempts that failed with their failures, and the call's with what the caller gets",
    () =>
      Effect.gen(function* () {
        const { spans, traced } = yield* recording
        const failing = Hedge.hedgeWith(({ index }) => Effect.fail(`down ${index}`), options)
        const exit = yield* Effect.exit(traced(failing))
        const [call, primary, hedge] = spans
        assert.deepStrictEqual(
          [primary, hedge].map((span) => endOf(span).exit),
          [Exit.fail("down 0"), Exit.fail("down 1")]
        )
        assert.deepStrictEqual(endOf(call).exit, exit)
        assert.strictEqual(attributesOf(call)["hedge.outcome"], "NonFatal")
        assert.strictEqual(attributesOf(call)["hedge.winner"], 0)
      })
  )

  it.effect("ends the call's span with the deadline's error", () =>
    Effect.gen(function* () {
      const { spans, traced } = yield* recording
      const fiber = yield* Effect.fork(
        traced(Hedge.hedge(Effect.never, { ...options, deadline: "1 second" }))
      )
      yield* TestClock.adjust("1 second")
      const exit = yield* Fiber.await(fiber)
      assert.deepStrictEqual(endOf(spans[0]).exit, exit)
      assert.deepStrictEqual(
        named(spans, "hedge.attempt").map((span) => attributesOf(span)["hedge.interrupted"]),
        ["DeadlineExceeded", "DeadlineExceeded"]
      )
    })
  )

  it.effect("ends the span of an attempt that timed out with that error", () =>
    Effect.gen(function* () {
      const { spans, traced } = yield* recording
      const script = yield* HedgeTest.script([{ never: true }, { succeed: "hedge" }])
      const policy = HedgePolicy.make({
        ...options,
        schedule: HedgeSchedule.onFailure,
        attemptTimeout: "50 millis"
      })
      const fiber = yield* Effect.fork(traced(Hedge.hedge(script.effect, policy)))
      yield* TestClock.adjust("50 millis")
      assert.strictEqual(yield* Fiber.join(fiber), "hedge")
      const { exit } = endOf(spans[1])
      const failure = Exit.isFailure(exit)
        ? Option.getOrUndefined(Cause.failureOption(exit.cause))
        : undefined
      assert.strictEqual(
        failure instanceof Hedge.HedgeError && failure.message,
        "The attempt timed out: attempt 0 TimedOut after 50ms"
      )
      assert.strictEqual(attributesOf(spans[1])["hedge.interrupted"], "AttemptTimeout")
    })
  )

  it.effect("ends all spans as interrupted when the caller is interrupted", () =>
    Effect.gen(function* () {
      const { spans, traced } = yield* recording
      const fiber = yield* Effect.fork(traced(Hedge.hedge(Effect.never, options)))
      yield* TestClock.adjust("80 millis")
      yield* Fiber.interrupt(fiber)
      const exits = spans.map((span) => endOf(span).exit)
      assert.strictEqual(exits.length, 3)
      assert.isTrue(exits.every((exit) => Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)))
    })
  )

  it.effect("tells of a suppressed hedge by an event of the call's span", () =>
    Effect.gen(function* () {
      const { spans, traced } = yield* recording
      const empty = HedgeThrottle.make({ name: "empty", refusedBy: () => "empty", take: () => {} })
      yield* Effect.ignore(traced(Hedge.hedge(Effect.fail("down"), { ...options, throttle: empty })))
      yield* Effect.ignore(
        traced(Hedge.hedge(Effect.fail("down"), { ...options, gates: [() => "maintenance"] }))
      )
      assert.deepStrictEqual(
        named(spans, "hedge.call").map(({ events }) => events),
        [
          [
            [
              "hedge.suppressed",
              0n,
              { "hedge.attempt": 1, "hedge.reason": "Throttled", "hedge.throttle": "empty" }
            ]
          ],
          [["hedge.suppressed", 0n, { "hedge.attempt": 1, "hedge.reason": "maintenance" }]]
        ]
      )
    })
  )

  it.effect("puts the caller's span annotations and links on its spans", () =>
    Effect.gen(function* () {
      const { spans, traced } = yield* recording
      const elsewhere = Tracer.externalSpan({ traceId: "elsewhere", spanId: "elsewhere" })
      yield* traced(
        Hedge.hedge(Effect.void, options).pipe(
          Effect.annotateSpans("tenant", "acme"),
          Effect.linkSpans(elsewhere)
        )
      )
      assert.deepStrictEqual(
        spans.map((span) => attributesOf(span).tenant),
        ["acme", "acme"]
      )
      assert.deepStrictEqual(
        spans.map(({ links }) => links.map(({ span }) => span)),
        [[elsewhere], [elsewhere]]
      )
    })
  )

  it.effect("makes no span while tracing is off", () =>
    Effect.gen(function* () {
      const { spans, traced } = yield* recording
      const call = Hedge.hedge(Effect.withSpan(Effect.void, "query"), options)
      assert.strictEqual(yield* logsOf(traced(Effect.withTracerEnabled(call, false))), 0)
      assert.deepStrictEqual(spans, [])
      assert.strictEqual(tracedCalls.size, 0)
    })
  )

  it.effect("makes no child of a span that was made while tracing was off", () =>
    Effect.gen(function* () {
      const { spans, traced } = yield* recording
      const call = Effect.withTracerEnabled(Hedge.hedge(Effect.void, options), true)
      yield* call.pipe(
        Effect.withSpan("hidden"),
        Effect.withTracerEnabled(false),
        Effect.withSpan("request"),
        traced
      )
      assert.deepStrictEqual(spans.map(path), [
        "request",
        "request > hedge.call",
        "request > hedge.call > hedge.attempt 0"
      ])
    })
  )

  it.effect("makes a root span under one from outside that may have no children", () =>
    Effect.gen(function* () {
      const { spans, traced } = yield* recording
      const context = Context.make(Tracer.DisablePropagation, true)
      const outside = Tracer.externalSpan({ traceId: "trace", spanId: "span", context })
      yield* traced(Effect.withParentSpan(Hedge.hedge(Effect.void, options), outside))
      assert.deepStrictEqual(spans.map(path), ["hedge.call", "hedge.call > hedge.attempt 0"])
    })
  )

  it.effect("takes no times where they are off", () =>
    Effect.gen(function* () {
      const { spans, traced } = yield* recording
      yield* TestClock.adjust("1 second")
      yield* traced(Effect.withTracerTiming(Hedge.hedge(Effect.void, options), false))
      assert.deepStrictEqual(
        spans.map(({ status }) => status.startTime),
        [0n, 0n]
      )
      assert.deepStrictEqual(
        spans.map((span) => endOf(span).millis),
        [0, 0]
      )
    })
  )

  it.effect(
    "C59: leaves the caller's current span as it was, while the winner's FiberRef writes arrive",
    () =>
      Effect.gen(function* () {
        const { traced } = yield* recording
        const ref = FiberRef.unsafeMake("before")
        const call = Hedge.hedge(FiberRef.set(ref, "by the winner"), options)
        const currentSpans = Effect.gen(function* () {
          const before = yield* Effect.currentSpan
          yield* call
          return [before, yield* Effect.currentSpan] as const
        })
        const [before, after] = yield* traced(Effect.withSpan(currentSpans, "request"))
        assert.strictEqual(after, before)
        assert.strictEqual(after.name, "request")
        const context = yield* traced(Effect.zipRight(call, Effect.context<never>()))
        assert.isFalse(Context.getOption(context, Tracer.ParentSpan)._tag === "Some")
        assert.strictEqual(yield* FiberRef.get(ref), "by the winner")
      })
  )

  it.effect("makes one span of a call, however often its layer is provided", () =>
    Effect.gen(function* () {
      const { spans, traced } = yield* recording
      yield* Hedge.hedge(Effect.void, options).pipe(traced, traced)
      assert.strictEqual(spans.length, 2)
    })
  )

  it.effect("is not needed for attempts to stand in their caller's span", () =>
    Effect.gen(function* () {
      const hedged = Hedge.hedge(Effect.currentParentSpan, options)
      const recorder = yield* HedgeTest.recordEvents
      for (const call of [hedged, Effect.provide(hedged, recorder.layer)]) {
        const span = yield* Effect.withSpan(call, "caller")
        assert.strictEqual(span._tag === "Span" ? span.name : "external", "caller")
      }
    })
  )

  it.effect("has attempts run in its spans also beside a listener that has none", () =>
    Effect.gen(function* () {
      const { spans, traced } = yield* recording
      const recorder = yield* HedgeTest.recordEvents
      const inner = yield* traced(Hedge.hedge(Effect.currentParentSpan, options)).pipe(
        Effect.provide(recorder.layer)
      )
      assert.strictEqual(inner.spanId, spans[1]?.spanId)
      const logs = logsOf(Effect.provide(Hedge.hedge(Effect.void, options), recorder.layer))
      assert.strictEqual(yield* logs, 0)
    })
  )

  it.effect("fails once, not again at its end, for an attempt whose span cannot be made", () =>
    Effect.gen(function* () {
      const native = yield* Effect.tracer
      const tracer = Tracer.make({
        span: (...args) => {
          if (args[0] === "hedge.attempt") throw new Error("no span")
          return native.span(...args)
        },
        context: native.context
      })
      const call = Hedge.hedge(Effect.void, options).pipe(Effect.provide(HedgeTracing.layer))
      assert.strictEqual(yield* logsOf(Effect.withTracer(call, tracer)), 1)
    })
  )

  it.effect("ends its spans also when another listener says in which span an attempt runs", () =>
    Effect.gen(function* () {
      const { spans, traced } = yield* recording
      const other = Tracer.externalSpan({ traceId: "other", spanId: "other" })
      const listener = { onEvent: () => {}, spanOf: () => other }
      const inner = yield* Hedge.hedge(Effect.currentParentSpan, options).pipe(
        Effect.provide(HedgeTracing.layer),
        Effect.provide(HedgeEvent.layer(listener)),
        traced
      )
      assert.strictEqual(inner.spanId, spans[1]?.spanId)
      assert.isTrue(spans.every(isEnded))
    })
  )

  describe("keeps nothing of a call", () => {
    it.effect("once its last attempt has ended", () =>
      Effect.gen(function* () {
        const { traced } = yield* recording
        const script = yield* hedgeWins
        const fiber = yield* Effect.fork(traced(Hedge.hedge(script.effect, options)))
        yield* TestClock.adjust("100 millis")
        yield* Fiber.join(fiber)
        assert.strictEqual(tracedCalls.size, 1)
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(tracedCalls.size, 0)
      })
    )

    it.effect("after a thousand calls of every outcome", () =>
      Effect.gen(function* () {
        const { spans, traced } = yield* recording
        const outcomes = [Effect.void, Effect.fail("down"), Effect.die("bug"), Effect.interrupt, Effect.never]
        const calls = Effect.forEach(
          Array.from({ length: 1_000 }, (_, i) => outcomes[i % outcomes.length]!),
          (outcome) => Effect.exit(Hedge.hedge(outcome, { ...options, deadline: "1 second" })),
          { concurrency: "unbounded" }
        )
        const fiber = yield* Effect.fork(traced(calls))
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(fiber)
        assert.strictEqual(named(spans, "hedge.call").length, 1_000)
        assert.isTrue(spans.every(isEnded))
        assert.strictEqual(tracedCalls.size, 0)
      })
    )

    it.effect("whose classify throws", () =>
      Effect.gen(function* () {
        const { spans, traced } = yield* recording
        const classify = (): never => {
          throw new Error("no judgement")
        }
        yield* Effect.exit(traced(Hedge.hedge(Effect.void, { ...options, classify })))
        assert.deepStrictEqual(spans.map(isEnded), [true, true])
        assert.strictEqual(tracedCalls.size, 0)
      })
    )

    it.effect("whose tracer fails", () =>
      Effect.gen(function* () {
        const native = yield* Effect.tracer
        const tracer = Tracer.make({
          span: (...args) => {
            const span = native.span(...args)
            span.end = () => {
              throw new Error("no end")
            }
            return span
          },
          context: native.context
        })
        const call = Hedge.hedge(Effect.succeed("primary"), options).pipe(Effect.provide(HedgeTracing.layer))
        assert.strictEqual(yield* Effect.withTracer(call, tracer), "primary")
        assert.strictEqual(tracedCalls.size, 0)
      })
    )
  })
})
