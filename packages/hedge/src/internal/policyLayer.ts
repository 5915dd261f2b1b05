import type { ConfigError, Duration } from "effect"
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { AdaptiveOptions, HedgePolicy, Options, Service, TagClass } from "../HedgePolicy.js"
import { adaptive, checkAdaptive } from "./adaptivePolicy.js"
import { Unbound } from "./adaptiveSchedule.js"
import { check, name, refusableConfig, type Shape } from "./check.js"
import { makeDefault } from "./estimator.js"
import { type Losers, losersScoped } from "./losers.js"
import { changed, type EnginePolicy, fromInput, type Upstreams } from "./policy.js"
import { provideSchedule } from "./schedule.js"

type In = Duration.DurationInput

/** The policy with what it needs taken from a context, so that a tag can hold it. */
const closeOver = (self: EnginePolicy, context: Context.Context<unknown>, losers: Losers): EnginePolicy => {
  const { onDiscard } = self
  return changed(self, {
    schedule: provideSchedule(self.schedule, context),
    onDiscard:
      onDiscard === undefined
        ? undefined
        : (value) =>
            Effect.mapInputContext(onDiscard(value), (own: Context.Context<never>) =>
              Context.merge(context, own)
            ),
    // a policy from another layer goes on to learn there
    learning: self.learning instanceof Unbound ? self.learning.bind(self.maxAttempts) : self.learning,
    estimators: self.estimators ?? makeDefault(),
    losers
  })
}

const layerOf = <Self, Id extends string>(
  tag: TagClass<Self, Id>,
  input:
    | Options<unknown, unknown, unknown, In | undefined, In | undefined>
    | HedgePolicy<unknown, unknown, unknown, unknown>,
  upstreams?: Upstreams
): Layer.Layer<Self, never, unknown> => {
  const given = fromInput(input as never)
  const policy = upstreams === undefined ? given : changed(given, { upstreams })
  const named = policy.name === "inline" ? changed(policy, { name: tag.key }) : policy
  return Layer.scoped(
    tag,
    Effect.gen(function* () {
      const context = yield* Effect.context<unknown>()
      const losers = yield* losersScoped(named.name, named.loserGrace)
      return closeOver(named, context, losers) as unknown as Service
    })
  )
}

/** Checked at once; the state is the layer's, so it is made when that is built. */
const adaptiveLayer = <Self, Id extends string>(
  tag: TagClass<Self, Id>,
  options: AdaptiveOptions
): Layer.Layer<Self> => {
  checkAdaptive(options)
  return Layer.unwrapEffect(
    Effect.sync(() => {
      const made = adaptive(options)
      return layerOf(tag, made.options, made.upstreams) as Layer.Layer<Self>
    })
  )
}

const aConfig: Shape = [Config.isConfig, "a Config, such as HedgeConfig.options() is"]

const configLayer = <Self, Input>(
  config: Config.Config<Input>,
  toLayer: (input: Input) => Layer.Layer<Self>
): Layer.Layer<Self, ConfigError.ConfigError> =>
  Layer.unwrapEffect(
    Effect.flatMap(check("config", config, aConfig), (input) =>
      refusableConfig(
        () => toLayer(input),
        (field) => [field]
      )
    )
  )

export const Tag = <const Id extends string>(id: Id): (<Self>() => TagClass<Self, Id>) => {
  check("id", id, name)
  return <Self>(): TagClass<Self, Id> => {
    const tag = Context.Tag(id)<Self, Service>() as unknown as TagClass<Self, Id>
    const layer = (input: never) => layerOf(tag, input)
    const layerAdaptive = (options: AdaptiveOptions) => adaptiveLayer(tag, options)
    return Object.assign(tag, {
      layer,
      layerConfig: (config: Config.Config<never>) => configLayer(config, layer as never),
      layerAdaptive,
      layerAdaptiveConfig: (config: Config.Config<AdaptiveOptions>) => configLayer(config, layerAdaptive)
    }) as never
  }
}
