import { Either, Option } from "effect"
import { describe, expect, it } from "vitest"
import { type Raw, settings } from "../../src/plan/options.js"

const nothing: Raw = {
  format: Option.none(),
  column: Option.none(),
  unit: Option.none(),
  key: Option.none(),
  pair: Option.none(),
  where: [],
  all: false,
  extraLoad: [],
  fanOut: [],
  objective: Option.none()
}

type Typed = { readonly [K in keyof Raw]?: Raw[K] extends Option.Option<string> ? string : Raw[K] }

const parse = (typed: Typed) => {
  const given = Object.entries(typed).map(([key, value]) => [
    key,
    typeof value === "string" ? Option.some(value) : value
  ])
  return settings({ ...nothing, ...Object.fromEntries(given) })
}

const refusal = (typed: Typed) =>
  Either.match(parse(typed), { onLeft: (error) => error.message, onRight: () => "" })
const accepted = (typed: Typed) => Either.getOrThrowWith(parse(typed), (error) => error)

describe("goals", () => {
  it("are P99 at 1, 2, 5, 10 and 20 %, if nothing is given", () => {
    expect(accepted({}).goals).toEqual({
      objective: "p99",
      extraLoads: [0.01, 0.02, 0.05, 0.1, 0.2],
      fanOuts: []
    })
  })

  it("may be more budgets, pages, and another percentile", () => {
    expect(
      accepted({ extraLoad: ["0.03", "0.5", "0.05"], fanOut: ["10"], objective: "p99.9" }).goals
    ).toEqual({
      objective: "p999",
      extraLoads: [0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5],
      fanOuts: [10]
    })
  })
})

describe("conditions", () => {
  it.each([
    ["status=200", 200, true],
    ["status=200", "200", true],
    ["status!=200", undefined, true],
    ["path~^/api", "/api/x", true],
    ["path!~^/api", "/api/x", false],
    ["size<1000", "999", true],
    ["size>=1000", 999, false],
    ["size>0", undefined, false],
    ["note=a=b", "a=b", true]
  ])("%s of %j is %s", (condition, value, expected) => {
    expect(accepted({ where: [condition] }).ask.where[0]!.holds(value)).toBe(expected)
  })
})

describe("a wrong option is refused by name, value and what is allowed", () => {
  it.each<[Typed, string]>([
    [
      { format: "xml" },
      "--format xml: must be one of har, k6, vegeta, jmeter, locust, otlp, zipkin, prometheus"
    ],
    [{ unit: "days" }, "--unit days: must be one of ns, us, ms, s, min"],
    [{ column: " " }, '--column " ": must name a field of the record'],
    [{ key: "" }, '--key "": must name a field of the record'],
    [{ pair: "a", column: "a" }, "--pair a: must be another column than --column"],
    [{ where: ["status"] }, "--where status: must be FIELD, one of = != ~ !~ < <= > >=, and a value"],
    [{ where: ["path~["] }, "--where path~[: must be FIELD, one of"],
    [{ where: ["size<big"] }, "--where size<big: must be FIELD, one of"],
    [{ extraLoad: ["0"] }, "--extra-load 0: must be a number above 0 and at most 1"],
    [{ extraLoad: ["0.1", "5%"] }, "--extra-load 5%: must be a number above 0 and at most 1"],
    [{ fanOut: ["1"] }, "--fan-out 1: must be a whole number from 2 to 10,000"],
    [{ objective: "p42" }, "--objective p42: must be one of p50, p95, p99, p99.9"]
  ])("%o", (typed, message) => {
    expect(refusal(typed)).toContain(message)
  })
})
