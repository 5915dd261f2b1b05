/**
 * A hedging policy: plain immutable data, checked when it is made, and tags and layers that carry it.
 *
 * A policy is what `Hedge.hedge` and its relatives take. Making one creates no state: a policy value can be used by any number of
 * calls, and shares nothing but its throttle.
 *
 * | option | default | meaning |
 * |---|---|---|
 * | `schedule` | none, required | the stagger between launches: `HedgeSchedule.fixed("80 millis")` or any `Schedule` |
 * | `maxAttempts` | 2 | attempts in all, the primary included; at least 2 |
 * | `deadline` | none | one for the whole call; it then fails with `HedgeError` (`DeadlineExceeded`) |
 * | `attemptTimeout` | none | ends one attempt as `NonFatal` with `HedgeError` (`AttemptTimeout`) |
 * | `minTimeLeft` | 0; of a schedule that learns, the time in which the fastest twentieth of primaries answers | no hedge is sent with less time than this until the deadline |
 * | `maxPushback` | 1 second | a longer pushback means do-not-retry |
 * | `throttle` | `HedgeThrottle.Default` | who may send a hedge |
 * | `classify` | `HedgeOutcome.fromExit` | what an attempt's exit means |
 * | `onDiscard` | nothing | releases a success that cannot be the result, once (resources belong in `hedgeScoped`) |
 * | `gates` | none | more reasons not to send a hedge |
 * | `target` | `"any"` | `"idle"`: a hedge goes only to a target that has nothing in flight from this process |
 * | `awaitLosers` | `false` | wait for interrupted attempts before the answer is given |
 * | `loserGrace` | 10 seconds | how long a closing policy layer waits for its losers |
 * | `name` | the tag's id, or `"inline"` | the label `policy` of metrics, and a field of events |
 *
 * @example
 * import { Effect } from "effect"
 * import { Hedge, HedgePolicy, HedgeSchedule } from "effect-hedge"
 *
 * const quote = Effect.succeed(42).pipe(Hedge.withPolicy)
 *
 * export const program = quote.pipe(
 *   Effect.provide(HedgePolicy.layer({ schedule: HedgeSchedule.fixed("80 millis"), maxAttempts: 3, deadline: "2 seconds" }))
 * )
 *
 * @module
 */
import type {
  Config,
  ConfigError,
  Context,
  Duration,
  Effect,
  Exit,
  Layer,
  Option,
  Pipeable,
  Schedule
} from "effect"
import type { HedgeError } from "./Hedge.js"
import type { HedgeAttempt } from "./HedgeAttempt.js"
import type { SuppressionReason } from "./HedgeEvent.js"
import type { HedgeOutcome } from "./HedgeOutcome.js"
import type { BudgetedOptions, HedgeState } from "./HedgeSchedule.js"
import type { HedgeThrottle } from "./HedgeThrottle.js"
import * as internalDecisions from "./internal/decisions.js"
import * as internalInspect from "./internal/inspect.js"
import * as internal from "./internal/policy.js"
import * as internalLayer from "./internal/policyLayer.js"
import type { Key } from "./LatencyEstimator.js"

/** Identifies a policy. */
export const TypeId: "~effect-hedge/HedgePolicy" = internal.TypeId

/** Identifies a policy. */
export type TypeId = typeof TypeId

type In = Duration.DurationInput

/** An option that makes no sense: which, what it was, and what is allowed. Thrown by every constructor. */
export { HedgePolicyError } from "./internal/errors.js"

/**
 * What a user writes. `A` and `E` are what the hedged effect yields, `R` what the schedule and `onDiscard` need; `D` and `T` record whether
 * a deadline and an attempt timeout are given, since either adds `HedgeError` to the error type.
 */
export interface Options<
  in A,
  in E,
  out R = never,
  out D extends In | undefined = undefined,
  out T extends In | undefined = undefined
> {
  /** The time between the launch of one attempt and of the next. */
  readonly schedule: Schedule.Schedule<unknown, HedgeState, R>
  /** Attempts in all, the primary included. At least 2. Default 2. */
  readonly maxAttempts?: number
  /** One deadline for the call, whatever the number of attempts. Default none. */
  readonly deadline?: D
  /** Who may send a hedge now. Default `HedgeThrottle.Default`. */
  readonly throttle?: HedgeThrottle
  /** What an attempt's exit means. Default `HedgeOutcome.fromExit`. A throw fails the call with that defect. */
  readonly classify?: (exit: Exit.Exit<A, E>, attempt: HedgeAttempt) => HedgeOutcome
  /**
   * Releases a success that cannot be the result: late, rejected by `classify`, or not taken by an interrupted caller. Effect itself may drop
   * a value, where an uninterruptible region ends in a fiber that was interrupted meanwhile: resources belong in `Hedge.hedgeScoped`.
   */
  readonly onDiscard?: (value: A) => Effect.Effect<void, never, R>
  /** Ends one attempt as `NonFatal`. Default none. */
  readonly attemptTimeout?: T
  /**
   * No hedge is sent when less than this is left until the deadline. Default 0; of a schedule that learns, the time in which the fastest
   * twentieth of primaries answers.
   */
  readonly minTimeLeft?: In
  /** A pushback longer than this means do-not-retry. Default 1 second. */
  readonly maxPushback?: In
  /** Whether the answer waits until interrupted attempts have unwound. Default false. */
  readonly awaitLosers?: boolean
  /** How long a policy layer that closes waits for its losers before it logs them and goes on. Default 10 seconds. */
  readonly loserGrace?: In
  /** Asked in order before each hedge; a string suppresses the hedge with that reason. A throw fails the call. */
  readonly gates?: ReadonlyArray<(state: HedgeState) => string | undefined>
  /**
   * `"idle"` sends a hedge only to a target with nothing in flight from this process; else it is suppressed as `NoDistinctTarget`. Whoever knows the
   * targets must say so ({@link Targets}), or none is known to be idle. Default `"any"`.
   */
  readonly target?: "any" | "idle"
  /** Names the policy in events and metrics. Default the tag's id, or `"inline"`. */
  readonly name?: string
}

/** Options in which nothing speaks of values or errors: a combinator that is given them fits any effect, and can be kept. */
export interface PlainOptions<
  out R = never,
  out D extends In | undefined = undefined,
  out T extends In | undefined = undefined
> extends Omit<Options<unknown, unknown, R, D, T>, "classify" | "onDiscard"> {
  readonly classify?: never
  readonly onDiscard?: never
}

/** `HedgeError` if a deadline or an attempt timeout is given, else nothing. */
export type DeadlineError<D> = [D] extends [undefined] ? never : HedgeError

/** A checked policy: `A` and `E` it can judge, `EX` what it can fail with besides, `R` what it needs. */
export interface HedgePolicy<in A = unknown, in E = unknown, out EX = never, out R = never>
  extends Pipeable.Pipeable {
  readonly [TypeId]: {
    readonly _A: (_: A) => void
    readonly _E: (_: E) => void
    readonly _EX: () => EX
    readonly _R: () => R
  }
  readonly name: string
  readonly schedule: Schedule.Schedule<unknown, HedgeState, R>
  readonly maxAttempts: number
  readonly deadline: Duration.Duration | undefined
  readonly attemptTimeout: Duration.Duration | undefined
  readonly minTimeLeft: Duration.Duration
  readonly maxPushback: Duration.Duration
  readonly throttle: HedgeThrottle | undefined
  readonly classify: ((exit: Exit.Exit<A, E>, attempt: HedgeAttempt) => HedgeOutcome) | undefined
  readonly onDiscard: ((value: A) => Effect.Effect<void, never, R>) | undefined
  readonly gates: ReadonlyArray<(state: HedgeState) => string | undefined>
  readonly target: "any" | "idle"
  readonly awaitLosers: boolean
  readonly loserGrace: Duration.Duration
  /** False for a policy made by {@link ineligible}: its calls send one attempt. */
  readonly eligible: boolean
  /** Whether its schedule learns, or may: one of one's own can be made of one that does. Only then does a {@link keyed} policy differ. */
  readonly learns: boolean
  /** What its calls are told apart by; see {@link keyed}. */
  readonly key: Key | undefined
}

/**
 * Makes a policy of checked options. Throws {@link HedgePolicyError}, which names the field, the value and what is allowed: also
 * for a field that does not exist.
 */
export const make: <
  A = unknown,
  E = unknown,
  R = never,
  D extends In | undefined = undefined,
  T extends In | undefined = undefined
>(
  options: Options<A, E, R, D, T>
) => HedgePolicy<A, E, DeadlineError<D | T>, R> = internal.make

/** Tells a policy from anything else. */
export const isHedgePolicy: (u: unknown) => u is HedgePolicy<never, never, unknown, unknown> =
  internal.isHedgePolicy

/** The same policy with some options replaced; they are checked like those of {@link make}. */
export const modify: {
  <A, E>(changes: internal.Changes<A, E>): <EX, R>(self: HedgePolicy<A, E, EX, R>) => HedgePolicy<A, E, EX, R>
  <A, E, EX, R>(self: HedgePolicy<A, E, EX, R>, changes: internal.Changes<A, E>): HedgePolicy<A, E, EX, R>
} = internal.modify

/**
 * The same policy for a call that must not be hedged: one attempt, one `HedgeSuppressed` event of reason `Ineligible` at the start;
 * deadline, attempt timeout and classification as before.
 */
export const ineligible: <A, E, EX, R>(self: HedgePolicy<A, E, EX, R>) => HedgePolicy<A, E, EX, R> =
  internal.ineligible

/**
 * The same policy for calls of a key, such as a route, or of several parts of which each stands under those before it. What a schedule that
 * learns knows of latencies it knows by key; and a policy of {@link layerAdaptive} that names no throttle has one for each first part, which is
 * the upstream then. A key that is new goes by what is known of the one that it stands under. 256 keys are kept: one that was used but once goes
 * first, then the one that was not used for longest. A policy that does not learn stays as it is. Throws {@link HedgePolicyError} for a key that
 * is neither a text nor an array of texts.
 *
 * @example
 * import { Effect } from "effect"
 * import { Hedge, HedgePolicy } from "effect-hedge"
 *
 * const read = (table: string) =>
 *   Effect.flatMap(HedgePolicy.DefaultPolicy, (policy) =>
 *     Effect.succeed([table]).pipe(Hedge.hedge(HedgePolicy.keyed(policy, ["db.example.com", table])))
 *   )
 * export const program = read("users").pipe(Effect.provide(HedgePolicy.layerAdaptive({ extraLoad: 0.05 })))
 */
export const keyed: {
  (key: Key): <A, E, EX, R>(self: HedgePolicy<A, E, EX, R>) => HedgePolicy<A, E, EX, R>
  <A, E, EX, R>(self: HedgePolicy<A, E, EX, R>, key: Key): HedgePolicy<A, E, EX, R>
} = internal.keyed

/** What a policy's layer holds: nothing in it is open any more. */
export type Service = HedgePolicy<unknown, unknown, HedgeError, never>

/** The options of `layerAdaptive`: those of `HedgeSchedule.budgeted`, and those of any policy but the schedule. */
export interface AdaptiveOptions
  extends BudgetedOptions,
    Omit<Options<unknown, unknown, never, In | undefined, In | undefined>, "schedule"> {}

/** The class of a policy's tag, with the layers that provide it. */
export interface TagClass<Self, Id extends string> extends Context.TagClass<Self, Id, Service> {
  /**
   * Provides the policy, and owns the losers of its calls: closing the layer waits for them, at most `loserGrace`. Build it *over* the layers
   * whose resources the attempts use (`Layer.provideMerge`), so that it closes first; `Layer.merge` gives no order. Provide it once, at the
   * edge of the program. Throws {@link HedgePolicyError} for bad options.
   */
  readonly layer: <R = never, D extends In | undefined = undefined, T extends In | undefined = undefined>(
    options: Options<unknown, unknown, R, D, T> | HedgePolicy<unknown, unknown, HedgeError, R>
  ) => Layer.Layer<Self, never, R>
  /** Like `layer`, from a `Config` (see `HedgeConfig`); options that make no sense fail with `ConfigError`. */
  readonly layerConfig: (
    config: Config.Config<Options<unknown, unknown, never, In | undefined, In | undefined>>
  ) => Layer.Layer<Self, ConfigError.ConfigError>
  /**
   * A policy that is given the extra load that it may cause, and learns the rest: `HedgeSchedule.budgeted`, 2 attempts (3 from an objective of
   * 0.999 on) under `all(loadBudget({ extraLoad, burst: 10 }), tokenBucket({ maxTokens: 100, tokenRatio: 0.1 }))`, or a throttle that is named.
   * Beside that throttle of its own, a pace keeps what the budget has saved up from being sent all at once: 40 hedges, and 1.5 × `extraLoad` a call.
   * With a deadline and no `minTimeLeft`, no hedge is sent with less time left than the fastest twentieth of primaries takes. What it learns, and
   * its throttle, are the layer's. {@link inspect} says what it knows. Throws {@link HedgePolicyError} for bad options.
   */
  readonly layerAdaptive: (options: AdaptiveOptions) => Layer.Layer<Self>
  /** Like `layerAdaptive`, from a `Config` (see `HedgeConfig.adaptive`); options that make no sense fail with `ConfigError`. */
  readonly layerAdaptiveConfig: (
    config: Config.Config<AdaptiveOptions>
  ) => Layer.Layer<Self, ConfigError.ConfigError>
}

/**
 * A policy's tag, for several policies side by side.
 *
 * @example
 * import { Effect } from "effect"
 * import { Hedge, HedgePolicy, HedgeSchedule } from "effect-hedge"
 *
 * class SearchPolicy extends HedgePolicy.Tag("app/SearchPolicy")<SearchPolicy>() {}
 *
 * export const search = Effect.succeed(["a"]).pipe(Hedge.withPolicy(SearchPolicy))
 * export const SearchPolicyLive = SearchPolicy.layer({ schedule: HedgeSchedule.fixed("20 millis") })
 */
export const Tag: <const Id extends string>(id: Id) => <Self>() => TagClass<Self, Id> = internalLayer.Tag

/** The tag that `Hedge.withPolicy` and `HttpHedge.withHedge` use when they are given none. */
export class DefaultPolicy extends Tag(internal.defaultKey)<DefaultPolicy>() {}

/** `DefaultPolicy.layer`: provides the policy that `Hedge.withPolicy` uses. */
export const layer: typeof DefaultPolicy.layer = DefaultPolicy.layer

/** `DefaultPolicy.layerConfig`. */
export const layerConfig: typeof DefaultPolicy.layerConfig = DefaultPolicy.layerConfig

/** `DefaultPolicy.layerAdaptive`. */
export const layerAdaptive: typeof DefaultPolicy.layerAdaptive = DefaultPolicy.layerAdaptive

/** `DefaultPolicy.layerAdaptiveConfig`. */
export const layerAdaptiveConfig: typeof DefaultPolicy.layerAdaptiveConfig = DefaultPolicy.layerAdaptiveConfig

/**
 * What suspends hedging: the primary's median is more than twice what is usual; hedges win less than a third as often as they would if copies were
 * independent; the upstream has pushed back. The first lasts until the median is back, at most for one window of 10,000 samples or 60 seconds, which
 * then is what is usual. The second lasts for a sixteenth of a window, before hedges try again. Either lasts longer, up to a whole window, when
 * it comes back within a window. The third lasts for as long as the upstream says, at most 60 seconds; a do-not-retry counts as that.
 */
export type Guard = "MedianGrowth" | "Efficacy" | "Pushback"

/** What a policy that learns knows and does. */
export interface Inspection {
  /** `NoGain`: what is known says that hedging gains less than 0.4 %. */
  readonly status: "WarmUp" | "Active" | "NoGain" | "Suspended"
  /** The guard that suspends hedging now. */
  readonly suspendedBy: Guard | undefined
  /** When hedges are sent, counted from the start of a call. */
  readonly delays: ReadonlyArray<Duration.Duration>
  /** How likely each is to be sent when it is due. */
  readonly probabilities: ReadonlyArray<number>
  /** Primaries in the windows that the delays are worked out from. */
  readonly samples: number
  /** Hedges per call in the last two windows. */
  readonly achievedExtraLoad: number
  /** Hedges per call that the delays would take if nothing refused one. */
  readonly expectedExtraLoad: number
  /** Hedges per call that may be sent, if the schedule has a budget. */
  readonly extraLoad: number | undefined
  readonly objective: number
  /** The estimated P99 of calls without hedges and with them, while other calls are hedged. Infinite without samples. */
  readonly p99: Estimate
  /** The same of the objective quantile. */
  readonly atObjective: Estimate
  /** Whether the budget is enough: the objective keeps `within`, or, without one, every call is hedged that is still open when a hedge is due. */
  readonly isReached: boolean
  /** The least budget that would be; none during warm-up, without a budget, or if not even a hedge for every call is enough. */
  readonly neededExtraLoad: number | undefined
}

/** A quantile of calls without hedges, and with them. */
export interface Estimate {
  readonly unhedged: Duration.Duration
  readonly hedged: Duration.Duration
}

/**
 * What a policy knows and does whose schedule learns, of all its calls or of those of a key; none for any other policy, and for a schedule that
 * is combined with others. Of a key that is not kept
 * it is what is known of the one that it stands under. It works out estimates anew: ask now and then, not in each call.
 *
 * @example
 * import { Effect } from "effect"
 * import { HedgePolicy } from "effect-hedge"
 *
 * export const report = Effect.flatMap(HedgePolicy.DefaultPolicy, (policy) => HedgePolicy.inspect(policy))
 */
export const inspect: (
  policy: HedgePolicy<never, never, unknown, unknown>,
  key?: Key
) => Effect.Effect<Option.Option<Inspection>> = internalInspect.inspect

/**
 * The keys that are kept of a policy whose schedule learns, as {@link inspect} takes them: those that were used but once, then the others, each from
 * the one that was not used for longest to the one that was used last. Those that others stand under are among them.
 *
 * @example
 * import { Effect } from "effect"
 * import { HedgePolicy } from "effect-hedge"
 *
 * export const report = Effect.gen(function* () {
 *   const policy = yield* HedgePolicy.DefaultPolicy
 *   return yield* Effect.forEach(yield* HedgePolicy.keys(policy), (key) => HedgePolicy.inspect(policy, key))
 * })
 */
export const keys: (
  policy: HedgePolicy<never, never, unknown, unknown>
) => Effect.Effect<ReadonlyArray<ReadonlyArray<string>>> = internalInspect.keys

/**
 * What a policy decides in one call, without the call: for a simulation, whose time is a number of milliseconds. Its schedule, its throttle, its
 * target and what it learns are the policy's own; deadlines, pushback and gates are left to the simulation.
 */
export interface Decisions {
  /** The delay until the next hedge is due, asked after a launch or a refused hedge; `Infinity` if none will be. */
  readonly delay: () => number
  /**
   * Why the hedge that is due may not be sent, if it may not. `leastInFlight` answers as {@link HedgeTargets} does; without it a hedge may go
   * anywhere.
   */
  readonly refusal: (
    now: number,
    reason: "Stagger" | "Failure",
    leastInFlight?: () => number | undefined
  ) => SuppressionReason | undefined
  /** A hedge was sent. */
  readonly hedged: (now: number, reason: "Stagger" | "Failure") => void
  /** An attempt has ended before the call has. */
  readonly ended: (now: number, attempt: number, outcome: HedgeOutcome["_tag"]) => void
  /** The call has ended, by an attempt that won, or without one. */
  readonly settled: (now: number, winner: number | undefined) => void
  /** A hedge has ended, its unwinding included. */
  readonly hedgeUnwound: () => void
}

/**
 * Begins the decisions of one call under a policy, at a time in milliseconds. Throws {@link HedgePolicyError} if the policy's schedule is not one of
 * `HedgeSchedule`, which are answered synchronously.
 */
export const unsafeBegin: (policy: HedgePolicy<never, never, unknown, unknown>, now: number) => Decisions =
  internalDecisions.unsafeBegin

/** Where hedges may be sent, by whoever knows: lanes, replicas, a load balancer in this process. */
export interface HedgeTargets {
  /**
   * Of the targets that a hedge could go to now, the least number of calls that this process has in flight at one; undefined if there is no such
   * target; `Infinity` if there is one of which nothing is known. Asked right before the throttle.
   */
  readonly leastInFlight: (state: HedgeState) => number | undefined
}

/** The targets in force: a `Context.Reference`, by default undefined. With none a hedge may go anywhere, but no target is known to be idle. */
export { Targets } from "./internal/surroundings.js"
