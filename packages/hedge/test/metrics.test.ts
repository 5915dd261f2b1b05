import { assert, describe, it } from "@effect/vitest"
import {
  Cause,
  Duration,
  Effect,
  Exit,
  Fiber,
  Layer,
  Logger,
  Metric,
  type MetricPair,
  MetricState,
  Scope,
  TestClock
} from "effect"
import {
  Hedge,
  HedgeEvent,
  HedgeMetrics,
  HedgeOutcome,
  HedgePolicy,
  HedgeSchedule,
  HedgeThrottle
} from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"

type Labels = Readonly<Record<string, string>>

/** The pairs of a metric that have these labels, and perhaps others. */
const pairs = (name: string, labels: Labels): Effect.Effect<ReadonlyArray<MetricPair.MetricPair.Untyped>> =>
  Effect.map(Metric.snapshot, (all) =>
    all.filter(
      ({ metricKey }) =>
        metricKey.name === name &&
        Object.entries(labels).every(([key, value]) =>
          metricKey.tags.some((tag) => tag.key === key && tag.value === value)
        )
    )
  )

const states = (name: string, labels: Labels) =>
  Effect.map(pairs(name, labels), (all) => all.map(({ metricState }) => metricState as unknown))

/** The sum of the counters that have these labels. */
const counted = (name: string, labels: Labels): Effect.Effect<number> =>
  Effect.map(states(name, labels), (all) =>
    all.filter(MetricState.isCounterState).reduce((sum, state) => sum + Number(state.count), 0)
  )

const gauged = (name: string, labels: Labels): Effect.Effect<ReadonlyArray<number | bigint>> =>
  Effect.map(states(name, labels), (all) => all.filter(MetricState.isGaugeState).map((state) => state.value))

/** Rounded: a scripted attempt answers one nanosecond before its time. */
const measured = (name: string, labels: Labels) =>
  Effect.map(states(name, labels), (all) =>
    all
      .filter(MetricState.isHistogramState)
      .map(({ count, sum }) => ({ count, millis: Math.round(sum * 1_000) }))
  )

/** The options of a policy with a name of its own: metrics are those of the process. */
const named = (name: string) => ({
  name,
  schedule: HedgeSchedule.fixed("80 millis"),
  maxAttempts: 3,
  throttle: HedgeThrottle.unlimited
})

type Attempts = ReadonlyArray<HedgeTest.ScriptedAttempt<string, string>>

/** Runs one call to its end, and its losers too. */
const call = (attempts: Attempts, options: HedgePolicy.Options<string, string>) =>
  Effect.gen(function* () {
    const script = yield* HedgeTest.script(attempts)
    const fiber = yield* Effect.fork(Hedge.hedge(script.effect, options))
    yield* TestClock.adjust("1 minute")
    return yield* Effect.exit(Fiber.join(fiber))
  })

const metered = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provide(effect, HedgeMetrics.layer)

const fast: Attempts = [{ after: "10 millis", succeed: "primary" }]
/** The hedge of 80 ms wins at 100 ms; the primary ran 100 ms. */
const hedgeWins: Attempts = [
  { after: "500 millis", succeed: "primary" },
  { after: "20 millis", succeed: "hedge" }
]
/** The primary wins at 180 ms; hedges of 80 and 160 ms ran 100 and 20 ms. */
const primaryWins: Attempts = [
  { after: "180 millis", succeed: "primary" },
  { after: "1 second", succeed: "hedge" },
  { after: "1 second", succeed: "hedge" }
]

describe("HedgeMetrics", () => {
  it.effect("answers an operator's four questions", () =>
    Effect.gen(function* () {
      const policy = "four questions"
      for (const attempts of [fast, fast, hedgeWins, primaryWins])
        yield* metered(call(attempts, named(policy)))
      const calls = yield* counted("hedge.calls", { policy })
      const hedged = yield* counted("hedge.calls.hedged", { policy })
      const hedgeWon = yield* counted("hedge.wins", { policy, role: "hedge" })
      const attempts = yield* counted("hedge.attempts", { policy })
      assert.strictEqual(hedged / calls, 2 / 4)
      assert.strictEqual(hedgeWon / hedged, 1 / 2)
      assert.strictEqual(attempts / calls, 7 / 4)
      const [loser] = yield* measured("hedge.loser.duration", { policy })
      assert.deepStrictEqual(loser, { count: 3, millis: 100 + 100 + 20 })
    })
  )

  it.effect("counts attempts by role and outcome", () =>
    Effect.gen(function* () {
      const policy = "roles and outcomes"
      yield* metered(call(hedgeWins, named(policy)))
      yield* metered(call([{ fail: "down" }, { die: "bug" }], named(policy)))
      const of = (role: string, outcome: string) => counted("hedge.attempts", { policy, role, outcome })
      assert.strictEqual(yield* of("primary", "Cancelled"), 1)
      assert.strictEqual(yield* of("hedge", "Win"), 1)
      assert.strictEqual(yield* of("primary", "NonFatal"), 1)
      assert.strictEqual(yield* of("hedge", "Fatal"), 1)
      assert.strictEqual(yield* counted("hedge.attempts", { policy }), 4)
    })
  )

  it.effect("counts calls by outcome, and as won only those that an attempt won", () =>
    Effect.gen(function* () {
      const policy = "outcomes"
      yield* metered(call(fast, named(policy)))
      yield* metered(call([{ fail: "down" }, { fail: "down" }, { fail: "down" }], named(policy)))
      yield* metered(call([{ die: "bug" }], named(policy)))
      const of = (outcome: string) => counted("hedge.calls", { policy, outcome })
      assert.deepStrictEqual(yield* Effect.all([of("Win"), of("NonFatal"), of("Fatal")]), [1, 1, 1])
      assert.strictEqual(yield* counted("hedge.wins", { policy }), 1)
    })
  )

  it.effect("measures how long a call took, and when its staggered hedges went out", () =>
    Effect.gen(function* () {
      const policy = "durations"
      yield* metered(call(primaryWins, named(policy)))
      assert.deepStrictEqual(yield* measured("hedge.call.duration", { policy }), [{ count: 1, millis: 180 }])
      assert.deepStrictEqual(yield* measured("hedge.delay", { policy }), [{ count: 2, millis: 80 + 160 }])
    })
  )

  it.effect("measures no delay of a hedge that a failure launched", () =>
    Effect.gen(function* () {
      const policy = "failure launch"
      yield* metered(call([{ after: "30 millis", fail: "down" }, { succeed: "hedge" }], named(policy)))
      assert.strictEqual(yield* counted("hedge.calls.hedged", { policy }), 1)
      assert.deepStrictEqual(yield* measured("hedge.delay", { policy }), [{ count: 0, millis: 0 }])
    })
  )

  it.effect("counts no attempt that a deadline or its caller's interruption ended as a loser", () =>
    Effect.gen(function* () {
      const policy = "no losers"
      const started = (deadline: "1 second" | undefined) =>
        Effect.gen(function* () {
          const script = yield* HedgeTest.script<never, never>([{ never: true }, { never: true }])
          const options = { ...named(policy), maxAttempts: 2, deadline }
          const fiber = yield* Effect.fork(metered(Hedge.hedge(script.effect, options)))
          yield* TestClock.adjust("1 second")
          return fiber
        })
      yield* Effect.flatMap(started("1 second"), Fiber.await)
      yield* Effect.flatMap(started(undefined), Fiber.interrupt)
      assert.strictEqual(yield* counted("hedge.calls", { policy, outcome: "DeadlineExceeded" }), 1)
      assert.strictEqual(yield* counted("hedge.calls", { policy, outcome: "Interrupted" }), 1)
      assert.strictEqual(yield* counted("hedge.attempts", { policy, outcome: "Cancelled" }), 4)
      assert.deepStrictEqual(yield* measured("hedge.loser.duration", { policy }), [{ count: 0, millis: 0 }])
    })
  )

  it.effect("counts suppressed hedges by reason, throttled ones also by throttle", () =>
    Effect.gen(function* () {
      const policy = "suppressed"
      const gated = { ...named(policy), gates: [() => "maintenance"] }
      yield* metered(call([{ fail: "down" }], gated))
      const empty = HedgeThrottle.make({ name: "empty", refusedBy: () => "empty", take: () => {} })
      yield* metered(call([{ fail: "down" }], { ...named(policy), throttle: empty }))
      assert.strictEqual(yield* counted("hedge.suppressed", { policy, reason: "maintenance" }), 1)
      assert.strictEqual(
        yield* counted("hedge.suppressed", { policy, reason: "Throttled", throttle: "empty" }),
        1
      )
      assert.strictEqual(yield* counted("hedge.suppressed", { policy }), 2)
    })
  )

  it.effect(
    "counts each throttle's refusals in one series, and those of gates in one without a throttle",
    () =>
      Effect.gen(function* () {
        const policy = "throttles apart"
        const refusing = (name: string) => HedgeThrottle.make({ name, refusedBy: () => name, take: () => {} })
        const failing = (options: Partial<HedgePolicy.Options<never, string>>) =>
          Effect.ignore(Hedge.hedge(Effect.fail("down"), { ...named(policy), ...options }))
        for (const name of ["one", "other", "one"]) yield* metered(failing({ throttle: refusing(name) }))
        for (const _ of [1, 2]) yield* metered(failing({ gates: [() => "Throttled"] }))
        const seen = (yield* pairs("hedge.suppressed", { policy, reason: "Throttled" })).map(
          ({ metricKey, metricState }) => [
            metricKey.tags.filter(({ key }) => key === "throttle").map(({ value }) => value),
            (metricState as MetricState.MetricState.Counter<number>).count
          ]
        )
        assert.sameDeepMembers(seen, [
          [["one"], 2],
          [["other"], 1],
          [[], 2]
        ])
      })
  )

  it.effect("counts the reasons of a gate that makes them up as Other from the 51st on", () =>
    Effect.gen(function* () {
      const policy = "many reasons"
      let requests = 0
      const options = { ...named(policy), gates: [() => `request ${requests++}`] }
      const failing = Effect.ignore(Hedge.hedge(Effect.fail("down"), options))
      yield* metered(Effect.repeatN(failing, 199))
      assert.strictEqual(yield* counted("hedge.suppressed", { policy }), 200)
      assert.strictEqual(yield* counted("hedge.suppressed", { policy, reason: "Other" }), 150)
      const seen = (yield* states("hedge.suppressed", { policy })).filter(MetricState.isCounterState)
      assert.strictEqual(seen.filter((state) => Number(state.count) > 0).length, 51)
    })
  )

  it.effect("counts known reasons, and the engine's, as such also when there are too many others", () =>
    Effect.gen(function* () {
      const policy = "known reasons"
      const refused = (reason: string) =>
        Effect.ignore(Hedge.hedge(Effect.fail("down"), { ...named(policy), gates: [() => reason] }))
      yield* metered(
        Effect.forEach(
          Array.from({ length: 60 }, (_, i) => `request ${i}`),
          refused
        )
      )
      yield* metered(Effect.zip(refused("request 3"), refused("Disabled")))
      const of = (reason: string) => counted("hedge.suppressed", { policy, reason })
      assert.deepStrictEqual(yield* Effect.all([of("request 3"), of("Disabled"), of("Other")]), [2, 1, 10])
    })
  )

  it.effect("shows the attempts that run, losers that unwind included", () =>
    Effect.gen(function* () {
      const policy = "in flight"
      const inFlight = counted("hedge.in_flight", { policy })
      const script = yield* HedgeTest.script([
        { after: "1 second", unwind: "10 seconds", succeed: "primary" },
        { after: "20 millis", succeed: "hedge" }
      ])
      const fiber = yield* Effect.fork(metered(Hedge.hedge(script.effect, named(policy))))
      yield* TestClock.adjust("79 millis")
      assert.strictEqual(yield* inFlight, 1)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* inFlight, 2)
      yield* TestClock.adjust("20 millis")
      assert.strictEqual(yield* Fiber.join(fiber), "hedge")
      assert.strictEqual(yield* inFlight, 1)
      // its layer has closed by now
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* inFlight, 0)
    })
  )

  it.effect("shows what the throttle would let through, if it counts such a thing", () =>
    Effect.gen(function* () {
      const policy = "tokens"
      const throttle = HedgeThrottle.concurrency(5)
      yield* metered(call(fast, { ...named(policy), throttle }))
      assert.deepStrictEqual(yield* gauged("hedge.throttle.tokens", { policy }), [5])
      yield* metered(call(fast, named("no tokens")))
      assert.deepStrictEqual(yield* gauged("hedge.throttle.tokens", { policy: "no tokens" }), [])
      const endless = { ...HedgeThrottle.unlimited, tokens: () => Infinity }
      yield* metered(call(fast, { ...named("endless"), throttle: endless }))
      assert.deepStrictEqual(yield* gauged("hedge.throttle.tokens", { policy: "endless" }), [])
    })
  )

  it.effect("a throttle whose tokens cannot be read harms no call, and is logged", () =>
    Effect.gen(function* () {
      const throttle = HedgeThrottle.make({
        name: "broken gauge",
        refusedBy: () => undefined,
        take: () => {},
        tokens: () => {
          throw new Error("unreadable")
        }
      })
      const causes: Array<string> = []
      const logger = Logger.make(({ cause }) => {
        causes.push(String(Cause.squash(cause)))
      })
      const exit = yield* metered(call(fast, { ...named("broken gauge"), throttle })).pipe(
        Effect.provide(Logger.replace(Logger.defaultLogger, logger))
      )
      assert.deepStrictEqual(exit, yield* Effect.exit(Effect.succeed("primary")))
      assert.deepStrictEqual(causes, ["Error: unreadable"])
    })
  )

  it.effect("keeps policies apart by name, and names a tag's policy by its id", () =>
    Effect.gen(function* () {
      class Search extends HedgePolicy.Tag("test/Search")<Search>() {}
      const search = Effect.succeed("found").pipe(
        Hedge.withPolicy(Search),
        Effect.provide(Search.layer({ schedule: HedgeSchedule.onFailure }))
      )
      yield* metered(Effect.zip(search, Hedge.hedge(Effect.succeed(1), named("other"))))
      assert.strictEqual(yield* counted("hedge.calls", { policy: "test/Search" }), 1)
      assert.strictEqual(yield* counted("hedge.calls", { policy: "other" }), 1)
    })
  )

  it.effect("counts a call once, however often its layer is provided", () =>
    Effect.gen(function* () {
      const policy = "provided twice"
      yield* Hedge.hedge(Effect.void, named(policy)).pipe(metered, metered)
      assert.strictEqual(yield* counted("hedge.calls", { policy }), 1)
    })
  )

  it.effect("says the unit of each metric in a label", () =>
    Effect.gen(function* () {
      const policy = "units"
      const throttle = HedgeThrottle.concurrency(5)
      yield* metered(call(hedgeWins, { ...named(policy), throttle }))
      const all = (yield* Metric.snapshot).filter(({ metricKey }) =>
        metricKey.tags.some(({ key, value }) => key === "policy" && value === policy)
      )
      const units = all.map(({ metricKey }) => [
        metricKey.name,
        metricKey.tags.find(({ key }) => key === "unit")?.value
      ])
      assert.deepStrictEqual(Object.fromEntries(units), {
        "hedge.calls": "{call}",
        "hedge.calls.hedged": "{call}",
        "hedge.wins": "{call}",
        "hedge.attempts": "{attempt}",
        "hedge.in_flight": "{attempt}",
        "hedge.suppressed": "{hedge}",
        "hedge.throttle.tokens": "{hedge}",
        "hedge.call.duration": "s",
        "hedge.loser.duration": "s",
        "hedge.delay": "s"
      })
    })
  )

  it.effect("puts a duration into a bucket whose bounds are seconds, each written in full", () =>
    Effect.gen(function* () {
      const policy = "buckets"
      yield* metered(call(primaryWins, named(policy)))
      const [state] = (yield* states("hedge.call.duration", { policy })).filter(MetricState.isHistogramState)
      const bounds = state!.buckets.map(([bound]) => String(bound))
      assert.deepStrictEqual(
        [bounds[0], bounds[12], bounds.at(-2), bounds.at(-1)],
        ["0.001", "0.3", "70", "Infinity"]
      )
      assert.isTrue(bounds.every((bound) => bound.length <= "Infinity".length))
      assert.strictEqual(state!.buckets.find(([, count]) => count === 1)![0], 0.2)
    })
  )

  /** The labels of a metric's series, and how often each was counted. */
  const series = (name: string, policy: string, label: string) =>
    Effect.map(pairs(name, { policy }), (all) =>
      Object.fromEntries(
        all.map(({ metricKey, metricState }) => [
          metricKey.tags.find(({ key }) => key === label)?.value,
          Number((metricState as MetricState.MetricState.Counter<number>).count)
        ])
      )
    )

  it.effect("has every counter at zero before the first hedge", () =>
    Effect.gen(function* () {
      const policy = "no hedge yet"
      yield* metered(call(fast, named(policy)))
      assert.deepStrictEqual(yield* series("hedge.calls", policy, "outcome"), {
        Win: 1,
        NonFatal: 0,
        Fatal: 0,
        DeadlineExceeded: 0,
        Interrupted: 0,
        Defect: 0
      })
      assert.deepStrictEqual(yield* series("hedge.wins", policy, "role"), { primary: 1, hedge: 0 })
      assert.deepStrictEqual(yield* series("hedge.calls.hedged", policy, "policy"), { [policy]: 0 })
      assert.deepInclude(yield* series("hedge.suppressed", policy, "reason"), { Suspended: 0, WarmUp: 0 })
      assert.strictEqual((yield* pairs("hedge.attempts", { policy })).length, 2 * 4)
    })
  )

  it.effect("has the metrics of a registered policy before its first call", () =>
    Effect.gen(function* () {
      const policy = "registered"
      yield* Effect.repeatN(HedgeMetrics.register(policy), 1)
      assert.strictEqual((yield* series("hedge.calls", policy, "outcome")).Win, 0)
      assert.throws(() => HedgeMetrics.register(""), "policy")
    })
  )

  it.effect("a suspended policy is seen by the reason of the hedges that it does not send", () =>
    Effect.gen(function* () {
      const policy = "suspended"
      const answered = (millis: number) => Hedge.withPolicy(Effect.sleep(millis))
      const program = Effect.gen(function* () {
        // of 20 answers one takes a second
        const usual = Array.from({ length: 20 }, (_, i) => answered(i === 0 ? 1_000 : 10))
        yield* Effect.all(usual, { concurrency: "unbounded" })
        // the upstream pushes back, and the next call is late
        yield* Effect.ignore(Hedge.withPolicy(Effect.fail("busy")))
        yield* answered(1_000)
      })
      const learning = HedgePolicy.layerAdaptive({
        name: policy,
        extraLoad: 0.2,
        warmUp: 20,
        holdout: 0,
        classify: (exit) => (Exit.isFailure(exit) ? HedgeOutcome.nonFatal("5 seconds") : HedgeOutcome.win)
      })
      const fiber = yield* program.pipe(metered, Effect.provide(learning), Effect.fork)
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(fiber)
      assert.strictEqual(yield* counted("hedge.suppressed", { policy, reason: "Suspended" }), 1)
    })
  )

  it.effect("agrees with the events of sixty calls at once, and no counter ever falls", () =>
    Effect.gen(function* () {
      const policy = "at once"
      const seen: Array<HedgeEvent.HedgeEvent> = []
      const recorder = HedgeEvent.layer({ onEvent: (event) => seen.push(event) })
      const kinds: ReadonlyArray<Attempts> = [
        fast,
        hedgeWins,
        primaryWins,
        [
          { after: "10 millis", fail: "down" },
          { after: "500 millis", unwind: "1 second", succeed: "hedge" },
          { after: "100 millis", succeed: "hedge" }
        ],
        [{ fail: "down" }, { fail: "down" }, { fail: "down" }],
        [{ die: "bug" }]
      ]
      const throttle = HedgeThrottle.loadBudget({ extraLoad: 0.5, burst: 10 })
      const calls = Array.from({ length: 60 }, (_, i) =>
        Effect.flatMap(HedgeTest.script(kinds[i % kinds.length]!), ({ effect }) =>
          Effect.exit(Hedge.hedge(effect, { ...named(policy), throttle }))
        )
      )
      const fiber = yield* Effect.fork(
        Effect.all(calls, { concurrency: "unbounded", discard: true }).pipe(Effect.provide(recorder), metered)
      )
      const counters = [
        "hedge.calls",
        "hedge.calls.hedged",
        "hedge.attempts",
        "hedge.wins",
        "hedge.suppressed"
      ]
      const totals = Effect.forEach(counters, (name) => counted(name, { policy }))
      let before = yield* totals
      for (let i = 0; i < 10; i++) {
        yield* TestClock.adjust("40 millis")
        const now = yield* totals
        assert.isTrue(now.every((total, n) => total >= before[n]!))
        before = now
      }
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)

      const ended = seen.filter((event) => event._tag === "CallEnded")
      const attempts = seen.filter((event) => event._tag === "AttemptEnded")
      const lost = attempts.filter(({ interrupted }) => interrupted === "Lost")
      const suppressed = seen.filter(({ _tag }) => _tag === "HedgeSuppressed")
      assert.strictEqual(ended.length, calls.length)
      assert.isAbove(suppressed.length, 0)
      assert.deepStrictEqual(yield* totals, [
        calls.length,
        ended.filter((event) => event.attempts > 1).length,
        attempts.length,
        ended.filter(({ outcome }) => outcome === "Win").length,
        suppressed.length
      ])
      assert.strictEqual(yield* counted("hedge.in_flight", { policy }), 0)
      assert.strictEqual((yield* measured("hedge.call.duration", { policy }))[0]!.count, calls.length)
      const ran = lost.reduce((sum, event) => sum + Duration.toMillis(event.ran), 0)
      assert.deepStrictEqual(yield* measured("hedge.loser.duration", { policy }), [
        { count: lost.length, millis: Math.round(ran) }
      ])
    })
  )

  it.effect("counts the policies after the 100th together", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 120 }, (_, i) => `request ${i}`)
      yield* Effect.forEach(names, (name) => metered(Hedge.hedge(Effect.void, named(name))))
      const calls = (yield* Metric.snapshot).filter(({ metricKey }) => metricKey.name === "hedge.calls")
      const policies = new Set(
        calls.map(({ metricKey }) => metricKey.tags.find(({ key }) => key === "policy")?.value)
      )
      assert.strictEqual(policies.size, 100 + 1)
      const apart = names.filter((name) => policies.has(name))
      assert.strictEqual(yield* counted("hedge.calls", { policy: "Other" }), names.length - apart.length)
    })
  )
})

describe("listener layers", () => {
  const recorder = () => {
    const tags: Array<HedgeEvent.HedgeEvent["_tag"]> = []
    return { tags, layer: HedgeEvent.layer({ onEvent: ({ _tag }) => tags.push(_tag) }) }
  }
  const hedged = Hedge.hedge(Effect.void, named("listeners"))

  it.effect("tell every listener, nested", () =>
    Effect.gen(function* () {
      const [inner, outer] = [recorder(), recorder()]
      yield* hedged.pipe(Effect.provide(inner.layer), Effect.provide(outer.layer))
      assert.deepStrictEqual(inner.tags, ["CallStarted", "AttemptStarted", "AttemptEnded", "CallEnded"])
      assert.deepStrictEqual(outer.tags, inner.tags)
    })
  )

  it.effect("tell every listener, merged", () =>
    Effect.gen(function* () {
      const [one, other] = [recorder(), recorder()]
      yield* Effect.provide(hedged, Layer.merge(one.layer, other.layer))
      assert.strictEqual(one.tags.length, 4)
      assert.deepStrictEqual(other.tags, one.tags)
    })
  )

  it.effect("tell no listener that was added further in", () =>
    Effect.gen(function* () {
      const [inner, outer] = [recorder(), recorder()]
      yield* Effect.zipRight(Effect.provide(hedged, inner.layer), hedged).pipe(Effect.provide(outer.layer))
      assert.strictEqual(inner.tags.length, 4)
      assert.strictEqual(outer.tags.length, 8)
    })
  )

  it.effect(
    "tell nobody who is told outside twice, and those outside also after an inner layer has closed",
    () =>
      Effect.gen(function* () {
        const tags: Array<string> = []
        const listener: HedgeEvent.Listener = { onEvent: ({ _tag }) => tags.push(_tag) }
        yield* Effect.gen(function* () {
          yield* Effect.provide(hedged, HedgeEvent.layer(listener))
          assert.strictEqual(tags.length, 4)
          yield* hedged
          assert.strictEqual(tags.length, 8)
        }).pipe(Effect.provide(HedgeEvent.layer(listener)))
      })
  )

  it.effect("tell nobody any more who left with their layer, and the others as before", () =>
    Effect.gen(function* () {
      const [staying, leaving] = [recorder(), recorder()]
      const scope = yield* Scope.make()
      yield* Effect.gen(function* () {
        const memo = yield* Layer.makeMemoMap
        const context = yield* Layer.buildWithMemoMap(staying.layer, memo, yield* Effect.scope)
        yield* Layer.buildWithMemoMap(leaving.layer, memo, scope)
        yield* Effect.provide(hedged, context)
        yield* Scope.close(scope, Exit.void)
        yield* Effect.provide(hedged, context)
      }).pipe(Effect.scoped)
      assert.strictEqual(staying.tags.length, 8)
      assert.strictEqual(leaving.tags.length, 4)
    })
  )

  it.effect("tell who is in two layers, also after the inner one has closed", () =>
    Effect.gen(function* () {
      const tags: Array<string> = []
      const listener: HedgeEvent.Listener = { onEvent: ({ _tag }) => tags.push(_tag) }
      const scope = yield* Scope.make()
      yield* Effect.gen(function* () {
        const memo = yield* Layer.makeMemoMap
        const outer = HedgeEvent.layer(listener)
        const context = yield* Layer.buildWithMemoMap(outer, memo, yield* Effect.scope)
        yield* Layer.buildWithMemoMap(HedgeEvent.layer(listener), memo, scope)
        yield* Scope.close(scope, Exit.void)
        yield* Effect.provide(hedged, context)
      }).pipe(Effect.scoped)
      assert.strictEqual(tags.length, 4)
    })
  )

  it.effect("tell those that a call found at its start, also after their layer has closed", () =>
    Effect.gen(function* () {
      const { tags, layer } = recorder()
      const script = yield* HedgeTest.script([{ never: true, unwind: "1 second" }, { succeed: "hedge" }])
      const fiber = yield* Effect.fork(Effect.provide(Hedge.hedge(script.effect, named("late")), layer))
      yield* TestClock.adjust("80 millis")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(tags.at(-1), "CallEnded")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(tags.at(-1), "AttemptEnded")
    })
  )
})
