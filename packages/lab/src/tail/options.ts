/** From what a user typed to settings, or to an error that names the option, the value and what is allowed. */
import { Either, Option } from "effect"
import {
  above,
  between,
  duration,
  fail,
  number,
  type Parsed,
  parse,
  refuse,
  wholeNumber
} from "../optionValues.js"
import { type Hedging, type Latency, type Range, type Settings, type Target, transports } from "./settings.js"
import * as Url from "./url.js"

/** The options as typed; a flag that was not given is absent. */
export interface Raw {
  readonly requests: Option.Option<string>
  readonly rate: Option.Option<string>
  readonly burst: boolean
  readonly fanOut: Option.Option<string>
  readonly adaptive: boolean
  readonly delay: Option.Option<string>
  readonly maxAttempts: Option.Option<string>
  readonly extraLoad: Option.Option<string>
  readonly timeout: Option.Option<string>
  readonly seed: Option.Option<string>
  readonly url: Option.Option<string>
  readonly distribution: Option.Option<string>
  readonly fast: Option.Option<string>
  readonly slow: Option.Option<string>
  readonly slowShare: Option.Option<string>
  readonly mean: Option.Option<string>
  readonly sd: Option.Option<string>
  readonly slowFactor: Option.Option<string>
  readonly keepsWorking: boolean
  readonly client: Option.Option<string>
}

/** A cold burst is measured this often; a load at a rate, long enough by itself, once. */
const burstRounds = 3

/** Calls before a measurement at a rate, so that compilers and connections are warm, and how long they may take. */
const warmUpCalls = 200
const warmUpSeconds = 2

const maxMinutes = 60

export const settings = (raw: Raw): Parsed<Settings> =>
  Either.gen(function* () {
    const calls = yield* wholeNumber(
      "requests",
      raw.requests,
      raw.burst ? 1_000 : 3_000,
      1,
      raw.burst ? 20_000 : 1_000_000
    )
    if (raw.burst) yield* refuse("rate", raw.rate, "not with --burst, which sends everything at once")
    const rate = yield* number("rate", raw.rate, 500, above(0, 100_000))
    if (!raw.burst && calls / rate > maxMinutes * 60) {
      const least = Math.ceil((calls / (maxMinutes * 60)) * 1_000) / 1_000
      return yield* fail(
        "rate",
        String(rate),
        `must be at least ${least} for ${calls} calls, which may take an hour at most`
      )
    }
    const fanOut = yield* wholeNumber("fan-out", raw.fanOut, 1, 1, calls)
    if (calls % fanOut !== 0) {
      const next = Math.ceil(calls / fanOut) * fanOut
      return yield* fail(
        "requests",
        String(calls),
        `must be a multiple of --fan-out ${fanOut}, ${next} for example`
      )
    }
    return {
      target: yield* target(raw),
      transport: yield* parse("client", raw.client, "undici", `must be ${transports.join(" or ")}`, (text) =>
        transports.find((transport) => transport === text)
      ),
      load: { calls, rate: raw.burst ? null : rate, fanOut },
      hedging: yield* hedging(raw),
      timeoutMs: Option.isSome(raw.timeout) ? yield* duration("timeout", raw.timeout, 0, 1) : null,
      warmUp: raw.burst ? 0 : Math.min(warmUpCalls, Math.ceil(rate * warmUpSeconds)),
      rounds: raw.burst ? burstRounds : 1
    }
  })

const hedging = (raw: Raw): Parsed<Hedging> =>
  Either.gen(function* () {
    if (!raw.adaptive) {
      return {
        delayMs: yield* duration("delay", raw.delay, 80, 0),
        maxAttempts: yield* wholeNumber("max-attempts", raw.maxAttempts, 3, 2, 16),
        extraLoad: yield* number("extra-load", raw.extraLoad, 0.2, above(0, 15))
      }
    }
    yield* refuse("delay", raw.delay, "not with --adaptive, which learns the delay")
    if (raw.burst) {
      yield* fail("adaptive", undefined, "not with --burst, which is over before anything can be learned")
    }
    return {
      delayMs: null,
      maxAttempts: yield* wholeNumber("max-attempts", raw.maxAttempts, 2, 2, 16),
      extraLoad: yield* number("extra-load", raw.extraLoad, 0.2, above(0, 1))
    }
  })

/** They say how long the experiment's own server takes. */
const ownServerOptions = [
  "distribution",
  "fast",
  "slow",
  "slow-share",
  "mean",
  "sd",
  "slow-factor",
  "seed"
] as const

const target = (raw: Raw): Parsed<Target> =>
  Option.match(raw.url, {
    onNone: () =>
      Either.gen(function* () {
        return {
          _tag: "Own" as const,
          latency: yield* latency(raw),
          seed: yield* wholeNumber("seed", raw.seed, 1, 0, 2 ** 31 - 1),
          keepsWorking: raw.keepsWorking
        }
      }),
    onSome: (url) =>
      Either.gen(function* () {
        for (const option of ownServerOptions) {
          yield* refuse(
            option,
            raw[camelCase(option)],
            "not with --url, whose server takes the time it takes"
          )
        }
        if (raw.keepsWorking)
          yield* fail("keeps-working", undefined, "not with --url, whose server does as it does")
        return Url.parse(url) ?? (yield* fail("url", Url.withoutCredentials(url), Url.allowed))
      })
  })

const latency = (raw: Raw): Parsed<Latency> =>
  Either.gen(function* () {
    const distribution = Option.getOrElse(raw.distribution, () => "uniform")
    if (distribution === "uniform") {
      for (const option of ["mean", "sd", "slow-factor"] as const) {
        yield* refuse(option, raw[camelCase(option)], "only with --distribution log-normal")
      }
      return {
        _tag: "Uniform" as const,
        fast: yield* range("fast", raw.fast, { min: 10, max: 50 }),
        slow: yield* range("slow", raw.slow, { min: 500, max: 1_000 }),
        slowShare: yield* number("slow-share", raw.slowShare, 0.1, between(0, 1))
      }
    }
    if (distribution !== "log-normal") {
      return yield* fail("distribution", distribution, "must be uniform or log-normal")
    }
    for (const option of ["fast", "slow"] as const) {
      yield* refuse(option, raw[option], "only with --distribution uniform")
    }
    return {
      _tag: "LogNormal" as const,
      mean: yield* number("mean", raw.mean, 5, above(0, 60_000)),
      sd: yield* number("sd", raw.sd, 2, above(0, 60_000)),
      slowShare: yield* number("slow-share", raw.slowShare, 0.05, between(0, 1)),
      slowFactor: yield* number("slow-factor", raw.slowFactor, 10, above(0, 1_000))
    }
  })

const range = (option: string, typed: Option.Option<string>, otherwise: Range): Parsed<Range> =>
  parse(
    option,
    typed,
    otherwise,
    "must be milliseconds as MIN-MAX, 10-50 for example, at most 60,000",
    (text) => {
      const [, min, max] = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text) ?? []
      const parsed = { min: Number(min), max: Number(max) }
      return parsed.min <= parsed.max && parsed.max <= 60_000 ? parsed : undefined
    }
  )

const camelCase = <S extends string>(option: S) =>
  option.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase()) as CamelCase<S>

type CamelCase<S extends string> = S extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : S
