import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { Hedge, HedgeEvent, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"

const schedule = HedgeSchedule.fixed("80 millis")

/** What JavaScript can pass where TypeScript would not let it. */
const nonsense: ReadonlyArray<readonly [what: string, make: () => unknown, field: string]> = [
  ["an effect that is a number", () => Hedge.hedge(5 as never, { schedule }), "effect"],
  ["an effect that is a number, last", () => Hedge.hedge({ schedule })(5 as never), "effect"],
  ["an effect that is missing", () => Hedge.withPolicy(undefined as never), "effect"],
  ["a scoped effect that is a text", () => Hedge.hedgeScoped("text" as never, { schedule }), "effect"],
  ["attempts that are no function", () => Hedge.hedgeWith(Effect.void as never, { schedule }), "f"],
  ["options that are missing", () => HedgePolicy.make(undefined as never), "options"],
  ["a schedule that is missing", () => HedgePolicy.make({} as never), "schedule"],
  [
    "an option that does not exist",
    () => HedgePolicy.make({ schedule, maxAttempt: 3 } as never),
    "maxAttempt"
  ],
  ["an option that is null", () => HedgePolicy.make({ schedule, maxAttempts: null } as never), "maxAttempts"],
  ["a burst that is null", () => HedgeThrottle.loadBudget({ extraLoad: 1, burst: null } as never), "burst"],
  ["a tag without an id", () => HedgePolicy.Tag("" as never), "id"],
  ["a listener without a function", () => HedgeEvent.layer({} as never), "onEvent"],
  [
    "a listener whose spanOf is none",
    () => HedgeEvent.layer({ onEvent: () => {}, spanOf: 5 } as never),
    "spanOf"
  ],
  ["a throttle without a name", () => HedgeThrottle.make({} as never), "name"],
  ["a throttle that cannot be asked", () => HedgeThrottle.make({ name: "mine" } as never), "refusedBy"],
  ["a budget of nothing", () => HedgeThrottle.loadBudget(undefined as never), "options"],
  ["a bucket of nothing", () => HedgeThrottle.tokenBucket(null as never), "options"]
]

describe("nonsense is refused with its field, its value and what is allowed:", () => {
  it.each(nonsense)("%s", (_, make, field) => {
    try {
      make()
    } catch (error) {
      expect(error).toBeInstanceOf(HedgePolicy.HedgePolicyError)
      expect(error).toMatchObject({ field, allowed: expect.any(String) })
      return
    }
    expect.unreachable("it was accepted")
  })

  it.effect.each([null, false, "", 5])("a gate's answer that is no reason fails the call", (answer) =>
    Effect.gen(function* () {
      const failing = Effect.fail("no")
      const policy = { schedule, throttle: HedgeThrottle.unlimited, gates: [() => answer as never] }
      const exit = yield* Effect.exit(Hedge.hedge(failing, policy))
      expect(Exit.isFailure(exit) && Cause.pretty(exit.cause)).toContain("a gate answered")
    })
  )
})
