import { Clock, Context, Duration, Effect, Layer, Option, type Scope } from "effect"
import { HedgePolicy } from "effect-hedge"

/** A policy that learns, with the state that a layer of its own would hold. */
export const adaptive = (
  options: HedgePolicy.AdaptiveOptions
): Effect.Effect<HedgePolicy.Service, never, Scope.Scope> => built(HedgePolicy.layerAdaptive(options))

export const built = (
  layer: Layer.Layer<HedgePolicy.DefaultPolicy>
): Effect.Effect<HedgePolicy.Service, never, Scope.Scope> =>
  Effect.map(Layer.build(layer), (context) => Context.get(context, HedgePolicy.DefaultPolicy))

/** What a policy knows at a time of the simulation; undefined if it learns nothing. */
export const inspect = (policy: HedgePolicy.Service, now: number): HedgePolicy.Inspection | undefined =>
  Option.getOrUndefined(Effect.runSync(Effect.withClock(HedgePolicy.inspect(policy), clockAt(now))))

const clockAt = (now: number): Clock.Clock =>
  Object.assign(Clock.make(), {
    unsafeCurrentTimeMillis: () => now,
    currentTimeMillis: Effect.succeed(now)
  })

/** The delay of the first hedge; undefined if none is sent. */
export const delayOf = ({ delays }: HedgePolicy.Inspection): number | undefined =>
  delays[0] === undefined ? undefined : Duration.toMillis(delays[0])
