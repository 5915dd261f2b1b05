import { Either, Option } from "effect"
import { describe, expect, it } from "vitest"
import { type Raw, settings, suiteSeed } from "../../src/simulate/options.js"

const single = [
  "workload",
  "slowShare",
  "mu",
  "sigma",
  "shape",
  "scale",
  "servers",
  "balancer",
  "rate",
  "cancel",
  "slowdown",
  "slowServers",
  "slowFrom",
  "slowFor",
  "calls",
  "extraLoad",
  "objective",
  "delay",
  "seed"
] as const

type Typed = { readonly [K in (typeof single)[number]]?: string } & { readonly utilisation?: Array<string> }

const rawOf = ({ utilisation = [], ...typed }: Typed): Raw =>
  ({
    ...Object.fromEntries(single.map((key) => [key, Option.fromNullable(typed[key])])),
    utilisation
  }) as unknown as Raw

const accepted = (typed: Typed) => Either.getOrThrowWith(settings(rawOf(typed)), (error) => error)
const refusal = (typed: Typed) =>
  Either.match(settings(rawOf(typed)), { onLeft: (error) => error.message, onRight: () => "" })

describe("what is not given", () => {
  it("is 50,000 calls at each of five loads, to 16 servers that pause now and then, at 10 % extra load", () => {
    const { calls, cluster, hedging, loads, seed, workload } = accepted({})
    expect({ calls, cluster, hedging, seed, name: workload.name }).toEqual({
      calls: 50_000,
      cluster: { servers: 16, balancer: "p2c", cancellation: "all", slowdown: undefined },
      hedging: { _tag: "Adaptive", extraLoad: 0.1, objective: 0.99 },
      seed: 1,
      name: "pauses"
    })
    expect(loads.map(({ utilisation }) => utilisation)).toEqual([0.5, 0.6, 0.7, 0.8, 0.9])
    expect(loads[1]!.rate / loads[0]!.rate).toBeCloseTo(1.2, 9)
  })
})

describe("what is given", () => {
  it("is a slowdown of some servers for a while", () => {
    const typed = { slowdown: "2.5", slowServers: "4", slowFrom: "5s", slowFor: "3s" }
    expect(accepted({ ...typed, utilisation: ["0.55"] }).cluster.slowdown).toEqual({
      factor: 2.5,
      servers: 4,
      from: 5000,
      to: 8000
    })
  })

  it("is a rate, where servers are unlimited", () => {
    expect(accepted({ servers: "unlimited", rate: "500" }).loads).toEqual([{ utilisation: null, rate: 500 }])
  })

  it("is a delay that is not learned", () => {
    expect(accepted({ delay: "40ms" }).hedging).toEqual({ _tag: "Fixed", extraLoad: 0.1, delayMs: 40 })
  })

  it("is a workload, with a share of slow requests of its own", () => {
    const shares = (typed: Typed) => accepted(typed).workload.parts.map(({ share }) => share)
    expect(shares({ workload: "w1" })[1]).toBe(0.08)
    expect(shares({ workload: "w1", slowShare: "0.2" })[1]).toBe(0.2)
    expect(shares({ workload: "log-normal", sigma: "0.5" })).toEqual([1])
  })
})

describe("what makes no sense is refused by name, with what is allowed", () => {
  it.each([
    [{ workload: "w3" }, "--workload w3: must be one of pauses, stragglers, w1, w2, log-normal, pareto"],
    [{ mu: "1" }, "--mu 1: only with --workload log-normal"],
    [{ workload: "w1", shape: "2" }, "--shape 2: only with --workload pareto"],
    [
      { workload: "pareto", slowShare: "0.1" },
      "--slow-share 0.1: only with --workload pauses, stragglers, w1, w2"
    ],
    [{ workload: "pareto", shape: "1" }, "--shape 1: must be a number above 1 and at most 100"],
    [{ servers: "1" }, "--servers 1: must be a whole number from 2 to 1,000, or unlimited"],
    [{ balancer: "best" }, "--balancer best: must be one of p2c, random, round-robin"],
    [{ cancel: "some" }, "--cancel some: must be one of all, queued, none"],
    [{ utilisation: ["0.5", "0"] }, "--utilisation 0: must be a number above 0 and at most 2"],
    [{ rate: "100" }, "--rate 100: only with --servers unlimited; give a --utilisation"],
    [
      { servers: "unlimited", utilisation: ["0.5"] },
      "--utilisation 0.5: not with --servers unlimited; give a --rate"
    ],
    [
      { servers: "unlimited", balancer: "p2c" },
      "--balancer p2c: not with --servers unlimited, where no request meets another"
    ],
    [{ slowFor: "5s" }, "--slow-for 5s: only with --slowdown"],
    [{ slowdown: "2", slowServers: "17" }, "--slow-servers 17: must be a whole number from 1 to 16"],
    [
      { slowdown: "2", calls: "20000" },
      "--calls 20000: must be at least 39000, so that there is time after the slowdown"
    ],
    [{ calls: "10" }, "--calls 10: must be a whole number from 1,000 to 1,000,000"],
    [{ extraLoad: "0" }, "--extra-load 0: must be a number above 0 and at most 1"],
    [{ objective: "p50" }, "--objective p50: must be one of p90, p95, p99, p99.9"],
    [{ delay: "40", objective: "p99" }, "--objective p99: not with --delay, which aims at nothing"]
  ] as const)("%j", (typed, message) => {
    expect(refusal(typed as unknown as Typed)).toBe(message)
  })

  it("beside --suite, which takes a seed and nothing else", () => {
    const why = (typed: Typed) =>
      Either.match(suiteSeed(rawOf(typed)), { onLeft: (error) => error.message, onRight: String })
    expect(why({ seed: "4" })).toBe("4")
    expect(why({ slowShare: "0.1" })).toBe(
      "--slow-share 0.1: not with --suite, which says itself what it simulates"
    )
    expect(why({ utilisation: ["0.5"] })).toBe(
      "--utilisation 0.5: not with --suite, which says itself what it simulates"
    )
  })
})
