import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type { HedgeThrottle, Settings } from "../HedgeThrottle.js"
import {
  aFunction,
  check,
  checkFields,
  name,
  number,
  refuse,
  type Shape,
  type Shapes,
  wholeNumber
} from "./check.js"
import { Lru } from "./lru.js"
import { RecentCount } from "./recentCount.js"
import { nowMillis } from "./runtime.js"

export const TypeId = "~effect-hedge/HedgeThrottle" as const

export const isHedgeThrottle = (u: unknown): u is HedgeThrottle =>
  typeof u === "object" && u !== null && TypeId in u

export const aThrottle: Shape = [isHedgeThrottle, "a HedgeThrottle, such as HedgeThrottle.loadBudget makes"]

/** Made by a function, or a bundler keeps the words: an object with a computed key counts as an effect. */
const questions = /*#__PURE__*/ ((): Shapes<keyof HedgeThrottle> => ({
  name,
  refusedBy: aFunction("from a time to who refuses, or undefined"),
  take: aFunction("of a time"),
  onCall: aFunction("of a time"),
  onOutcome: aFunction("of an outcome and whether it said do-not-retry"),
  onHedgeEnd: aFunction("of nothing"),
  tokens: aFunction("from a time to a number, or undefined"),
  [TypeId]: [(u) => u === TypeId, "what HedgeThrottle.make sets"]
}))()

export const make = (answers: HedgeThrottle.Questions): HedgeThrottle => {
  checkFields("questions", answers, questions, ["name", "refusedBy", "take"])
  return unchecked(answers)
}

/** One that is known to be right: checks, with their words, are no part of a bundle that needs none. */
const unchecked = (answers: HedgeThrottle.Questions): HedgeThrottle => ({ ...answers, [TypeId]: TypeId })

// sums of fractions such as 0.1 must reach a whole token when the arithmetic says so
const epsilon = 1e-9

const extraLoad = /*#__PURE__*/ number(
  (n) => n > 0 && Number.isFinite(n),
  "a number above 0, such as 0.1 for at most 10 % more requests"
)
const burst = /*#__PURE__*/ number((n) => n >= 0 && Number.isFinite(n), "a number of at least 0")

/** The settings of the default throttle. */
const defaults = { extraLoad: 0.2, burst: 10, maxTokens: 100, tokenRatio: 0.1 }

export const loadBudget = (options: {
  readonly extraLoad: number
  readonly burst?: number
}): HedgeThrottle => {
  checkFields("options", options, { extraLoad, burst }, ["extraLoad"])
  return budgetOf(options.extraLoad, options.burst ?? defaults.burst)
}

const budgetOf = (extraLoad: number, burst: number): HedgeThrottle => {
  const name = "loadBudget"
  const calls = new RecentCount()
  let balance = burst
  const settle = (now: number): number => {
    balance = Math.min(balance, burst + extraLoad * calls.at(now))
    return balance
  }
  return unchecked({
    name,
    onCall: (now) => {
      calls.add(now)
      balance += extraLoad
      settle(now)
    },
    refusedBy: (now) => (settle(now) >= 1 - epsilon ? undefined : name),
    take: () => {
      balance -= 1
    },
    tokens: settle
  })
}

// thousandths of a token, so that sums are exact
const toThousandths = (n: number): number => Math.floor(n * 1000 + 1e-6)

const maxTokens = /*#__PURE__*/ number(
  (n) => toThousandths(n) > 0 && n <= 1000,
  "a number above 0 and at most 1000"
)
const tokenRatio = /*#__PURE__*/ number(
  (n) => toThousandths(n) > 0 && Number.isFinite(n),
  "a number of at least 0.001 (only three decimals count)"
)

export const tokenBucket = (options: {
  readonly maxTokens: number
  readonly tokenRatio: number
}): HedgeThrottle => {
  checkFields("options", options, { maxTokens, tokenRatio }, ["maxTokens", "tokenRatio"])
  return bucketOf(toThousandths(options.maxTokens), toThousandths(options.tokenRatio))
}

const bucketOf = (most: number, ratio: number): HedgeThrottle => {
  const name = "tokenBucket"
  let tokens = most
  return unchecked({
    name,
    refusedBy: () => (tokens > most / 2 ? undefined : name),
    take: () => {},
    onOutcome: (outcome, doNotRetry) => {
      if (outcome === "Win") tokens = Math.min(most, tokens + ratio)
      else if (outcome === "NonFatal" || doNotRetry) tokens = Math.max(0, tokens - 1000)
    },
    tokens: () => tokens / 1000
  })
}

export const concurrency = (n: number): HedgeThrottle => {
  const most = check("concurrency", n, wholeNumber(1))
  const name = "concurrency"
  let inFlight = 0
  return unchecked({
    name,
    refusedBy: () => (inFlight < most ? undefined : name),
    take: () => {
      inFlight += 1
    },
    onHedgeEnd: () => {
      inFlight -= 1
    },
    tokens: () => most - inFlight
  })
}

/** How far hedges may run ahead of the pace, and how much faster than on average that is. */
const mostAhead = 40
const haste = 1.5

/**
 * Keeps hedges from being sent all at once. A budget saves up for ten seconds, so that nothing is refused which chance brings together; but where
 * many calls are late together servers are busy, and hundreds of hedges within a second make them busier.
 */
export const pace = (extraLoad: number): HedgeThrottle => {
  const name = "pace"
  let ahead = 0
  return unchecked({
    name,
    onCall: () => {
      ahead = Math.max(0, ahead - haste * extraLoad)
    },
    refusedBy: () => (ahead < mostAhead ? undefined : name),
    take: () => {
      ahead += 1
    }
  })
}

/** The least of the tokens that throttles have, if one of them counts any. */
const leastTokens = (throttles: ReadonlyArray<HedgeThrottle>, now: number): number | undefined => {
  let least: number | undefined
  for (const throttle of throttles) {
    const tokens = throttle.tokens?.(now)
    if (tokens !== undefined && (least === undefined || tokens < least)) least = tokens
  }
  return least
}

const partsOf = new WeakMap<HedgeThrottle, ReadonlyArray<HedgeThrottle>>()

export const all = (...given: ReadonlyArray<HedgeThrottle>): HedgeThrottle => {
  if (given.length === 0) return refuse("all", [], "at least one throttle")
  given.forEach((throttle, i) => {
    check(`all[${i}]`, throttle, aThrottle)
  })
  return together(given)
}

const together = (given: ReadonlyArray<HedgeThrottle>): HedgeThrottle => {
  // one that is named twice, within another all perhaps, is asked and charged once
  const throttles = [...new Set(given.flatMap((throttle) => partsOf.get(throttle) ?? [throttle]))]
  const combined = unchecked({
    name: throttles.map((throttle) => throttle.name).join("+"),
    refusedBy: (now) => {
      for (const throttle of throttles) {
        const name = throttle.refusedBy(now)
        if (name !== undefined) return name
      }
      return undefined
    },
    take: (now) => {
      for (const throttle of throttles) throttle.take(now)
    },
    onCall: (now) => {
      for (const throttle of throttles) throttle.onCall?.(now)
    },
    onOutcome: (outcome, doNotRetry) => {
      for (const throttle of throttles) throttle.onOutcome?.(outcome, doNotRetry)
    },
    onHedgeEnd: () => {
      for (const throttle of throttles) throttle.onHedgeEnd?.()
    },
    tokens: (now) => leastTokens(throttles, now)
  })
  partsOf.set(combined, throttles)
  return combined
}

export const unlimited: HedgeThrottle = /*#__PURE__*/ unchecked({
  name: "unlimited",
  refusedBy: () => undefined,
  take: () => {}
})

/** What each setting of a throttle like the default one may be. */
export const settingShapes: Shapes<keyof Settings> = { extraLoad, burst, maxTokens, tokenRatio }

export const makeDefault = (settings: Settings = {}): HedgeThrottle => {
  checkFields("settings", settings, settingShapes)
  return likeDefault(settings)
}

export const likeDefault = ({
  burst = defaults.burst,
  extraLoad = defaults.extraLoad,
  maxTokens = defaults.maxTokens,
  tokenRatio = defaults.tokenRatio
}: Settings): HedgeThrottle =>
  together([budgetOf(extraLoad, burst), bucketOf(toThousandths(maxTokens), toThousandths(tokenRatio))])

const mostUpstreams = 256
const aString: Shape = [Predicate.isString, "a string"]

export const perUpstream = (make: () => HedgeThrottle): ((upstream: string) => HedgeThrottle) => {
  check("make", make, aFunction("that makes a HedgeThrottle"))
  const throttles = new Lru<HedgeThrottle>(mostUpstreams)
  return (upstream) =>
    throttles.get(check("upstream", upstream, aString), () => check("make()", make(), aThrottle))
}

export const take = (throttle: HedgeThrottle): Effect.Effect<boolean> => {
  check("throttle", throttle, aThrottle)
  return Effect.clockWith((clock) => {
    const now = nowMillis(clock)
    if (throttle.refusedBy(now) !== undefined) return Effect.succeed(false)
    throttle.take(now)
    // it is no hedge that will be in flight: a cap counts it for no longer than this
    throttle.onHedgeEnd?.()
    return Effect.succeed(true)
  })
}
