/**
 * What an attempt can ask about itself: which copy it is, which call it belongs to, and how much time is left.
 *
 * @example
 * import { Effect, Option } from "effect"
 * import { HedgeAttempt } from "effect-hedge"
 *
 * export const whichCopy = Effect.map(
 *   HedgeAttempt.current,
 *   Option.match({
 *     onNone: () => "not hedged",
 *     onSome: (attempt) => (attempt.index === 0 ? "the primary" : `hedge ${attempt.index}`)
 *   })
 * )
 *
 * @module
 */
import type { Clock, Context, Duration, Effect, Exit, Fiber, Option, Tracer } from "effect"
import * as Effectable from "effect/Effectable"
import type { HedgeTargets } from "./HedgePolicy.js"
import * as internal from "./internal/attempt.js"

/** One execution of a call. Index 0 is the primary; 1, 2, … are hedges. */
export interface HedgeAttempt {
  /** 0 for the primary, 1, 2, … for hedges, in the order in which they were launched. */
  readonly index: number
  /** The same for all attempts of a call, and different for any two calls, also of different processes. */
  readonly callId: string
  /** The time left until the call's deadline, by the `Clock`; none if the call has no deadline. Never negative. */
  readonly timeLeft: Effect.Effect<Option.Option<Duration.Duration>>
  /** The same, read at once. */
  unsafeTimeLeft(): Option.Option<Duration.Duration>
  /** The clock by which the call counts: for a `classify` that has to know the time, such as one that reads a date in an answer. */
  readonly clock: Clock.Clock
  /**
   * Where the call's next attempts may go. The attempts of a call share it, and whoever sends them may set it: a client that keeps its
   * connections, a load balancer. `HedgePolicy.Targets` in the caller's context goes before it. Default: undefined, anywhere.
   */
  targets: HedgeTargets | undefined
  /** The span of the attempt, if a listener has opened one (`HedgeTracing`): the parent of what it does. */
  readonly span: Tracer.AnySpan | undefined
  /**
   * Says that the attempt waits in a queue of this process, in which a hedge would only wait behind it: the stagger that follows its launch does not run
   * until it is `sent`. Does nothing if another attempt has been launched since, or the call has ended.
   */
  queued(): void
  /**
   * Says that the attempt is under way only now: it had to wait in this process, for a connection say, and could not have been answered before.
   * The stagger that follows its launch begins anew; a hedge that was due before has been sent or refused. Does nothing if another attempt has been
   * launched since, or the call has ended.
   */
  sent(): void
}

/** The attempt inside which the calling effect runs, if it runs inside one. */
export const current: Effect.Effect<Option.Option<HedgeAttempt>> = internal.current

/** The attempt of {@link current}, for those who have read the context already; undefined outside of attempts. */
export const fromContext: (context: Context.Context<never>) => HedgeAttempt | undefined = internal.fromContext

/** What a {@link Fiberless} effect has begun. */
export interface Started {
  /**
   * Ends it. When this returns it counts as interrupted, unless it has told its exit meanwhile: nothing of it may still run. What this throws is the
   * attempt's defect.
   */
  readonly cancel: () => void
}

/**
 * An effect that an attempt can run without a fiber: it is begun by a call, tells its exit by a callback, and is ended by a call. For clients whose answers
 * come by callbacks anyway; a request over the lanes of `NodeHedgeClient` is one. It saves what an attempt's fiber costs, a quarter of the CPU of
 * such a request (`npm run bench`, rows of lanes).
 *
 * It counts only where nothing is around it: as the effect that is hedged (`Hedge.hedge`, `Hedge.withPolicy`), or as what the function of
 * `Hedge.hedgeWith` answers. Otherwise, in `Hedge.hedgeScoped`, and outside of hedges, it is an effect like any other, which runs as `commit` says.
 *
 * `launch` begins it for an attempt. `caller` is the fiber that waits for the call, which may have to be asked for its context and FiberRefs: they are the
 * attempt's, too, but for {@link current}, which is `attempt`; a hedged call that `launch` starts by itself does not know that it is inside another. The exit
 * is told once, at once or later; what is told after it, or after `cancel`, is ignored. If it wants a fiber this time it begins nothing and answers undefined.
 * What it throws is the attempt's defect.
 *
 * @example
 * import { Effect, Exit } from "effect"
 * import { Hedge, HedgeAttempt, HedgePolicy, HedgeSchedule } from "effect-hedge"
 *
 * interface Store {
 *   readonly get: (key: string, onAnswer: (value: string) => void) => { readonly abort: () => void }
 * }
 *
 * class Get extends HedgeAttempt.Fiberless<string> {
 *   constructor(readonly store: Store, readonly key: string) {
 *     super()
 *   }
 *
 *   launch(...[, , resume]: HedgeAttempt.LaunchArguments<string>) {
 *     const request = this.store.get(this.key, (value) => resume(Exit.succeed(value)))
 *     return { cancel: () => request.abort() }
 *   }
 *
 *   commit() {
 *     return Effect.async<string>((resume) => {
 *       const request = this.store.get(this.key, (value) => resume(Effect.succeed(value)))
 *       return Effect.sync(() => request.abort())
 *     })
 *   }
 * }
 *
 * const policy = HedgePolicy.make({ schedule: HedgeSchedule.fixed("20 millis") })
 *
 * export const get = (store: Store, key: string) => Hedge.hedge(new Get(store, key), policy)
 */
export abstract class Fiberless<A, E = never> extends Effectable.Class<A, E> {
  abstract launch(...args: LaunchArguments<A, E>): Started | undefined
}

/** What `launch` of a {@link Fiberless} effect is given. */
export type LaunchArguments<A, E = never> = readonly [
  attempt: HedgeAttempt,
  caller: Fiber.RuntimeFiber<unknown, unknown>,
  resume: (exit: Exit.Exit<A, E>) => void
]
