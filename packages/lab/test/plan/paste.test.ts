import { readFileSync } from "node:fs"
import { it } from "@effect/vitest"
import { Clock, Effect, Fiber, type Layer, Option, Random, TestClock } from "effect"
import { Hedge, HedgePolicy } from "effect-hedge"
import { describe, expect } from "vitest"
import { code } from "../../src/plan/paste.js"
import type { Row } from "../../src/plan/plan.js"
import * as Adaptive from "./pasted/adaptive.js"
import * as AdaptiveP999 from "./pasted/adaptiveP999.js"
import * as Always from "./pasted/always.js"
import * as AlwaysTwo from "./pasted/alwaysTwo.js"
import * as Drawn from "./pasted/drawn.js"
import * as DrawnTwo from "./pasted/drawnTwo.js"

const row = (
  extraLoad: number,
  ...hedges: ReadonlyArray<readonly [delayMs: number, probability: number]>
): Row => ({
  fanOut: 1,
  extraLoad,
  expectedLoad: extraLoad,
  delaysMs: hedges.map(([delayMs]) => delayMs),
  probabilities: hedges.map(([, probability]) => probability),
  p50: 1,
  p95: 1,
  p99: 1,
  p999: 1,
  ci: { p50: [1, 1], p95: [1, 1], p99: [1, 1], p999: [1, 1] }
})

const file = (name: string) => readFileSync(new URL(`pasted/${name}.ts`, import.meta.url), "utf8").trimEnd()

/** When attempts of a call that never ends are launched, in milliseconds; every draw has the same result. */
const launches = (layer: Layer.Layer<HedgePolicy.DefaultPolicy>, draw: number) =>
  Effect.gen(function* () {
    const at: Array<number> = []
    const endless = Clock.currentTimeMillis.pipe(
      Effect.tap((now) => Effect.sync(() => at.push(now))),
      Effect.zipRight(Effect.never)
    )
    const call = yield* Effect.fork(
      endless.pipe(Hedge.withPolicy, Effect.provide(layer), Effect.withRandom(Random.fixed([draw])))
    )
    yield* TestClock.adjust("1 second")
    yield* Fiber.interrupt(call)
    return at
  })

// the files are compiled with the tests
describe("the policy as code", () => {
  const always = row(0.1, [50, 1])
  const drawn = row(0.05, [646, 0.871])

  it("is a file that compiles", () => {
    expect(code(always, "p99", false)?.fixed).toBe(file("always"))
    expect(code(row(0.2, [50, 1], [110, 1]), "p99", false)?.fixed).toBe(file("alwaysTwo"))
    expect(code(drawn, "p99", false)?.fixed).toBe(file("drawn"))
    expect(code(row(0.11, [50, 1], [110, 0.4]), "p99", false)?.fixed).toBe(file("drawnTwo"))
    expect(code(always, "p99", false)?.adaptive).toBe(file("adaptive"))
    expect(code(row(0.11, [50, 1], [110, 0.4]), "p999", false)?.adaptive).toBe(file("adaptiveP999"))
  })

  it("is none where no hedge helps, and none that learns where that would do something else", () => {
    expect(code(row(0.1), "p99", false)).toBeNull()
    expect(code(always, "p99", true)?.adaptive).toBeNull()
    expect(code(row(0.2, [50, 1], [110, 1]), "p99", false)?.adaptive).toBeNull()
  })

  it.effect.each([
    ["a hedge after its delay", Always.PolicyLive, 0.99, [0, 50]],
    ["two hedges, each after its own delay", AlwaysTwo.PolicyLive, 0.99, [0, 50, 110]],
    ["a hedge for a call that draws less than its probability", Drawn.PolicyLive, 0.87, [0, 646]],
    ["no hedge for a call that draws more", Drawn.PolicyLive, 0.88, [0]],
    ["the second hedge for some of the calls that had a first", DrawnTwo.PolicyLive, 0.39, [0, 50, 110]],
    ["no second hedge for the others", DrawnTwo.PolicyLive, 0.41, [0, 50]]
  ] as const)("sends %s", ([, layer, draw, expected]) =>
    Effect.gen(function* () {
      expect(yield* launches(layer, draw)).toEqual(expected)
    })
  )

  it.effect.each([
    [Adaptive.PolicyLive, 0.1, 0.99],
    [AdaptiveP999.PolicyLive, 0.11, 0.999]
  ] as const)("learns under the budget of the row", ([layer, extraLoad, objective]) =>
    Effect.flatMap(HedgePolicy.DefaultPolicy, (policy) => HedgePolicy.inspect(policy)).pipe(
      Effect.map((inspection) =>
        expect(Option.getOrThrow(inspection)).toMatchObject({ extraLoad, objective })
      ),
      Effect.provide(layer)
    )
  )
})
