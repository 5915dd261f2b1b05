/**
 * Hedging for any effect or stream: when an answer is late, another copy is run; the first good answer wins and the others are interrupted.
 *
 * - The primary starts at once, always. While it is answered in time, one attempt is all there is.
 * - The answer is given without waiting for losers to unwind; interrupting the caller interrupts every attempt and waits for them.
 * - Every combinator is `dual`, and pure: nothing runs until the effect does.
 *
 * @example
 * import { Effect } from "effect"
 * import { Hedge, HedgeSchedule } from "effect-hedge"
 *
 * declare const fetchQuote: Effect.Effect<number, Error>
 *
 * export const quote = fetchQuote.pipe(
 *   Hedge.hedge({ schedule: HedgeSchedule.fixed("80 millis"), maxAttempts: 3, deadline: "2 seconds" })
 * )
 *
 * @module
 */
import type { Context, Duration, Effect, Scope, Stream } from "effect"
import type { HedgeAttempt } from "./HedgeAttempt.js"
import type {
  DeadlineError,
  DefaultPolicy,
  HedgePolicy,
  Options,
  PlainOptions,
  Service
} from "./HedgePolicy.js"
import * as internal from "./internal/hedge.js"

type In = Duration.DurationInput

/** What an attempt was doing when a call or the attempt itself ran out of time. */
export interface AttemptReport {
  readonly index: number
  readonly status: "Running" | "NonFatal" | "TimedOut"
  /** From its launch to its outcome, or to now. */
  readonly elapsed: Duration.Duration
}

/**
 * What hedging itself adds to the ways in which a call can fail.
 *
 * - `DeadlineExceeded`: the call's deadline passed; `attempts` says what each attempt was doing.
 * - `AttemptTimeout`: the attempt (the primary, if it is what the call fails with) took longer than `attemptTimeout`.
 */
export { HedgeError } from "./internal/errors.js"

/**
 * Hedges an effect under a policy, given as options or as a `HedgePolicy`.
 *
 * Throws `HedgePolicyError` for options that make no sense. Fails with `HedgeError` only if a `deadline` or an `attemptTimeout` is given.
 *
 * If every attempt was `NonFatal`, the result is the primary's exit. The winner's `FiberRef` writes reach the caller, a loser's never do.
 *
 * An effect that needs a `Scope` leaves a loser's resources to the caller's scope: use {@link hedgeScoped} for those.
 *
 * @example
 * import { Effect } from "effect"
 * import { Hedge, HedgeSchedule } from "effect-hedge"
 *
 * declare const readReplica: Effect.Effect<string, Error>
 * export const read = Hedge.hedge(readReplica, { schedule: HedgeSchedule.fixed("20 millis") })
 */
export const hedge: {
  <PA, PE, EX, RP>(
    policy: HedgePolicy<PA, PE, EX, RP>
  ): <A extends PA, E extends PE, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | EX, R | RP>
  <RP = never, D extends In | undefined = undefined, T extends In | undefined = undefined>(
    options: PlainOptions<RP, D, T>
  ): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | DeadlineError<D | T>, R | RP>
  <A, E, RP = never, D extends In | undefined = undefined, T extends In | undefined = undefined>(
    options: Options<NoInfer<A>, NoInfer<E>, RP, D, T>
  ): <R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | DeadlineError<D | T>, R | RP>
  <A, E, R, EX, RP>(
    self: Effect.Effect<A, E, R>,
    policy: HedgePolicy<NoInfer<A>, NoInfer<E>, EX, RP>
  ): Effect.Effect<A, E | EX, R | RP>
  <A, E, R, RP = never, D extends In | undefined = undefined, T extends In | undefined = undefined>(
    self: Effect.Effect<A, E, R>,
    options: Options<NoInfer<A>, NoInfer<E>, RP, D, T>
  ): Effect.Effect<A, E | DeadlineError<D | T>, R | RP>
} = internal.hedge

/**
 * Like {@link hedge}, with an effect per attempt: another replica, another connection, another region.
 *
 * With the policy of a layer: `Effect.flatMap(HedgePolicy.DefaultPolicy, (policy) => Hedge.hedgeWith(f, policy))`.
 *
 * @example
 * import type { Effect } from "effect"
 * import { Hedge, HedgeSchedule } from "effect-hedge"
 *
 * declare const readFrom: (replica: string) => Effect.Effect<string, Error>
 * const replicas = ["eu", "us"]
 *
 * export const read = Hedge.hedgeWith((attempt) => readFrom(replicas[attempt.index % replicas.length]!), {
 *   schedule: HedgeSchedule.fixed("20 millis")
 * })
 */
export const hedgeWith: {
  <PA, PE, EX, RP>(
    policy: HedgePolicy<PA, PE, EX, RP>
  ): <A extends PA, E extends PE, R>(
    f: (attempt: HedgeAttempt) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | EX, R | RP>
  <RP = never, D extends In | undefined = undefined, T extends In | undefined = undefined>(
    options: PlainOptions<RP, D, T>
  ): <A, E, R>(
    f: (attempt: HedgeAttempt) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | DeadlineError<D | T>, R | RP>
  <A, E, RP = never, D extends In | undefined = undefined, T extends In | undefined = undefined>(
    options: Options<NoInfer<A>, NoInfer<E>, RP, D, T>
  ): <R>(
    f: (attempt: HedgeAttempt) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | DeadlineError<D | T>, R | RP>
  <PA, PE, A extends PA, E extends PE, R, EX, RP>(
    f: (attempt: HedgeAttempt) => Effect.Effect<A, E, R>,
    policy: HedgePolicy<PA, PE, EX, RP>
  ): Effect.Effect<A, E | EX, R | RP>
  <A, E, R, RP = never, D extends In | undefined = undefined, T extends In | undefined = undefined>(
    f: (attempt: HedgeAttempt) => Effect.Effect<A, E, R>,
    options: Options<NoInfer<A>, NoInfer<E>, RP, D, T>
  ): Effect.Effect<A, E | DeadlineError<D | T>, R | RP>
} = internal.hedgeWith

/**
 * Like {@link hedge}, for an effect that acquires resources in a `Scope`. Every attempt has a scope of its own: a loser's is closed at once, the
 * winner's when the caller's scope closes.
 *
 * @example
 * import { Effect, type Scope } from "effect"
 * import { Hedge, HedgeSchedule } from "effect-hedge"
 *
 * declare const openCursor: Effect.Effect<string, Error, Scope.Scope>
 * export const cursor = Hedge.hedgeScoped(openCursor, { schedule: HedgeSchedule.fixed("20 millis") })
 */
export const hedgeScoped: {
  <PA, PE, EX, RP>(
    policy: HedgePolicy<PA, PE, EX, RP>
  ): <A extends PA, E extends PE, R>(
    self: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | EX, R | RP | Scope.Scope>
  <RP = never, D extends In | undefined = undefined, T extends In | undefined = undefined>(
    options: PlainOptions<RP, D, T>
  ): <A, E, R>(
    self: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | DeadlineError<D | T>, R | RP | Scope.Scope>
  <A, E, RP = never, D extends In | undefined = undefined, T extends In | undefined = undefined>(
    options: Options<NoInfer<A>, NoInfer<E>, RP, D, T>
  ): <R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | DeadlineError<D | T>, R | RP | Scope.Scope>
  <A, E, R, EX, RP>(
    self: Effect.Effect<A, E, R>,
    policy: HedgePolicy<NoInfer<A>, NoInfer<E>, EX, RP>
  ): Effect.Effect<A, E | EX, R | RP | Scope.Scope>
  <A, E, R, RP = never, D extends In | undefined = undefined, T extends In | undefined = undefined>(
    self: Effect.Effect<A, E, R>,
    options: Options<NoInfer<A>, NoInfer<E>, RP, D, T>
  ): Effect.Effect<A, E | DeadlineError<D | T>, R | RP | Scope.Scope>
} = internal.hedgeScoped

/**
 * Like {@link hedge}, for a stream: the first element decides. Each run of the result is a call, which starts when it is first pulled; an attempt
 * runs its stream up to the first element, and the stream whose first element wins goes on, from that element, as if it were not hedged.
 *
 * - `classify` judges the exit of an attempt's first element; `onDiscard` is given the first element of a stream that began and cannot be the result.
 * - A stream that fails or dies before it has an element has that exit. One that ends without an element has the exit of an empty cause
 *   (`Cause.isEmpty`): by default that is a `Win`, and the result is an empty stream.
 * - `deadline` and `attemptTimeout` run until the first element, and a policy that learns learns the time to the first element. To bound the rest,
 *   use `Stream.timeoutFail` on the result.
 * - A loser is interrupted and its finalizers run at once; the winner's run when the result ends, fails, or is given up (`Stream.take`, an
 *   interruption).
 * - What a stream acquires in the `Scope` of its context up to the first element goes with its attempt: a loser's is released at once, the winner's
 *   when the result ends. What it acquires later belongs to the consumer's scope, as without hedging.
 * - Nothing is pulled ahead: a loser never gets beyond the chunk that holds its first element, and the winner yields its next chunk when
 *   it is asked for it.
 * - A failure after the first element reaches the consumer as it is, and no hedge is sent: what has been consumed cannot be taken back.
 * - `Stream.retry` on the result is a new call.
 *
 * @example
 * import type { Stream } from "effect"
 * import { Hedge, HedgeSchedule } from "effect-hedge"
 *
 * declare const completion: Stream.Stream<string, Error>
 * // a copy is sent when there is no token after 800 ms
 * export const tokens = Hedge.hedgeStream(completion, { schedule: HedgeSchedule.fixed("800 millis"), deadline: "10 seconds" })
 */
export const hedgeStream: {
  <PA, PE, EX, RP>(
    policy: HedgePolicy<PA, PE, EX, RP>
  ): <A extends PA, E extends PE, R>(self: Stream.Stream<A, E, R>) => Stream.Stream<A, E | EX, R | RP>
  <RP = never, D extends In | undefined = undefined, T extends In | undefined = undefined>(
    options: PlainOptions<RP, D, T>
  ): <A, E, R>(self: Stream.Stream<A, E, R>) => Stream.Stream<A, E | DeadlineError<D | T>, R | RP>
  <A, E, RP = never, D extends In | undefined = undefined, T extends In | undefined = undefined>(
    options: Options<NoInfer<A>, NoInfer<E>, RP, D, T>
  ): <R>(self: Stream.Stream<A, E, R>) => Stream.Stream<A, E | DeadlineError<D | T>, R | RP>
  <A, E, R, EX, RP>(
    self: Stream.Stream<A, E, R>,
    policy: HedgePolicy<NoInfer<A>, NoInfer<E>, EX, RP>
  ): Stream.Stream<A, E | EX, R | RP>
  <A, E, R, RP = never, D extends In | undefined = undefined, T extends In | undefined = undefined>(
    self: Stream.Stream<A, E, R>,
    options: Options<NoInfer<A>, NoInfer<E>, RP, D, T>
  ): Stream.Stream<A, E | DeadlineError<D | T>, R | RP>
} = internal.hedgeStream

/**
 * Like {@link hedgeStream}, with a stream per attempt: another region, another provider.
 *
 * @example
 * import type { Stream } from "effect"
 * import { Hedge, HedgeSchedule } from "effect-hedge"
 *
 * declare const completionFrom: (region: string) => Stream.Stream<string, Error>
 * const regions = ["eu", "us"]
 *
 * export const tokens = Hedge.hedgeStreamWith((attempt) => completionFrom(regions[attempt.index % regions.length]!), {
 *   schedule: HedgeSchedule.fixed("800 millis")
 * })
 */
export const hedgeStreamWith: {
  <PA, PE, EX, RP>(
    policy: HedgePolicy<PA, PE, EX, RP>
  ): <A extends PA, E extends PE, R>(
    f: (attempt: HedgeAttempt) => Stream.Stream<A, E, R>
  ) => Stream.Stream<A, E | EX, R | RP>
  <RP = never, D extends In | undefined = undefined, T extends In | undefined = undefined>(
    options: PlainOptions<RP, D, T>
  ): <A, E, R>(
    f: (attempt: HedgeAttempt) => Stream.Stream<A, E, R>
  ) => Stream.Stream<A, E | DeadlineError<D | T>, R | RP>
  <A, E, RP = never, D extends In | undefined = undefined, T extends In | undefined = undefined>(
    options: Options<NoInfer<A>, NoInfer<E>, RP, D, T>
  ): <R>(
    f: (attempt: HedgeAttempt) => Stream.Stream<A, E, R>
  ) => Stream.Stream<A, E | DeadlineError<D | T>, R | RP>
  <PA, PE, A extends PA, E extends PE, R, EX, RP>(
    f: (attempt: HedgeAttempt) => Stream.Stream<A, E, R>,
    policy: HedgePolicy<PA, PE, EX, RP>
  ): Stream.Stream<A, E | EX, R | RP>
  <A, E, R, RP = never, D extends In | undefined = undefined, T extends In | undefined = undefined>(
    f: (attempt: HedgeAttempt) => Stream.Stream<A, E, R>,
    options: Options<NoInfer<A>, NoInfer<E>, RP, D, T>
  ): Stream.Stream<A, E | DeadlineError<D | T>, R | RP>
} = internal.hedgeStreamWith

/** An effect or a stream under a policy of the context that fails with `EX` besides, and is found by `I`. */
export type UnderPolicy<X, EX, I> = [X] extends [Effect.Effect<infer A, infer E, infer R>]
  ? Effect.Effect<A, E | EX, R | I>
  : [X] extends [Stream.Stream<infer A, infer E, infer R>]
    ? Stream.Stream<A, E | EX, R | I>
    : never

/**
 * What {@link withPolicy} yields. One conditional type, since an overloaded function that is handed to `pipe` uncalled infers `unknown`; it
 * tells a tag from an effect, though tags are effects.
 */
export type WithPolicy<X, T = undefined> = [X] extends [Context.Tag<infer I, infer S>]
  ? S extends HedgePolicy<unknown, unknown, infer EX, never>
    ? <Y extends Effect.Effect<any, any, any> | Stream.Stream<any, any, any>>(
        self: Y
      ) => UnderPolicy<Y, EX, I>
    : "this tag does not hold a HedgePolicy"
  : [T] extends [Context.Tag<infer I, HedgePolicy<unknown, unknown, infer EX, never>>]
    ? UnderPolicy<X, EX, I>
    : UnderPolicy<X, import("./internal/errors.js").HedgeError, DefaultPolicy>

/**
 * Hedges an effect or a stream under the policy in its context: `effect.pipe(Hedge.withPolicy)` with `HedgePolicy.DefaultPolicy`,
 * `effect.pipe(Hedge.withPolicy(SearchPolicy))` with a tag of one's own. Losers belong to the layer that provides the policy.
 *
 * @example
 * import { Effect } from "effect"
 * import { Hedge, HedgePolicy, HedgeSchedule } from "effect-hedge"
 *
 * export const program = Effect.succeed(42).pipe(
 *   Hedge.withPolicy,
 *   Effect.provide(HedgePolicy.layer({ schedule: HedgeSchedule.fixed("80 millis") }))
 * )
 */
export const withPolicy: <
  X extends Effect.Effect<any, any, any> | Stream.Stream<any, any, any>,
  T extends Context.Tag<any, Service> | undefined = undefined
>(
  subjectOrTag: X,
  tag?: T
) => WithPolicy<X, T> = internal.withPolicy

/**
 * Turns hedging off for everything inside: one attempt a call. For transactions, and as a kill switch. Deadlines still hold.
 *
 * @example
 * import { Effect } from "effect"
 * import { Hedge } from "effect-hedge"
 *
 * declare const transfer: Effect.Effect<void>
 * export const inTransaction = Hedge.withoutHedging(transfer)
 */
export const withoutHedging: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> =
  internal.withoutHedging
