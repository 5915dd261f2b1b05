import { Options } from "@effect/cli"
import { Either } from "effect"
import { describe, expect, it } from "vitest"
import { asksForHelp, check, dashLast, joinDurations, splitValues } from "../src/words.js"

const declared = {
  rate: Options.optional(Options.text("rate")),
  burst: Options.boolean("burst"),
  where: Options.repeated(Options.text("where"))
}

const refusal = (...words: ReadonlyArray<string>) =>
  Either.match(check(declared, words), { onLeft: (error) => error.message, onRight: () => "" })

describe("words of a command line", () => {
  it("a number and a unit of time become one", () => {
    expect(joinDurations(["--delay", "80", "millis", "--burst"])).toEqual(["--delay", "80 millis", "--burst"])
    expect(joinDurations(["--delay", "2", "hours"])).toEqual(["--delay", "2 hours"])
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

  it("help is asked for anywhere but as an option's value", () => {
    expect(asksForHelp(declared, ["--rate", "5", "--help"])).toBe(true)
    expect(asksForHelp(declared, ["-h"])).toBe(true)
    expect(asksForHelp(declared, ["--where", "--help"])).toBe(false)
  })

  it.each([
    [["--rat", "5"], "--rat: there is no such option; --help lists them"],
    [["-r", "5"], "-r: there is no such option; --help lists them"],
    [["--toString", "5"], "--toString: there is no such option; --help lists them"],
    [["--burst", "--rate"], "--rate: needs a value; --help says which"],
    [["--rate=", "--burst"], "--rate: needs a value; --help says which"],
    [["--rate", "--burst"], "--rate: needs a value; --help says which"],
    [["--burst=5"], "--burst: takes no value"],
    [["--rate", "5", "--rate=6"], "--rate: may be given only once"],
    [["--burst", "--burst"], "--burst: may be given only once"],
    [["--wizard"], "--wizard: there is no such option; --help lists them"],
    [["--log-level", "all"], "--log-level: there is no such option; --help lists them"],
    [["--completions"], "--completions: needs a value; --help says which"],
    [["--completions", "tcsh"], "--completions: must be one of sh, bash, fish, zsh, not tcsh"]
  ])("%j is refused by name", (words, message) => {
    expect(refusal(...words)).toBe(message)
  })

  it.each([
    [["--rate", "5", "--burst", "--version"]],
    [["--rate=5", "--burst=true"]],
    [["--rate", "-5"]],
    [["--completions", "bash"]],
    [["--where", "a", "--where=b", "--where", "--rat"]]
  ])("%j is left to the parser", (words) => {
    expect(refusal(...words)).toBe("")
  })
})
