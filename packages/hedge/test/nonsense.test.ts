import { describe, expect, it } from "@effect/vitest"
import { Cause, Duration, Effect, Exit, Layer } from "effect"
import {
  Hedge,
  HedgeConfig,
  HedgeEvent,
  HedgePolicy,
  HedgeSchedule,
  HedgeThrottle,
  LatencyEstimator
} from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"

const schedule = HedgeSchedule.fixed("80 millis")
const options = { schedule }
const policy = HedgePolicy.make(options)
const estimator = LatencyEstimator.unsafeMake()
const distribution = LatencyEstimator.fromSamples([1, 2, 3])
const script = [{ succeed: 1 }]
const sample = { elapsed: "30 millis" } as const

/** What JavaScript can pass where TypeScript would not let it. */
const nonsense = {
  null: null,
  true: true,
  "3": 3,
  "-1": -1,
  NaN: Number.NaN,
  Infinity: Infinity,
  '"x"': "x",
  '""': "",
  "{}": {},
  "{ x: 1 }": { x: 1 },
  "[]": [],
  "[null]": [null],
  "a function": () => 1,
  "a map": new Map()
} as const

type Nonsense = keyof typeof nonsense

const texts: ReadonlyArray<Nonsense> = ['"x"', '""']
const positive: ReadonlyArray<Nonsense> = ["3", "Infinity"]
const wholeNumbers: ReadonlyArray<Nonsense> = ["3"]
const functions: ReadonlyArray<Nonsense> = ["a function"]
const none: ReadonlyArray<Nonsense> = []

/** Why something is refused, by a throw or, where it returns an effect or a layer, when that runs. */
const refusalOf = (make: () => unknown): unknown => {
  const run = (made: unknown): Effect.Effect<unknown, unknown> =>
    Layer.isLayer(made)
      ? Effect.scoped(Layer.build(made as Layer.Layer<unknown>))
      : Effect.isEffect(made)
        ? (made as Effect.Effect<unknown>)
        : Effect.void
  const exit = Effect.runSyncExit(Effect.flatMap(Effect.sync(make), run))
  return Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
}

/** Holds a way in to what it says it takes; all else must be refused with a field, the value and what is allowed. */
const holds = (name: string, make: (value: never) => unknown, accepted: ReadonlyArray<Nonsense>) =>
  it.each(Object.keys(nonsense) as ReadonlyArray<Nonsense>)(`${name}: %s`, (label) => {
    const refusal = refusalOf(() => make(nonsense[label] as never))
    if (accepted.includes(label)) return expect(refusal).toBe(undefined)
    expect(refusal).toBeInstanceOf(HedgePolicy.HedgePolicyError)
    expect(refusal).toMatchObject({ field: expect.stringMatching(/./), allowed: expect.stringMatching(/./) })
  })

class Mine extends HedgePolicy.Tag("nonsense/Mine")<Mine>() {}

const positional: ReadonlyArray<
  readonly [name: string, make: (value: never) => unknown, accepted: ReadonlyArray<Nonsense>]
> = [
  ["Hedge.hedge, effect", (value) => Hedge.hedge(value, options), none],
  ["Hedge.hedge, effect last", (value) => Hedge.hedge(options)(value), none],
  ["Hedge.hedge, policy", (value) => Hedge.hedge(Effect.void, value), none],
  ["Hedge.hedge, policy alone", (value) => Hedge.hedge(value), none],
  ["Hedge.hedgeWith, f", (value) => void Hedge.hedgeWith(options)(value), functions],
  ["Hedge.hedgeWith, policy", (value) => Hedge.hedgeWith(() => Effect.void, value), none],
  ["Hedge.hedgeScoped, effect", (value) => Hedge.hedgeScoped(value, options), none],
  ["Hedge.hedgeScoped, policy", (value) => Hedge.hedgeScoped(Effect.void, value), none],
  ["Hedge.withPolicy, effect", (value) => Hedge.withPolicy(value), none],
  ["Hedge.withPolicy, effect of a tag", (value) => Hedge.withPolicy(Mine)(value), none],
  [
    "Hedge.withPolicy, what its tag holds",
    (value) => Effect.provideService(Hedge.withPolicy(Mine)(Effect.void), Mine, value),
    none
  ],
  ["Hedge.withoutHedging, effect", (value) => Hedge.withoutHedging(value), none],
  ["HedgePolicy.make", (value) => HedgePolicy.make(value), none],
  ["HedgePolicy.modify, policy", (value) => HedgePolicy.modify(value, {}), none],
  ["HedgePolicy.modify, changes", (value) => HedgePolicy.modify(policy, value), ["{}"]],
  ["HedgePolicy.modify, changes alone", (value) => HedgePolicy.modify(value)(policy), ["{}"]],
  ["HedgePolicy.ineligible", (value) => HedgePolicy.ineligible(value), none],
  ["HedgePolicy.keyed, policy", (value) => HedgePolicy.keyed(value, "key"), none],
  ["HedgePolicy.keyed, key", (value) => HedgePolicy.keyed(policy, value), [...texts, "[]"]],
  ["HedgePolicy.inspect, policy", (value) => HedgePolicy.inspect(value), none],
  ["HedgePolicy.unsafeBegin, policy", (value) => HedgePolicy.unsafeBegin(value, 0), none],
  ["HedgePolicy.unsafeBegin, now", (value) => HedgePolicy.unsafeBegin(policy, value), ["3", "-1"]],
  ["HedgePolicy.Tag", (value) => HedgePolicy.Tag(value), ['"x"']],
  ["HedgePolicy.layer", (value) => HedgePolicy.layer(value), none],
  ["HedgePolicy.layerConfig", (value) => HedgePolicy.layerConfig(value), none],
  ["HedgePolicy.layerAdaptive", (value) => HedgePolicy.layerAdaptive(value), none],
  ["HedgeConfig.options", (value) => void HedgeConfig.options(value), ['"x"']],
  ["HedgeConfig.policy", (value) => void HedgeConfig.policy(value), ['"x"']],
  ["HedgeSchedule.fixed", (value) => HedgeSchedule.fixed(value), positive],
  ["HedgeSchedule.quantile, q", (value) => HedgeSchedule.quantile(value), none],
  ["HedgeSchedule.quantile, options", (value) => HedgeSchedule.quantile(0.9, value), ["{}"]],
  ["HedgeSchedule.budgeted", (value) => HedgeSchedule.budgeted(value), none],
  ["HedgeSchedule.solve, distribution", (value) => HedgeSchedule.solve(value, { extraLoad: 0.1 }), none],
  ["HedgeSchedule.solve, options", (value) => HedgeSchedule.solve(distribution, value), none],
  [
    "Solution.quantile",
    (value) => HedgeSchedule.solve(distribution, { extraLoad: 0.1 }).quantile(value),
    none
  ],
  ["HedgeThrottle.make", (value) => HedgeThrottle.make(value), none],
  ["HedgeThrottle.loadBudget", (value) => HedgeThrottle.loadBudget(value), none],
  ["HedgeThrottle.tokenBucket", (value) => HedgeThrottle.tokenBucket(value), none],
  ["HedgeThrottle.concurrency", (value) => HedgeThrottle.concurrency(value), wholeNumbers],
  ["HedgeThrottle.all", (value) => HedgeThrottle.all(HedgeThrottle.unlimited, value), none],
  ["HedgeThrottle.makeDefault", (value) => HedgeThrottle.makeDefault(value), ["{}"]],
  ["HedgeThrottle.perUpstream, make", (value) => HedgeThrottle.perUpstream(value), functions],
  [
    "HedgeThrottle.perUpstream, what is made",
    (value) => HedgeThrottle.perUpstream(() => value)("upstream"),
    none
  ],
  [
    "HedgeThrottle.perUpstream, upstream",
    (value) => HedgeThrottle.perUpstream(() => HedgeThrottle.unlimited)(value),
    texts
  ],
  ["HedgeThrottle.take", (value) => HedgeThrottle.take(value), none],
  ["LatencyEstimator.record, estimator", (value) => LatencyEstimator.record(value, sample), none],
  ["LatencyEstimator.record, sample", (value) => LatencyEstimator.record(estimator, value), none],
  [
    "LatencyEstimator.unsafeRecord, now",
    (now) => LatencyEstimator.unsafeRecord(estimator, now, sample),
    ["3", "-1"]
  ],
  ["LatencyEstimator.quantile, estimator", (value) => LatencyEstimator.quantile(value, 0.5), none],
  ["LatencyEstimator.quantile, p", (value) => LatencyEstimator.quantile(estimator, value), none],
  [
    "LatencyEstimator.quantile, key",
    (value) => LatencyEstimator.quantile(estimator, 0.5, value),
    [...texts, "[]"]
  ],
  ["LatencyEstimator.distribution", (value) => LatencyEstimator.distribution(value), none],
  ["LatencyEstimator.fromSamples", (value) => LatencyEstimator.fromSamples(value), ["[]", "a map", '""']],
  ["Distribution.quantile", (value) => distribution.quantile(value), none],
  ["Distribution.survival", (value) => distribution.survival(value), positive],
  ["HedgeEvent.layer", (value) => HedgeEvent.layer(value), none],
  ["HedgeTest.script, attempts", (value) => HedgeTest.script(value), none],
  ["HedgeTest.script, an attempt", (value) => HedgeTest.script([value]), none],
  ["HedgeTest.script, options", (value) => HedgeTest.script(script, value), ["{}"]]
]

const policyFields = {
  maxAttempts: wholeNumbers,
  throttle: none,
  classify: functions,
  onDiscard: functions,
  maxPushback: positive,
  awaitLosers: ["true"],
  loserGrace: positive,
  gates: ["[]"],
  target: none,
  name: ['"x"']
} as const
const learningFields = { warmUp: wholeNumbers, meanwhile: positive, holdout: none, estimator: none }
const withDeadline = { schedule, deadline: "1 minute" }

const fields: ReadonlyArray<
  readonly [
    name: string,
    make: (options: never) => unknown,
    base: object,
    accepted: Readonly<Record<string, ReadonlyArray<Nonsense>>>
  ]
> = [
  [
    "HedgePolicy.make",
    HedgePolicy.make,
    withDeadline,
    { ...policyFields, schedule: none, deadline: positive, attemptTimeout: positive, minTimeLeft: ["3"] }
  ],
  [
    "HedgePolicy.modify",
    (changes) => HedgePolicy.modify(policy, changes),
    {},
    // what is in the type of a policy cannot be changed
    { ...policyFields, schedule: none, deadline: none, attemptTimeout: none }
  ],
  [
    "HedgePolicy.layerAdaptive",
    HedgePolicy.layerAdaptive,
    { extraLoad: 0.1 },
    { ...policyFields, ...learningFields, schedule: none, extraLoad: none, objective: none, within: positive }
  ],
  [
    "HedgeSchedule.quantile",
    (options) => HedgeSchedule.quantile(0.5, options),
    {},
    { ...learningFields, min: positive, max: positive }
  ],
  [
    "HedgeSchedule.budgeted",
    HedgeSchedule.budgeted,
    { extraLoad: 0.1 },
    { ...learningFields, extraLoad: none, objective: none, within: positive }
  ],
  [
    "HedgeSchedule.solve",
    (options) => HedgeSchedule.solve(distribution, options),
    { extraLoad: 0.1 },
    { extraLoad: none, objective: none, within: positive, maxAttempts: wholeNumbers }
  ],
  [
    "HedgeThrottle.loadBudget",
    HedgeThrottle.loadBudget,
    { extraLoad: 1 },
    { extraLoad: ["3"], burst: ["3"] }
  ],
  [
    "HedgeThrottle.tokenBucket",
    HedgeThrottle.tokenBucket,
    { maxTokens: 10, tokenRatio: 0.1 },
    { maxTokens: ["3"], tokenRatio: ["3"] }
  ],
  [
    "HedgeThrottle.makeDefault",
    HedgeThrottle.makeDefault,
    {},
    { extraLoad: ["3"], burst: ["3"], maxTokens: ["3"], tokenRatio: ["3"] }
  ],
  [
    "HedgeThrottle.make",
    HedgeThrottle.make,
    HedgeThrottle.unlimited,
    {
      name: ['"x"'],
      refusedBy: functions,
      take: functions,
      onCall: functions,
      onOutcome: functions,
      onHedgeEnd: functions,
      tokens: functions
    }
  ],
  [
    "LatencyEstimator.record",
    (value) => LatencyEstimator.record(estimator, value),
    sample,
    { elapsed: positive, finished: ["true"], key: [...texts, "[]"] }
  ],
  [
    "HedgeEvent.layer",
    HedgeEvent.layer,
    { onEvent: () => {} },
    { onEvent: functions, only: ["[]"], spanOf: functions }
  ],
  [
    "HedgeTest.script, an attempt",
    (attempt) => HedgeTest.script([attempt]),
    { succeed: 1 },
    { after: positive, unwind: positive }
  ],
  ["HedgeTest.script, options", (options) => HedgeTest.script(script, options), {}, { repeat: ["true"] }]
]

describe("an argument that makes no sense is refused:", () => {
  for (const [name, make, accepted] of positional) holds(name, make, accepted)
})

describe("an option that makes no sense is refused:", () => {
  for (const [name, make, base, accepted] of fields) {
    for (const [field, values] of Object.entries(accepted))
      holds(`${name}, ${field}`, (value) => make({ ...base, [field]: value } as never), values)
    if (name !== "HedgeEvent.layer") {
      holds(
        `${name}, an option that does not exist`,
        (value) => make({ ...base, unknown: value } as never),
        none
      )
    }
  }
})

it("a listener that opens spans may want nothing but the starts of attempts", () => {
  const listener: HedgeEvent.Listener = {
    only: ["AttemptStarted"],
    onEvent: () => {},
    spanOf: () => undefined
  }
  expect(refusalOf(() => HedgeEvent.layer(listener))).toBe(undefined)
})

describe("a refusal names the field:", () => {
  it.each([
    [() => HedgePolicy.make({} as never), "schedule", undefined],
    [() => HedgePolicy.make({ schedule, maxAttempt: 3 } as never), "maxAttempt", 3],
    [() => HedgePolicy.make({ schedule, maxAttempts: null } as never), "maxAttempts", null],
    [() => HedgePolicy.make({ schedule, minTimeLeft: 5 }), "minTimeLeft", 5],
    [() => HedgeEvent.layer({ onEvent: () => {}, only: ["Ended" as never] }), "only", ["Ended"]],
    [
      () => HedgeEvent.layer({ onEvent: () => {}, only: ["CallEnded"], spanOf: () => undefined }),
      "only",
      ["CallEnded"]
    ],
    [() => HedgePolicy.layerAdaptive({} as never), "extraLoad", undefined],
    [() => HedgeThrottle.make({ name: "mine" } as never), "refusedBy", undefined],
    [() => HedgeThrottle.all(HedgeThrottle.unlimited, 3 as never), "all[1]", 3],
    [() => HedgeTest.script([{ succeed: 1 }, { suceed: 2 } as never]), "attempts[1].suceed", 2],
    [() => HedgeTest.script([{ succeed: 1 }], { repat: 1 } as never), "repat", 1]
  ] as const)("%#", (make, field, value) => {
    expect(refusalOf(make)).toMatchObject({ _tag: "HedgePolicyError", field, value })
  })
})

const circular: { self?: unknown } = {}
circular.self = circular

describe("a refusal shows the value:", () => {
  for (const [name, value, shown] of [
    ["a text", 'say "x"', '"say \\"x\\""'],
    ["a number", 1.5, "1.5"],
    ["NaN", Number.NaN, "NaN"],
    ["a bigint", 5n, "5"],
    ["null", null, "null"],
    ["a function", () => 1, "a function"],
    ["a duration", Duration.seconds(90), "1m 30s"],
    ["an object", { x: [1, "y"] }, '{"x":[1,"y"]}'],
    ["an object that JSON leaves out", { toJSON: () => undefined }, "[object Object]"],
    ["an object that JSON cannot write", circular, "[object Object]"]
  ] as const) {
    it(name, () => {
      expect(refusalOf(() => HedgePolicy.make({ schedule, maxAttempts: value as never }))).toMatchObject({
        message: `maxAttempts is ${shown}; allowed is a whole number, at least 2`
      })
    })
  }
})

describe("a refusal says which options there are:", () => {
  for (const [name, make, message] of [
    [
      "of what is no object",
      () => HedgeThrottle.loadBudget(5 as never),
      "options is 5; allowed is an object with the options extraLoad, burst"
    ],
    [
      "of an option that does not exist",
      () => HedgeThrottle.loadBudget({ extraLoad: 1, brust: 3 } as never),
      "brust is 3; allowed is one of the options extraLoad, burst"
    ]
  ] as const) {
    it(name, () => expect(refusalOf(make)).toMatchObject({ message }))
  }
})

describe("a duration that is no number or text:", () => {
  for (const [name, input, millis] of [
    ["nanoseconds", 5_000_000n, 5],
    ["no nanoseconds", 0n, 0],
    ["fewer than none", -1n, undefined],
    ["seconds and nanoseconds", [1, 5_000_000], 1005],
    ["seconds alone", [2, 0], 2000],
    ["nanoseconds alone", [0, 5_000_000], 5],
    ["negative seconds", [-1, 0], undefined],
    ["negative nanoseconds", [0, -1], undefined],
    ["seconds that are no number", [Number.NaN, 0], undefined]
  ] as const) {
    it(`${name}: ${millis === undefined ? "refused" : `${millis} ms`}`, () => {
      const make = () => HedgePolicy.make({ schedule, maxPushback: input })
      if (millis === undefined) expect(refusalOf(make)).toMatchObject({ field: "maxPushback", value: input })
      else expect(Duration.toMillis(make().maxPushback)).toBe(millis)
    })
  }
})

it.effect("what an option's getter throws is a defect, and no refusal", () =>
  Effect.gen(function* () {
    const error = new Error("unreadable")
    const attempt = {
      get succeed() {
        throw error
      }
    }
    expect(yield* Effect.exit(HedgeTest.script([attempt as never]))).toStrictEqual(Exit.die(error))
  })
)

it.effect.each([null, false, "", 5])("a gate's answer that is no reason fails the call: %s", (answer) =>
  Effect.gen(function* () {
    const failing = Effect.fail("no")
    const policy = { schedule, throttle: HedgeThrottle.unlimited, gates: [() => answer as never] }
    const exit = yield* Effect.exit(Hedge.hedge(failing, policy))
    expect(Exit.isFailure(exit) && Cause.pretty(exit.cause)).toContain("a gate answered")
  })
)
