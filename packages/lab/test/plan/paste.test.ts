import { readFileSync } from "node:fs"
import { it } from "@effect/vitest"
import { Effect, Fiber, Random, TestClock } from "effect"
import { Hedge } from "effect-hedge"
import { describe, expect } from "vitest"
import { code } from "../../src/plan/paste.js"
import type { Row } from "../../src/plan/plan.js"
import * as Drawn from "./pasted/drawn.js"

const row = (choice: Partial<Row>): Row => ({
  fanOut: 1,
  extraLoad: 0.1,
  expectedLoad: 0.1,
  delayMs: 49.2,
  probability: 1,
  attempts: 2,
  p50: 1,
  p95: 1,
  p99: 1,
  p999: 1,
  ci: { p50: [1, 1], p95: [1, 1], p99: [1, 1], p999: [1, 1] },
  ...choice
})

const file = (name: string) => readFileSync(new URL(`pasted/${name}.ts`, import.meta.url), "utf8").trimEnd()

describe("the policy as code", () => {
  // the files are compiled with the tests
  it("compiles, for hedges that are always sent", () => {
    expect(code(row({ attempts: 3 }))).toBe(file("always"))
  })

  it("compiles, for hedges that are sent with a probability", () => {
    expect(code(row({ delayMs: 646, probability: 0.871, extraLoad: 0.05 }))).toBe(file("drawn"))
  })

  it("is none where no hedge helps", () => {
    expect(code(row({ attempts: 1, probability: 0 }))).toBeNull()
  })

  for (const [drawn, attempts] of [
    [0.87, 2],
    [0.88, 1]
  ] as const) {
    it.effect(`sends ${attempts - 1} hedges for a call that draws ${drawn}`, () =>
      Effect.gen(function* () {
        let launched = 0
        const slow = Effect.sync(() => launched++).pipe(Effect.zipRight(Effect.sleep("10 seconds")))
        const call = yield* Effect.fork(
          Hedge.hedge(slow, Drawn.policy).pipe(Effect.withRandom(Random.fixed([drawn])))
        )
        yield* TestClock.adjust("645 millis")
        expect(launched).toBe(1)
        yield* TestClock.adjust("9 seconds")
        expect(launched).toBe(attempts)
        yield* Fiber.interrupt(call)
      })
    )
  }
})
