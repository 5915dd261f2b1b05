import { assert, describe, it } from "@effect/vitest"
import {
  Config,
  ConfigError,
  ConfigProvider,
  Context,
  Duration,
  Effect,
  Exit,
  Fiber,
  Layer,
  Option,
  TestClock
} from "effect"
import { Hedge, HedgeConfig, HedgePolicy, HedgeSchedule } from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"

type Settings = Readonly<Record<string, string>>

const load = <A>(config: Config.Config<A>, provider: ConfigProvider.ConfigProvider) =>
  Effect.withConfigProvider(config, provider)

const fromSettings = (settings: Settings) => ConfigProvider.fromMap(new Map(Object.entries(settings)))

const under = (name: string, settings: Settings): Settings =>
  Object.fromEntries(Object.entries(settings).map(([key, value]) => [`${name}.${key}`, value]))

/** The policy that these settings of `hedge` give. */
const policyOf = (settings: Settings) =>
  load(HedgeConfig.policy("hedge"), fromSettings(under("hedge", settings)))

/** Why these settings of `hedge` are refused, one text an error. */
const refusals = (settings: Settings): Effect.Effect<ReadonlyArray<string>> =>
  policyOf(settings).pipe(
    Effect.flip,
    Effect.map(texts),
    Effect.orElseSucceed(() => [])
  )

const texts = (error: ConfigError.ConfigError): ReadonlyArray<string> =>
  error._op === "And" || error._op === "Or"
    ? [...texts(error.left), ...texts(error.right)]
    : [`${error._op} ${error.path.join(".")}: ${error.message}`]

const delay = "80 millis"

describe("HedgeConfig", () => {
  it.effect("needs no more than a delay", () =>
    Effect.gen(function* () {
      const policy = yield* policyOf({ delay })
      assert.strictEqual(policy.maxAttempts, 2)
      assert.strictEqual(policy.deadline, undefined)
      assert.strictEqual(policy.throttle, undefined)
      assert.strictEqual(policy.name, "inline")
    })
  )

  it.effect("reads every option", () =>
    Effect.gen(function* () {
      const policy = yield* policyOf({
        delay,
        name: "quotes",
        maxAttempts: "3",
        deadline: "2 seconds",
        attemptTimeout: "1.5 seconds",
        minTimeLeft: "50 millis",
        maxPushback: "300 millis",
        awaitLosers: "yes",
        loserGrace: "Infinity"
      })
      const {
        name,
        maxAttempts,
        awaitLosers,
        deadline,
        attemptTimeout,
        minTimeLeft,
        maxPushback,
        loserGrace
      } = policy
      assert.deepStrictEqual(
        { name, maxAttempts, awaitLosers },
        { name: "quotes", maxAttempts: 3, awaitLosers: true }
      )
      assert.deepStrictEqual(
        [deadline!, attemptTimeout!, minTimeLeft, maxPushback, loserGrace].map(Duration.toMillis),
        [2_000, 1_500, 50, 300, Infinity]
      )
    })
  )

  it.effect("sends hedges after the delay", () =>
    Effect.gen(function* () {
      const policy = yield* policyOf({ delay, maxAttempts: "3" })
      const script = yield* HedgeTest.script<never, never>([
        { never: true },
        { never: true },
        { never: true }
      ])
      const fiber = yield* Effect.fork(Hedge.hedge(script.effect, policy))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual((yield* script.observed).startedAt, [0, 80, 160])
      yield* Fiber.interrupt(fiber)
    }).pipe(Effect.provide(HedgeTest.layer))
  )

  it.effect("makes of an infinite delay a hedge after a failure only", () =>
    Effect.gen(function* () {
      const policy = yield* policyOf({ delay: "Infinity" })
      const script = yield* HedgeTest.script([{ after: "1 hour", fail: "down" }, { succeed: "hedge" }])
      const fiber = yield* Effect.fork(Hedge.hedge(script.effect, policy))
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(yield* Fiber.join(fiber), "hedge")
    }).pipe(Effect.provide(HedgeTest.layer))
  )

  it.effect("reads an environment's names", () =>
    Effect.gen(function* () {
      const environment = new Map([
        ["APP_HEDGE_DELAY", "80 millis"],
        ["APP_HEDGE_MAX_ATTEMPTS", "4"]
      ])
      const provider = ConfigProvider.fromMap(environment, { pathDelim: "_" }).pipe(
        ConfigProvider.constantCase,
        ConfigProvider.nested("APP")
      )
      assert.strictEqual((yield* load(HedgeConfig.policy("hedge"), provider)).maxAttempts, 4)
    })
  )

  it.effect("reads the root when it is given no name", () =>
    Effect.gen(function* () {
      const provider = fromSettings({ delay, maxAttempts: "5" })
      assert.strictEqual((yield* load(HedgeConfig.policy(), provider)).maxAttempts, 5)
    })
  )

  it.effect.each([
    ["by its tag", {}, "test/Search"],
    ["as it is told", { "search.name": "quotes" }, "quotes"]
  ] as const)("provides a policy layer, which names the policy %s", ([, settings, name]) =>
    Effect.gen(function* () {
      class Search extends HedgePolicy.Tag("test/Search")<Search>() {}
      const environment = Layer.setConfigProvider(
        fromSettings({ "search.delay": delay, "search.maxAttempts": "3", ...settings })
      )
      const policy = yield* Effect.provide(
        Search,
        Search.layerConfig(HedgeConfig.options("search")).pipe(Layer.provide(environment))
      )
      assert.deepStrictEqual([policy.name, policy.maxAttempts], [name, 3])
    })
  )

  describe("when it is not enabled", () => {
    it.effect("sends one attempt, however slow", () =>
      Effect.gen(function* () {
        const policy = yield* policyOf({ delay, enabled: "false" })
        const script = yield* HedgeTest.script([{ after: "1 hour", succeed: "primary" }])
        const fiber = yield* Effect.fork(Hedge.hedge(script.effect, policy))
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(yield* Fiber.join(fiber), "primary")
      })
    )

    it.effect("fails with its only attempt, and says that hedging is off", () =>
      Effect.gen(function* () {
        const policy = yield* policyOf({ delay, enabled: "off" })
        const recorder = yield* HedgeTest.recordEvents
        const exit = yield* Effect.exit(Hedge.hedge(Effect.fail("down"), policy)).pipe(
          Effect.provide(recorder.layer)
        )
        assert.deepStrictEqual(exit, Exit.fail("down"))
        const suppressed = yield* recorder.tagged("HedgeSuppressed")
        assert.deepStrictEqual(
          suppressed.map(({ reason }) => reason),
          ["Disabled"]
        )
      })
    )
  })

  describe("throttle", () => {
    const refusedAfter = (settings: Settings) =>
      Effect.map(policyOf({ delay, ...settings }), ({ throttle }) => {
        let hedges = 0
        while (throttle?.refusedBy(0) === undefined && hedges < 1_000) {
          throttle?.take(0)
          hedges += 1
        }
        return [hedges, throttle?.refusedBy(0)] as const
      })

    it.effect("is one of its own as soon as one of its numbers is given", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* refusedAfter({ burst: "3" }), [3, "loadBudget"])
        assert.deepStrictEqual(yield* refusedAfter({ extraLoad: "0.5" }), [10, "loadBudget"])
      })
    )

    it.effect("keeps the token bucket, whose numbers can be given too", () =>
      Effect.gen(function* () {
        const { throttle } = yield* policyOf({ delay, maxTokens: "4", tokenRatio: "0.5" })
        const outcome = (tag: "Win" | "NonFatal") => throttle!.onOutcome!(tag, false)
        outcome("NonFatal")
        assert.strictEqual(throttle!.refusedBy(0), undefined)
        outcome("NonFatal")
        assert.strictEqual(throttle!.refusedBy(0), "tokenBucket")
        outcome("Win")
        assert.strictEqual(throttle!.refusedBy(0), undefined)
      })
    )

    it.effect("is a new one each time the config is read", () =>
      Effect.gen(function* () {
        const provider = fromSettings({ delay, burst: "3" })
        const config = HedgeConfig.options()
        const [one, other] = yield* Effect.all([load(config, provider), load(config, provider)])
        assert.notStrictEqual(one.throttle, other.throttle)
      })
    )
  })

  describe("refuses", () => {
    it.effect("a missing delay, as missing", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(policyOf({ maxAttempts: "3" }))
        assert.isTrue(ConfigError.isMissingDataOnly(error))
        assert.include(error.toString(), "hedge.delay")
      })
    )

    const durations = 'allowed is a duration with its unit, such as "80 millis" or "2 seconds", or "Infinity"'
    const cases: ReadonlyArray<readonly [what: string, settings: Settings, refusal: string]> = [
      ["a negative delay", { delay: "-5 millis" }, `delay: delay is "-5 millis"; ${durations}`],
      ["a delay without a unit", { delay: "80" }, `delay: delay is "80"; ${durations}`],
      ["an empty delay", { delay: "" }, `delay: delay is ""; ${durations}`],
      ["a delay in words", { delay: "soon" }, `delay: delay is "soon"; ${durations}`],
      [
        "one attempt",
        { maxAttempts: "1" },
        "maxAttempts: maxAttempts is 1; allowed is a whole number, at least 2"
      ],
      [
        "half an attempt",
        { maxAttempts: "2.5" },
        "maxAttempts: maxAttempts is 2.5; allowed is a whole number, at least 2"
      ],
      ["attempts in words", { maxAttempts: "two" }, 'maxAttempts: maxAttempts is "two"; allowed is a number'],
      ["empty attempts", { maxAttempts: "" }, 'maxAttempts: maxAttempts is ""; allowed is a number'],
      [
        "a deadline of zero",
        { deadline: "0 millis" },
        'deadline: deadline is 0; allowed is a duration longer than zero, such as 80, "80 millis" or Duration.millis(80)'
      ],
      ["a negative deadline", { deadline: "-1 seconds" }, `deadline: deadline is "-1 seconds"; ${durations}`],
      [
        "an attempt timeout of zero",
        { attemptTimeout: "0 seconds" },
        'attemptTimeout: attemptTimeout is 0; allowed is a duration longer than zero, such as 80, "80 millis" or Duration.millis(80)'
      ],
      [
        "a negative pushback",
        { maxPushback: "-1 millis" },
        `maxPushback: maxPushback is "-1 millis"; ${durations}`
      ],
      [
        "a negative grace",
        { loserGrace: "-1 millis" },
        `loserGrace: loserGrace is "-1 millis"; ${durations}`
      ],
      [
        "a time to be left without a deadline",
        { minTimeLeft: "50 millis" },
        "minTimeLeft: minTimeLeft is 50ms; allowed is no value, unless there is a deadline"
      ],
      [
        "a time to be left that is longer than the deadline",
        { minTimeLeft: "2 seconds", deadline: "1 second" },
        "minTimeLeft: minTimeLeft is 2s; allowed is a duration shorter than the deadline"
      ],
      [
        "a switch that is neither on nor off",
        { enabled: "maybe" },
        'enabled: enabled is "maybe"; allowed is true, yes, on or 1, or false, no, off or 0'
      ],
      ["an empty name", { name: " " }, 'name: name is ""; allowed is a string that is not empty'],
      [
        "a budget of nothing",
        { extraLoad: "0" },
        "extraLoad: extraLoad is 0; allowed is a number above 0, such as 0.1 for at most 10 % more requests"
      ],
      ["a negative burst", { burst: "-1" }, "burst: burst is -1; allowed is a number of at least 0"],
      [
        "a bucket that is too large",
        { maxTokens: "1001" },
        "maxTokens: maxTokens is 1001; allowed is a number above 0 and at most 1000"
      ],
      [
        "a success that returns nothing",
        { tokenRatio: "0" },
        "tokenRatio: tokenRatio is 0; allowed is a number of at least 0.001 (only three decimals count)"
      ]
    ]
    it.effect.each(cases)("%s", ([, settings, refusal]) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* refusals({ delay, ...settings }), [`InvalidData hedge.${refusal}`])
      })
    )

    it.effect("all bad values at once", () =>
      Effect.gen(function* () {
        const all = yield* refusals({ deadline: "never", maxAttempts: "0", burst: "many" })
        assert.deepStrictEqual(
          all.map((text) => text.slice(0, text.indexOf(":"))),
          [
            "MissingData hedge.delay",
            "MissingData hedge.quantile",
            "InvalidData hedge.maxAttempts",
            "InvalidData hedge.deadline",
            "InvalidData hedge.burst"
          ]
        )
      })
    )

    it.effect("a bad value under the name that the environment has for it", () =>
      Effect.gen(function* () {
        const environment = new Map([
          ["HEDGE_DELAY", "80 millis"],
          ["HEDGE_MAX_ATTEMPTS", "1"]
        ])
        const provider = ConfigProvider.constantCase(ConfigProvider.fromMap(environment, { pathDelim: "_" }))
        const error = yield* Effect.flip(load(HedgeConfig.options("hedge"), provider))
        assert.deepStrictEqual(ConfigError.isConfigError(error) && texts(error), [
          "InvalidData HEDGE.MAX_ATTEMPTS: maxAttempts is 1; allowed is a whole number, at least 2"
        ])
      })
    )

    it.effect("a policy layer of bad values, with a ConfigError", () =>
      Effect.gen(function* () {
        const layer = HedgePolicy.layerConfig(HedgeConfig.options("hedge")).pipe(
          Layer.provide(Layer.setConfigProvider(fromSettings({ "hedge.delay": "-5 millis" })))
        )
        const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
        assert.include(error.toString(), "hedge.delay")
      })
    )

    it.effect("a policy layer of a config of one's own whose value a policy cannot have, by its name", () =>
      Effect.gen(function* () {
        const options = Config.map(Config.integer("attempts"), (maxAttempts) => ({
          schedule: HedgeSchedule.onFailure,
          maxAttempts
        }))
        const layer = HedgePolicy.layerConfig(options).pipe(
          Layer.provide(Layer.setConfigProvider(fromSettings({ attempts: "1" })))
        )
        const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
        assert.deepStrictEqual(texts(error), [
          "InvalidData maxAttempts: maxAttempts is 1; allowed is a whole number, at least 2"
        ])
      })
    )
  })
})

describe("HedgeConfig of a policy that learns", () => {
  const adaptiveOf = (settings: Settings) =>
    load(HedgeConfig.adaptive("hedge"), fromSettings(under("hedge", settings)))

  const adaptiveRefusals = (settings: Settings) =>
    adaptiveOf(settings).pipe(
      Effect.flip,
      Effect.map(texts),
      Effect.orElseSucceed(() => [])
    )

  it.effect("reads a quantile with its bounds instead of a delay", () =>
    Effect.gen(function* () {
      const policy = yield* policyOf({
        quantile: "0.5",
        min: "20 millis",
        max: "1 second",
        warmUp: "1",
        holdout: "0",
        meanwhile: "300 millis",
        target: "any"
      })
      const startsOf = Effect.gen(function* () {
        const script = yield* HedgeTest.script([{ never: true }], { repeat: true })
        const call = yield* Effect.fork(Hedge.hedge(script.effect, policy))
        yield* TestClock.adjust("1 minute")
        yield* Fiber.interrupt(call)
        return (yield* script.observed).startedAt
      })
      assert.deepStrictEqual(yield* startsOf, [0, 300])
      yield* Hedge.hedge(Effect.void, policy)
      assert.deepStrictEqual(yield* startsOf, [0, 20])
    }).pipe(Effect.provide(HedgeTest.layer))
  )

  it.effect("needs no more than an extra load", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* adaptiveOf({ extraLoad: "0.05" }), { extraLoad: 0.05 })
    })
  )

  it.effect("reads every option", () =>
    Effect.gen(function* () {
      const { deadline, meanwhile, within, ...rest } = yield* adaptiveOf({
        extraLoad: "0.05",
        objective: "0.999",
        within: "80 millis",
        warmUp: "500",
        meanwhile: "1 second",
        holdout: "0.02",
        maxAttempts: "3",
        deadline: "2 seconds",
        target: "idle",
        name: "quotes"
      })
      assert.deepStrictEqual(rest, {
        extraLoad: 0.05,
        objective: 0.999,
        warmUp: 500,
        holdout: 0.02,
        maxAttempts: 3,
        target: "idle",
        name: "quotes"
      })
      assert.deepStrictEqual([deadline!, meanwhile!, within!].map(Duration.toMillis), [2_000, 1_000, 80])
    })
  )

  class Quotes extends HedgePolicy.Tag("test/Quotes")<Quotes>() {}
  const learning = HedgeConfig.adaptive("hedge")

  it.effect.each([
    ["the default tag", Effect.provide(HedgePolicy.DefaultPolicy, HedgePolicy.layerAdaptiveConfig(learning))],
    ["a tag of one's own", Effect.provide(Quotes, Quotes.layerAdaptiveConfig(learning))]
  ] as const)("provides a policy layer that learns, for %s", ([, read]) =>
    Effect.gen(function* () {
      const settings = fromSettings({ "hedge.extraLoad": "0.05", "hedge.objective": "0.999" })
      const policy = yield* Effect.withConfigProvider(read, settings)
      assert.strictEqual(policy.maxAttempts, 3)
      const { extraLoad, objective, status } = Option.getOrThrow(yield* HedgePolicy.inspect(policy))
      assert.deepStrictEqual(
        { extraLoad, objective, status },
        { extraLoad: 0.05, objective: 0.999, status: "WarmUp" }
      )
    })
  )

  const share = "allowed is a number between 0 and 1, such as 0.99"
  const cases: ReadonlyArray<readonly [what: string, settings: Settings, refusal: string]> = [
    ["a quantile of 1", { quantile: "1" }, `quantile: quantile is 1; ${share}`],
    [
      "a quantile beside a delay",
      { delay, quantile: "0.95" },
      "delay: delay is 80ms; allowed is no value beside a quantile"
    ],
    [
      "a bound without a quantile",
      { delay, min: "5 millis" },
      "min: min is 5ms; allowed is no value, unless there is a quantile"
    ],
    [
      "bounds that leave nothing between them",
      { quantile: "0.95", min: "5 millis", max: "1 millis" },
      "max: max is 1ms; allowed is a duration that is not shorter than min"
    ],
    [
      "a target that there is not",
      { delay, target: "busy" },
      'target: target is "busy"; allowed is "any" or "idle"'
    ]
  ]

  it.effect.each(cases)("refuses %s", ([, settings, refusal]) =>
    Effect.gen(function* () {
      const all = yield* refusals(settings)
      assert.include(all, `InvalidData hedge.${refusal}`)
    })
  )

  const adaptiveCases: ReadonlyArray<readonly [what: string, settings: Settings, refusal: string]> = [
    [
      "an extra load of more than one hedge a call",
      { extraLoad: "1.5" },
      "extraLoad: extraLoad is 1.5; allowed is a number above 0 and at most 1, such as 0.1 for at most 10 % more requests"
    ],
    ["an objective of 1", { objective: "1" }, `objective: objective is 1; ${share}`],
    ["no warm-up", { warmUp: "0" }, "warmUp: warmUp is 0; allowed is a whole number from 1 to 10000"],
    ["a holdout of all", { holdout: "1" }, "holdout: holdout is 1; allowed is a share from 0 to less than 1"],
    [
      "a time to keep that is none",
      { within: "0 millis" },
      'within: within is 0; allowed is a duration longer than zero, such as 80, "80 millis" or Duration.millis(80)'
    ],
    [
      "a time to be left without a deadline",
      { minTimeLeft: "50 millis" },
      "minTimeLeft: minTimeLeft is 50ms; allowed is no value, unless there is a deadline"
    ]
  ]

  it.effect.each(adaptiveCases)("refuses %s", ([, settings, refusal]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* adaptiveRefusals({ extraLoad: "0.1", ...settings }), [
        `InvalidData hedge.${refusal}`
      ])
    })
  )

  it.effect("refuses settings without an extra load", () =>
    Effect.gen(function* () {
      const [missing] = yield* adaptiveRefusals({ objective: "0.99" })
      assert.match(missing!, /^MissingData hedge.extraLoad/)
    })
  )

  it.effect("names the quantile and the delay if both are missing", () =>
    Effect.gen(function* () {
      const all = yield* refusals({})
      assert.deepStrictEqual(
        all.map((text) => text.slice(0, text.indexOf(":"))),
        ["MissingData hedge.delay", "MissingData hedge.quantile"]
      )
    })
  )

  it.effect("learns on while it is not enabled, and sends one attempt", () =>
    Effect.gen(function* () {
      const settings = fromSettings({ extraLoad: "0.2", warmUp: "1", holdout: "0", enabled: "off" })
      const layer = HedgePolicy.layerAdaptiveConfig(HedgeConfig.adaptive()).pipe(
        Layer.provide(Layer.setConfigProvider(settings))
      )
      const policy = yield* Effect.map(Layer.build(layer), Context.get(HedgePolicy.DefaultPolicy))
      yield* Hedge.hedge(Effect.void, policy)
      const script = yield* HedgeTest.script([{ fail: "down" }])
      assert.deepStrictEqual(yield* Effect.flip(Hedge.hedge(script.effect, policy)), "down")
      assert.strictEqual(Option.getOrThrow(yield* HedgePolicy.inspect(policy)).samples, 1)
    }).pipe(Effect.scoped)
  )
})
