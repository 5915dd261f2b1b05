import { readdirSync, readFileSync } from "node:fs"
import { afterEach, describe, expect, it, vi } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { Hedge, HedgeSchedule, HedgeThrottle } from "effect-hedge"

const sources = new URL("../src/", import.meta.url)

const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter((file) =>
  file.endsWith(".ts")
)

/** A source without its comments, whose examples may import what they like. */
const codeOf = (file: string): string =>
  readFileSync(new URL(file, sources), "utf8")
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/^\s*\/\/.*$/gm, "")

describe("effect-hedge runs wherever Effect does:", () => {
  it("there are sources to look at", () => {
    expect(files.length).toBeGreaterThan(20)
    expect(files).toContain("internal/call.ts")
  })

  for (const file of files) {
    it(`${file} imports nothing but effect and its neighbours, and names no global of one host`, () => {
      const code = codeOf(file)
      const imported = [...code.matchAll(/(?:from|import|require)\s*\(?\s*["']([^"']+)["']/g)].map(
        ([, from]) => from!
      )
      for (const from of imported) expect(from).toMatch(/^(effect(\/\w+)?|\.{1,2}\/[\w/]+\.js)$/)
      expect(code).not.toMatch(/\b(process|Buffer|require|__dirname|window|document|Deno|Bun)\s*[.(]/)
      // the one that not every host has is asked for, through an object in which it may be missing
      expect(code).not.toMatch(/(^|[^.\w])setImmediate\s*\(/m)
    })
  }
})

describe("on a host without setImmediate", () => {
  afterEach(() => vi.unstubAllGlobals())

  for (const [name, schedule] of [
    ["a HedgeSchedule", HedgeSchedule.fixed("10 millis")],
    ["an ordinary schedule", Schedule.spaced("10 millis")]
  ] as const) {
    it(`a hedge is sent after its stagger and wins, by ${name}`, async () => {
      vi.stubGlobal("setImmediate", undefined)
      const attempt = Hedge.hedgeWith(({ index }) => (index === 1 ? Effect.succeed(index) : Effect.never), {
        schedule,
        throttle: HedgeThrottle.unlimited
      })
      expect(await Effect.runPromise(attempt)).toBe(1)
    })
  }
})
