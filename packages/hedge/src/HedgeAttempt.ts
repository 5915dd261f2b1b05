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
import type { Clock, Context, Duration, Effect, Option, Tracer } from "effect"
import type { HedgeTargets } from "./HedgePolicy.js"
import * as internal from "./internal/attempt.js"
import * as fiberless from "./internal/fiberless.js"

/** One execution of a call. Index 0 is the primary; 1, 2, … are hedges. */
export interface HedgeAttempt {
  /** 0 for the primary, 1, 2, … for hedges, in the order in which they were launched. */
  readonly index: number
  /** The same for all attempts of a call, and different for any two calls, also of different processes. */
  readonly callId: string
  /** The time left until the call's deadline, by the `Clock`; none if the call has no deadline. Never negative. */
  readonly timeLeft: Effect.Effect<Option.Option<Duration.Duration>>
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

/** What {@link Fiberless} has begun. */
export interface Started {
  /** Ends it. Unless it resumes meanwhile it counts as interrupted when this returns, so nothing may be left that still runs. A throw is its defect. */
  readonly cancel: () => void
}

/**
 * An effect that can also run without a fiber: it is begun by a call, says how it ended by a callback, and is ended early by a call. Hedged by itself
 * (`Hedge.hedge`, `Hedge.hedgeWith`, `Hedge.withPolicy`) each attempt of it is launched so, which costs a third of what a fiber does; with anything
 * around it, or unhedged, it runs as `commit` says. For clients whose answers come by callbacks anyway, as those of `NodeHedgeClient` do.
 *
 * `launch` is given the attempt, the fiber that waits for the call, whose FiberRefs and context are the attempt's, and whom to tell of the exit, which may
 * happen at once. It answers undefined if it wants a fiber this time, and must then have begun nothing. What it throws is the attempt's defect.
 *
 * @example
 * import { Effect, type Exit, Exit as E, type Fiber } from "effect"
 * import { Hedge, HedgeAttempt, HedgeSchedule } from "effect-hedge"
 *
 */
export const Fiberless = fiberless.Fiberless
export type Fiberless<A, E = never> = fiberless.Fiberless<A, E>
