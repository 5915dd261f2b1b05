import { Options } from "@effect/cli"
import { Either } from "effect"
import { describe, expect, it } from "vitest"
import { check, dashLast, joinDurations, splitValues } from "../src/words.js"

const declared = { rate: Options.optional(Options.text("rate")), burst: Options.boolean("burst") }

const refusal = (...words: ReadonlyArray<string>) =>
  Either.match(check(declared, words), { onLeft: (error) => error.message, onRight: () => "" })

describe("words of a command line", () => {
  it("a number and a unit of time become one", () => {
    expect(joinDurations(["--delay", "80", "millis", "--burst"])).toEqual(["--delay", "80 millis", "--burst"])
    expect(joinDurations(["--delay", "80ms", "--rate", "5"])).toEqual(["--delay", "80ms", "--rate", "5"])
  })

  it("an option and its value may be one word, whatever is in the value", () => {
    expect(splitValues(declared, ["a.log", "--rate=x=5", "--burst=true", "--rate"])).toEqual([
      "a.log",
      "--rate",
      "x=5",
      "--burst=true",
      "--rate"
    ])
  })

  it("standard input stands last, unless it is an option's value", () => {
    expect(dashLast(declared, ["-", "--burst", "--rate", "5"])).toEqual(["--burst", "--rate", "5", "-"])
    expect(dashLast(declared, ["--burst", "-", "a"])).toEqual(["--burst", "a", "-"])
    expect(dashLast(declared, ["--rate", "-", "a"])).toEqual(["--rate", "-", "a"])
  })

  it("an option that does not exist is named", () => {
    expect(refusal("--rat", "5")).toBe("--rat: there is no such option; --help lists them")
  })

  it("an option without its value is named", () => {
    expect(refusal("--burst", "--rate")).toBe("--rate: needs a value; --help says which")
    expect(refusal("--rate=", "--burst")).toBe("--rate: needs a value; --help says which")
  })

  it("what is declared, and what every command understands, passes", () => {
    expect(refusal("--rate", "5", "--burst", "--help")).toBe("")
    expect(refusal("--rate=5")).toBe("")
  })
})
