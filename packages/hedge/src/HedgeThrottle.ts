/**
 * Who may send a hedge now: budgets, token buckets, caps.
 *
 * A throttle never holds a primary back and never touches an attempt in flight; it only refuses hedges, which are then
 * reported as suppressed (`Throttled`, with the name of the throttle that refused). It holds state, so build it once and
 * share it: between the calls of a policy, between policies, or with an upstream's retries (see {@link take}).
 *
 * A policy that names no throttle uses {@link Default}.
 *
 * @example
 * import { Effect } from "effect"
 * import { Hedge, HedgeSchedule, HedgeThrottle } from "effect-hedge"
 *
 * // at most 5 % more requests, and never more than 20 hedges at once
 * const throttle = HedgeThrottle.all(
 *   HedgeThrottle.loadBudget({ extraLoad: 0.05, burst: 10 }),
 *   HedgeThrottle.concurrency(20)
 * )
 * export const quote = Effect.succeed(42).pipe(
 *   Hedge.hedge({ schedule: HedgeSchedule.fixed("80 millis"), throttle })
 * )
 *
 * @module
 */
import type { Effect } from "effect"
import * as Context from "effect/Context"
import type { HedgeOutcome } from "./HedgeOutcome.js"
import * as internal from "./internal/throttle.js"

/** Identifies a throttle. */
export const TypeId: "~effect-hedge/HedgeThrottle" = internal.TypeId

/** Identifies a throttle. */
export type TypeId = typeof TypeId

/**
 * The questions an engine asks. All are synchronous and atomic. `now` is in milliseconds that only grow: a
 * `TestClock`'s, or, live, those since the process started (`performance.now()`), which are no dates.
 *
 * Use the constructors of this module, or implement this interface with {@link make}.
 */
export interface HedgeThrottle extends HedgeThrottle.Questions {
  readonly [TypeId]: TypeId
}

export declare namespace HedgeThrottle {
  /** What a throttle answers. */
  export interface Questions {
    /** Names the throttle in events and metrics. */
    readonly name: string
    /** The name of the throttle that refuses a hedge now, or `undefined`. Takes nothing. */
    readonly refusedBy: (now: number) => string | undefined
    /** A hedge is sent: charges for it. Asked only right after `refusedBy` answered `undefined`. */
    readonly take: (now: number) => void
    /** A call has started. */
    readonly onCall?: (now: number) => void
    /** An attempt of a call that has not ended yet had this outcome; `doNotRetry` if it carried such a pushback. */
    readonly onOutcome?: (outcome: HedgeOutcome["_tag"], doNotRetry: boolean) => void
    /** A hedge's fiber has ended, its unwinding included. */
    readonly onHedgeEnd?: () => void
    /** What is left, for a gauge; `undefined` if nothing is counted. `CallEnded` shows 0 instead while the throttle refuses. */
    readonly tokens?: (now: number) => number | undefined
  }
}

/** A throttle of one's own. */
export const make: (questions: HedgeThrottle.Questions) => HedgeThrottle = internal.make

/** Tells a throttle from anything else. */
export const isHedgeThrottle: (u: unknown) => u is HedgeThrottle = internal.isHedgeThrottle

/**
 * A budget relative to traffic: hedges may add at most `extraLoad` requests per call.
 *
 * Starts with `burst` tokens; a call earns `extraLoad` of one when it starts, a hedge costs one, and the balance never
 * exceeds `burst + extraLoad × (calls started in the last 10 s)`. So `n` calls can send at most `burst + n × extraLoad`
 * hedges, at any rate and across a pause. The last 10 s are counted in steps of 100 ms, rounded down.
 *
 * Defaults: `burst` 10. Throws `HedgePolicyError` unless `extraLoad` is a number above 0 and `burst` is at least 0.
 */
export const loadBudget: (options: { readonly extraLoad: number; readonly burst?: number }) => HedgeThrottle =
  internal.loadBudget

/**
 * gRPC's retry throttling (A6): starts with `maxTokens`, a non-fatal outcome and a do-not-retry pushback cost one, a success
 * returns `tokenRatio` (cut to three decimals), and hedges are sent only while more than half of the tokens are there.
 *
 * Throws `HedgePolicyError` unless `maxTokens` is above 0 and at most 1,000 and `tokenRatio` is at least 0.001.
 *
 * @see https://github.com/grpc/proposal/blob/master/A6-client-retries.md
 */
export const tokenBucket: (options: {
  readonly maxTokens: number
  readonly tokenRatio: number
}) => HedgeThrottle = internal.tokenBucket

/**
 * At most `n` hedges at once. A hedge that lost counts until its fiber has unwound.
 *
 * Throws `HedgePolicyError` unless `n` is a whole number of at least 1.
 */
export const concurrency: (n: number) => HedgeThrottle = internal.concurrency

/** Every one must agree; none is charged when another refuses. Throws `HedgePolicyError` if none is given. */
export const all: (...throttles: ReadonlyArray<HedgeThrottle>) => HedgeThrottle = internal.all

/** Refuses nothing. For tests, and for upstreams that cannot be overloaded. */
export const unlimited: HedgeThrottle = internal.unlimited

/** The settings of a throttle like {@link Default}. */
export interface Settings {
  /** What a call earns: hedges per call, above 0. Default 0.2. */
  readonly extraLoad?: number
  /** The hedges that the budget starts with, at least 0. Default 10. */
  readonly burst?: number
  /** The size of the token bucket: above 0, at most 1,000. Default 100. */
  readonly maxTokens?: number
  /** What a success gives back to the bucket: at least 0.001. Default 0.1. */
  readonly tokenRatio?: number
}

/**
 * A fresh throttle as {@link Default} holds one, some of its settings replaced: `all(loadBudget({ extraLoad: 0.2, burst: 10 }), tokenBucket({
 * maxTokens: 100, tokenRatio: 0.1 }))`. Throws `HedgePolicyError` for settings that make no sense.
 */
export const makeDefault: (settings?: Settings) => HedgeThrottle = internal.makeDefault

/**
 * A throttle for each upstream, so that one that is out takes nothing from another: made when it is first asked for. 256 are kept: one that was
 * asked for but once goes first, then the one that was not asked for for longest. Throws `HedgePolicyError` if `make` is no function, for an upstream
 * that is no text, and if what is made is no throttle.
 *
 * @example
 * import { Effect } from "effect"
 * import { Hedge, HedgeSchedule, HedgeThrottle } from "effect-hedge"
 *
 * const throttleOf = HedgeThrottle.perUpstream(() => HedgeThrottle.loadBudget({ extraLoad: 0.05 }))
 * export const read = (shard: string) =>
 *   Effect.succeed([shard]).pipe(
 *     Hedge.hedge({ schedule: HedgeSchedule.fixed("20 millis"), throttle: throttleOf(shard) })
 *   )
 */
export const perUpstream: (make: () => HedgeThrottle) => (upstream: string) => HedgeThrottle =
  internal.perUpstream

/**
 * The throttle of policies that name none: one per process, made by {@link makeDefault}. Replace it with
 * `Effect.provideService` or a `Layer`.
 */
export class Default extends /*#__PURE__*/ Context.Reference<Default>()(
  "effect-hedge/HedgeThrottle/Default",
  {
    defaultValue: () => internal.likeDefault({})
  }
) {}

/**
 * An effect that takes a token for something that is not a hedge, a retry for example, and yields whether there was one. Throws
 * `HedgePolicyError` for what is no throttle.
 *
 * Let a schedule ask, after `recurs`, as here: it then asks for retries that are made. The `while` option of `Effect.retry` beside `times`
 * would be charged once more for each call that gives up. A cap such as {@link concurrency} counts hedges only.
 *
 * @example
 * import { Effect, Schedule } from "effect"
 * import { HedgeThrottle } from "effect-hedge"
 *
 * const budget = HedgeThrottle.loadBudget({ extraLoad: 0.1 })
 * declare const call: Effect.Effect<string, Error>
 * export const retried = Effect.retry(
 *   call,
 *   Schedule.recurs(2).pipe(Schedule.whileInputEffect(() => HedgeThrottle.take(budget)))
 * )
 */
export const take: (throttle: HedgeThrottle) => Effect.Effect<boolean> = internal.take
