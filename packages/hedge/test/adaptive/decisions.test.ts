import { describe, expect, it } from "@effect/vitest"
import { Schedule } from "effect"
import { HedgePolicy, HedgeSchedule, HedgeThrottle, LatencyEstimator } from "effect-hedge"
import { draws, w1 } from "./samples.js"

type Rest = Partial<HedgePolicy.Options<unknown, unknown>>

const policyOf = (schedule: HedgeSchedule.HedgeSchedule, rest: Rest = {}) =>
  HedgePolicy.make<unknown, unknown>({
    schedule,
    throttle: HedgeThrottle.unlimited,
    maxAttempts: 3,
    ...rest
  })

/** A call that begins at 0. */
const begin = (schedule: HedgeSchedule.HedgeSchedule, rest?: Rest) =>
  HedgePolicy.unsafeBegin(policyOf(schedule, rest), 0)

describe("the decisions of a call", () => {
  it("ask for the delay after each launch, until no attempt is left", () => {
    const call = begin(HedgeSchedule.parallel)
    for (const delay of [0, 0, Infinity]) {
      expect(call.delay()).toBe(delay)
      expect(call.refusal(0, "Stagger")).toBe(undefined)
      call.hedged(0, "Stagger")
    }
  })

  for (const [name, schedule, delay] of [
    ["come back to a hedge that was refused, after the delay", HedgeSchedule.fixed(80), 80],
    ["leave one that would be due at once to a failure", HedgeSchedule.parallel, Infinity]
  ] as const) {
    it(name, () => {
      const call = begin(schedule)
      call.refusal(0, "Stagger")
      expect(call.delay()).toBe(delay)
    })
  }

  it("let a failure launch the next attempt while the schedule warms up", () => {
    const call = begin(HedgeSchedule.quantile(0.9, { estimator: LatencyEstimator.unsafeMake() }))
    expect(call.refusal(0, "Stagger")).toBe("WarmUp")
    expect(call.refusal(0, "Failure")).toBe(undefined)
  })

  for (const [target, leastInFlight, reason] of [
    ["idle", 0, undefined],
    ["idle", 1, "NoDistinctTarget"],
    ["idle", undefined, "NoDistinctTarget"],
    ["any", 7, undefined],
    ["any", undefined, "NoDistinctTarget"]
  ] as const) {
    it(`with the target "${target}", where the least in flight is ${leastInFlight}: ${reason ?? "sent"}`, () => {
      const call = begin(HedgeSchedule.fixed(80), { target })
      expect(call.refusal(0, "Stagger", () => leastInFlight)).toBe(reason)
    })
  }

  it("tell the throttle of each outcome, which said no do-not-retry, and of hedges that end", () => {
    const told: Array<unknown> = []
    const throttle = HedgeThrottle.make({
      name: "told",
      refusedBy: () => undefined,
      take: () => told.push("take"),
      onCall: () => told.push("call"),
      onOutcome: (outcome, doNotRetry) => told.push([outcome, doNotRetry]),
      onHedgeEnd: () => told.push("end")
    })
    const call = begin(HedgeSchedule.fixed(80), { throttle })
    call.hedged(80, "Stagger")
    call.ended(90, 0, "NonFatal")
    call.ended(100, 1, "Win")
    call.settled(100, 1)
    call.hedgeUnwound()
    expect(told).toStrictEqual(["call", "take", ["NonFatal", false], ["Win", false], "end"])
  })

  it("have nobody to tell of a hedge's end where the throttle does not ask", () => {
    const call = begin(HedgeSchedule.fixed(80), { throttle: HedgeThrottle.unlimited })
    expect(() => call.hedgeUnwound()).not.toThrow()
  })

  it("go on with the first delay that was learned after a failure has launched a hedge", () => {
    const estimator = LatencyEstimator.unsafeMake()
    for (const elapsed of draws(w1, 1000, 40)) LatencyEstimator.unsafeRecord(estimator, 0, { elapsed })
    const schedule = HedgeSchedule.budgeted({ extraLoad: 0.2, objective: 0.999, holdout: 0, estimator })
    const delayAfter = (...reasons: ReadonlyArray<"Stagger" | "Failure">) => {
      const call = begin(schedule)
      for (const reason of reasons) call.hedged(0, reason)
      return call.delay()
    }
    const first = delayAfter()
    expect(delayAfter("Failure")).toBe(first)
    expect(delayAfter("Stagger")).not.toBe(first)
  })
})

describe("a schedule of a quantile", () => {
  for (const [q, samples] of [
    [0.5, 200],
    [0.9, 200],
    [0.99, 1000]
  ] as const)
    it(`warms up for ${samples} calls before it hedges those that are later than ${q} of them`, () => {
      const estimator = LatencyEstimator.unsafeMake()
      const schedule = HedgeSchedule.quantile(q, { estimator })
      const refusal = () => begin(schedule).refusal(0, "Stagger")
      for (let i = 1; i < samples; i++) LatencyEstimator.unsafeRecord(estimator, 0, { elapsed: 10 })
      expect(refusal()).toBe("WarmUp")
      LatencyEstimator.unsafeRecord(estimator, 0, { elapsed: 10 })
      expect(refusal()).toBe(undefined)
    })

  it("may be held to a single delay", () => {
    const estimator = LatencyEstimator.unsafeMake()
    for (const elapsed of draws(w1, 1000, 42)) LatencyEstimator.unsafeRecord(estimator, 0, { elapsed })
    expect(begin(HedgeSchedule.quantile(0.9, { min: 80, max: 80, estimator })).delay()).toBe(80)
  })
})

describe("decisions are refused", () => {
  for (const [name, make, field, allowed] of [
    [
      "under a schedule that is not answered synchronously",
      () => HedgePolicy.unsafeBegin(HedgePolicy.make({ schedule: Schedule.spaced(1) }), 0),
      "schedule",
      "of HedgeSchedule"
    ],
    [
      "at a time that is none",
      () => HedgePolicy.unsafeBegin(policyOf(HedgeSchedule.parallel), Number.NaN),
      "now",
      "a time"
    ]
  ] as const) {
    it(name, () => {
      expect(make).toThrowError(
        expect.objectContaining({ field, allowed: expect.stringContaining(allowed) as unknown })
      )
    })
  }
})
