/** From what a user typed to settings, or to an error that names the option, the value and what is allowed. */
import { Either, Option } from "effect"
import {
  above,
  between,
  duration,
  fail,
  number,
  numbers,
  oneOf,
  type Parsed,
  parse,
  refuse,
  wholeNumber
} from "../optionValues.js"
import { typedAs } from "../words.js"
import {
  type Balancer,
  type Cancellation,
  type Cluster,
  type Hedging,
  type Load,
  rateFor,
  type Settings,
  type Slowdown
} from "./settings.js"
import * as Workload from "./workload.js"

type Typed = Option.Option<string>

/** The options as typed; a flag that was not given is absent. */
export interface Raw {
  readonly workload: Typed
  readonly slowShare: Typed
  readonly mu: Typed
  readonly sigma: Typed
  readonly shape: Typed
  readonly scale: Typed
  readonly servers: Typed
  readonly balancer: Typed
  readonly utilisation: ReadonlyArray<string>
  readonly rate: Typed
  readonly cancel: Typed
  readonly slowdown: Typed
  readonly slowServers: Typed
  readonly slowFrom: Typed
  readonly slowFor: Typed
  readonly calls: Typed
  readonly extraLoad: Typed
  readonly objective: Typed
  readonly delay: Typed
  readonly seed: Typed
}

export const settings = (raw: Raw): Parsed<Settings> =>
  Either.gen(function* () {
    const load = yield* workload(raw)
    const servers = yield* parse(
      "servers",
      raw.servers,
      16,
      "must be a whole number from 2 to 1,000, or unlimited",
      (text) => {
        const n = text === "unlimited" ? Infinity : Number(text)
        return n === Infinity || (Number.isInteger(n) && n >= 2 && n <= 1000) ? n : undefined
      }
    )
    const swept = yield* loads(raw, servers, load)
    const served = yield* cluster(raw, servers)
    return {
      workload: load,
      cluster: served,
      loads: swept,
      calls: yield* calls(raw, swept, served.slowdown),
      hedging: yield* hedging(raw),
      seed: yield* seed(raw.seed)
    }
  })

/** Enough of them to see what comes after a slowdown. */
const calls = (raw: Raw, swept: ReadonlyArray<Load>, slow: Slowdown | undefined): Parsed<number> =>
  Either.gen(function* () {
    const n = yield* wholeNumber("calls", raw.calls, 50_000, 1000, 1_000_000)
    const fastest = Math.max(...swept.map(({ rate }) => rate))
    const least =
      slow === undefined ? 0 : Math.ceil((((slow.to + leastAfterMs) / 1000) * fastest) / 1000) * 1000
    return n >= least
      ? n
      : yield* fail("calls", String(n), `must be at least ${least}, so that there is time after the slowdown`)
  })

const leastAfterMs = 10_000

export const seed = (typed: Typed): Parsed<number> => wholeNumber("seed", typed, 1, 0, 2 ** 31 - 1)

/** With `--suite` there is nothing to choose but the seed. */
export const suiteSeed = ({ seed: typedSeed, utilisation, ...others }: Raw): Parsed<number> =>
  Either.gen(function* () {
    const why = "not with --suite, which says itself what it simulates"
    for (const [key, typed] of Object.entries(others)) {
      yield* refuse(typedAs(key), typed, why)
    }
    yield* refuse("utilisation", Option.fromNullable(utilisation[0]), why)
    return yield* seed(typedSeed)
  })

// --- what is served ----------------------------------------------------------------------------------------------------

/** By name, with how many of their requests are slow unless it is said. */
const mixtures = {
  pauses: { make: Workload.pauses, slowShare: 0.02 },
  stragglers: { make: Workload.stragglers, slowShare: 0.01 },
  w1: { make: Workload.w1, slowShare: 0.08 },
  w2: { make: Workload.w2, slowShare: 0.05 }
}

const mixtureNames = ["pauses", "stragglers", "w1", "w2"] as const
const workloadNames = [...mixtureNames, "log-normal", "pareto"] as const

const workload = (raw: Raw): Parsed<Workload.Workload> =>
  Either.gen(function* () {
    const name = yield* oneOf("workload", raw.workload, workloadNames, "pauses")
    if (name !== "log-normal") {
      yield* refuse("mu", raw.mu, "only with --workload log-normal")
      yield* refuse("sigma", raw.sigma, "only with --workload log-normal")
    }
    if (name !== "pareto") {
      yield* refuse("shape", raw.shape, "only with --workload pareto")
      yield* refuse("scale", raw.scale, "only with --workload pareto")
    }
    if (name !== "log-normal" && name !== "pareto") {
      const { make, slowShare } = mixtures[name]
      return make(yield* number("slow-share", raw.slowShare, slowShare, between(0, 1)))
    }
    yield* refuse("slow-share", raw.slowShare, `only with --workload ${mixtureNames.join(", ")}`)
    return name === "pareto"
      ? Workload.pareto(
          yield* number("shape", raw.shape, 1.1, above(1, 100)),
          yield* number("scale", raw.scale, 2, above(0, 60_000))
        )
      : Workload.logNormal(
          yield* number("mu", raw.mu, 1, between(-5, 10)),
          yield* number("sigma", raw.sigma, 1, above(0, 3))
        )
  })

// --- who serves it -----------------------------------------------------------------------------------------------------

const balancers: ReadonlyArray<Balancer> = ["p2c", "random", "round-robin"]
const cancellations: ReadonlyArray<Cancellation> = ["all", "queued", "none"]

const cluster = (raw: Raw, servers: number): Parsed<Cluster> =>
  Either.gen(function* () {
    if (servers === Infinity) {
      for (const option of ["balancer", "cancel"] as const) {
        yield* refuse(option, raw[option], "not with --servers unlimited, where no request meets another")
      }
    }
    return {
      servers,
      balancer: yield* oneOf("balancer", raw.balancer, balancers, "p2c"),
      cancellation: yield* oneOf("cancel", raw.cancel, cancellations, "all"),
      slowdown: yield* slowdown(raw, servers)
    }
  })

const slowdown = (raw: Raw, servers: number): Parsed<Slowdown | undefined> =>
  Either.gen(function* () {
    if (Option.isNone(raw.slowdown)) {
      yield* refuse("slow-servers", raw.slowServers, "only with --slowdown")
      yield* refuse("slow-from", raw.slowFrom, "only with --slowdown")
      yield* refuse("slow-for", raw.slowFor, "only with --slowdown")
      return undefined
    }
    if (servers === Infinity) {
      yield* refuse("slow-servers", raw.slowServers, "not with --servers unlimited, which all become slow")
    }
    const from = yield* duration("slow-from", raw.slowFrom, 20_000, 1000)
    return {
      factor: yield* number("slowdown", raw.slowdown, 1, above(0, 1000)),
      servers:
        servers === Infinity
          ? Infinity
          : yield* wholeNumber("slow-servers", raw.slowServers, servers, 1, servers),
      from,
      to: from + (yield* duration("slow-for", raw.slowFor, 10_000, 1))
    }
  })

const loads = (raw: Raw, servers: number, load: Workload.Workload): Parsed<ReadonlyArray<Load>> =>
  Either.gen(function* () {
    if (servers === Infinity) {
      const [typed] = raw.utilisation
      yield* refuse("utilisation", Option.fromNullable(typed), "not with --servers unlimited; give a --rate")
      return [{ utilisation: null, rate: yield* number("rate", raw.rate, 1000, above(0, 100_000)) }]
    }
    yield* refuse("rate", raw.rate, "only with --servers unlimited; give a --utilisation")
    const given = yield* numbers("utilisation", raw.utilisation, above(0, 2))
    const swept = given.length > 0 ? given : [0.5, 0.6, 0.7, 0.8, 0.9]
    return swept.map((utilisation) => ({ utilisation, rate: rateFor(utilisation, servers, load) }))
  })

// --- what hedges it ----------------------------------------------------------------------------------------------------

const objectives = { p90: 0.9, p95: 0.95, p99: 0.99, "p99.9": 0.999 }

const hedging = (raw: Raw): Parsed<Hedging> =>
  Either.gen(function* () {
    const extraLoad = yield* number("extra-load", raw.extraLoad, 0.1, above(0, 1))
    if (Option.isSome(raw.delay)) {
      yield* refuse("objective", raw.objective, "not with --delay, which aims at nothing")
      return { _tag: "Fixed" as const, extraLoad, delayMs: yield* duration("delay", raw.delay, 0, 1) }
    }
    const objective = yield* oneOf("objective", raw.objective, ["p90", "p95", "p99", "p99.9"] as const, "p99")
    return { _tag: "Adaptive" as const, extraLoad, objective: objectives[objective] }
  })
