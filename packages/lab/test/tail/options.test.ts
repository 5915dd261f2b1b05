import { Either, Option } from "effect"
import { describe, expect, it } from "vitest"
import { type Raw, settings } from "../../src/tail/options.js"

const nothing: Raw = {
  requests: Option.none(),
  rate: Option.none(),
  burst: false,
  fanOut: Option.none(),
  adaptive: false,
  delay: Option.none(),
  maxAttempts: Option.none(),
  extraLoad: Option.none(),
  timeout: Option.none(),
  seed: Option.none(),
  url: Option.none(),
  distribution: Option.none(),
  fast: Option.none(),
  slow: Option.none(),
  slowShare: Option.none(),
  mean: Option.none(),
  sd: Option.none(),
  slowFactor: Option.none(),
  keepsWorking: false,
  client: Option.none()
}

type Typed = { readonly [K in keyof Raw]?: Raw[K] extends boolean ? boolean : string }

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

describe("what is not given", () => {
  it("is 3,000 calls at 500 a second, hedged after 80 ms, three copies, 20 % extra load", () => {
    expect(accepted({})).toEqual({
      target: {
        _tag: "Own",
        latency: {
          _tag: "Uniform",
          fast: { min: 10, max: 50 },
          slow: { min: 500, max: 1_000 },
          slowShare: 0.1
        },
        seed: 1,
        keepsWorking: false
      },
      load: { calls: 3_000, rate: 500, fanOut: 1 },
      hedging: { delayMs: 80, maxAttempts: 3, extraLoad: 0.2 },
      transport: "undici",
      timeoutMs: null,
      warmUp: 200,
      rounds: 1
    })
  })

  it("is, of a burst, 1,000 calls at once without a warm-up, three times", () => {
    expect(accepted({ burst: true })).toMatchObject({
      load: { calls: 1_000, rate: null },
      warmUp: 0,
      rounds: 3
    })
  })

  it("is, of log-normal latencies, the workload W2", () => {
    expect(accepted({ distribution: "log-normal" }).target).toMatchObject({
      latency: { _tag: "LogNormal", mean: 5, sd: 2, slowShare: 0.05, slowFactor: 10 }
    })
  })
})

describe("a policy that learns its delay", () => {
  it("is told the extra load, and two copies suffice it", () => {
    expect(accepted({ adaptive: true, extraLoad: "0.15" }).hedging).toEqual({
      delayMs: null,
      maxAttempts: 2,
      extraLoad: 0.15
    })
  })
})

describe("credentials in a URL", () => {
  it("become a header, and are not in what is shown", () => {
    expect(accepted({ url: "http://me:p%40ss@x/a?b#c" }).target).toEqual({
      _tag: "Url",
      url: "http://x/a?b",
      authorization: `Basic ${btoa("me:p@ss")}`
    })
    expect(accepted({ url: "http://x/a?b" }).target).toMatchObject({ authorization: null })
  })

  it("are not in an error either", () => {
    expect(refusal({ url: "http://me:p@ss@x:99999/" })).toMatch(/^--url http:\/\/x:99999\/: must be/)
  })
})

describe("a duration", () => {
  it.each([
    ["80", 80],
    ["80ms", 80],
    ["80 millis", 80],
    ["1.5s", 1_500],
    ["2 seconds", 2_000],
    ["1 minute", 60_000]
  ])("may be typed as %s", (typed, ms) => {
    expect(accepted({ delay: typed }).hedging.delayMs).toBe(ms)
  })
})

describe("a wrong option is refused by name, value and what is allowed", () => {
  it.each<[Typed, string]>([
    [{ rate: "0" }, "--rate 0: must be a number above 0 and at most 100,000"],
    [{ client: "fetch" }, "--client fetch: must be undici or lanes"],
    [{ rate: "-5" }, "--rate -5: must be a number above 0 and at most 100,000"],
    [{ rate: "" }, '--rate "": must be a number above 0 and at most 100,000'],
    [{ rate: "NaN" }, "--rate NaN: must be a number above 0 and at most 100,000"],
    [{ requests: "0" }, "--requests 0: must be a whole number from 1 to 1,000,000"],
    [{ requests: "1.5" }, "--requests 1.5: must be a whole number from 1 to 1,000,000"],
    [{ requests: "100000", burst: true }, "--requests 100000: must be a whole number from 1 to 20,000"],
    [{ extraLoad: "-0.1" }, "--extra-load -0.1: must be a number above 0 and at most 15"],
    [{ maxAttempts: "1" }, "--max-attempts 1: must be a whole number from 2 to 16"],
    [
      { delay: "soon" },
      '--delay soon: must be a duration from 0 ms to 1 hour, such as 80, 80ms or "80 millis"'
    ],
    [
      { delay: "2 hours" },
      '--delay "2 hours": must be a duration from 0 ms to 1 hour, such as 80, 80ms or "80 millis"'
    ],
    [
      { timeout: "0" },
      '--timeout 0: must be a duration from 1 ms to 1 hour, such as 80, 80ms or "80 millis"'
    ],
    [{ seed: "x" }, "--seed x: must be a whole number from 0 to 2,147,483,647"],
    [{ rate: "0x10" }, "--rate 0x10: must be a number above 0 and at most 100,000"],
    [{ rate: "0.5" }, "--rate 0.5: must be at least 0.834 for 3000 calls, which may take an hour at most"],
    [{ adaptive: true, delay: "80ms" }, "--delay 80ms: not with --adaptive, which learns the delay"],
    [
      { adaptive: true, burst: true },
      "--adaptive: not with --burst, which is over before anything can be learned"
    ],
    [{ adaptive: true, extraLoad: "1.5" }, "--extra-load 1.5: must be a number above 0 and at most 1"],
    [{ fanOut: "7" }, "--requests 3000: must be a multiple of --fan-out 7, 3003 for example"],
    [{ burst: true, rate: "5" }, "--rate 5: not with --burst, which sends everything at once"],
    ...["ftp://x/", "x", "http:x", "http://", "http://127.0.0.1:99999/", "http://127.0.0.1:0/"].map(
      (url): [Typed, string] => [
        { url },
        `--url ${url}: must be a URL such as http://127.0.0.1:8080/path: http or https, a host, and a port from 1 to 65535 or none`
      ]
    ),
    [
      { url: "http://x/", slowShare: "0.1" },
      "--slow-share 0.1: not with --url, whose server takes the time it takes"
    ],
    [{ url: "http://x/", seed: "3" }, "--seed 3: not with --url, whose server takes the time it takes"],
    [
      { url: "http://x/", keepsWorking: true },
      "--keeps-working: not with --url, whose server does as it does"
    ],
    [{ distribution: "pareto" }, "--distribution pareto: must be uniform or log-normal"],
    [{ mean: "4" }, "--mean 4: only with --distribution log-normal"],
    [{ distribution: "log-normal", fast: "1-2" }, "--fast 1-2: only with --distribution uniform"],
    [{ fast: "50-10" }, "--fast 50-10: must be milliseconds as MIN-MAX, 10-50 for example, at most 60,000"],
    [{ slowShare: "2" }, "--slow-share 2: must be a number from 0 to 1"]
  ])("%o", (typed, message) => {
    expect(refusal(typed)).toBe(message)
  })
})
