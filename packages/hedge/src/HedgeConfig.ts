/**
 * A policy's options from `Config`: from the environment, a file, or whatever the program's `ConfigProvider` reads.
 *
 * | key | unit | default | meaning |
 * |---|---|---|---|
 * | `delay` | duration | none, required unless there is a `quantile` | the stagger after every launch; `0 millis` launches all at once, `Infinity` waits for a failure |
 * | `quantile` | share between 0 and 1 | none | instead of a `delay`: the quantile of the primary's latency that it is, as by `HedgeSchedule.quantile` |
 * | `min`, `max` | duration | 0, none | no delay of a `quantile` is shorter, or longer |
 * | `warmUp` | whole number from 1 to 10,000 | 10 / (1 − `quantile`), at least 200 | samples before the first hedge |
 * | `meanwhile` | duration | none | the delay until then |
 * | `holdout` | share below 1 | 0 | calls in which no hedge is sent when it is due |
 * | `enabled` | boolean | `true` | `false` sends one attempt a call; a hedge after a failure is then suppressed as `Disabled` |
 * | `maxAttempts` | whole number ≥ 2 | 2 | attempts in all, the primary included |
 * | `deadline` | duration > 0 | none | one for the whole call |
 * | `attemptTimeout` | duration > 0 | none | ends one attempt as `NonFatal` |
 * | `minTimeLeft` | duration | 0; of a policy that learns, the time in which the fastest twentieth of primaries answers | no hedge with less than this left until the deadline; needs a longer `deadline` |
 * | `target` | `any` or `idle` | `any` | `idle`: hedges go only to a target with nothing in flight |
 * | `maxPushback` | duration | 1 second | a longer pushback means do-not-retry |
 * | `awaitLosers` | boolean | `false` | wait for interrupted attempts before the answer is given |
 * | `loserGrace` | duration | 10 seconds | how long a closing policy layer waits for its losers |
 * | `name` | text | the tag's id | names the policy in events and metrics |
 * | `extraLoad` | hedges per call > 0 | 0.2 | budget: what a call earns |
 * | `burst` | hedges ≥ 0 | 10 | budget: what it starts with |
 * | `maxTokens` | failures > 0, ≤ 1,000 | 100 | token bucket: its size; hedges go out while it is more than half full |
 * | `tokenRatio` | failures ≥ 0.001 | 0.1 | token bucket: what a success gives back |
 *
 * - A duration has its unit: `80 millis`, `1.5 seconds`, `2 minutes`, or is `Infinity`. A boolean is `true`, `yes`, `on`, `1`, or `false`, `no`,
 *   `off`, `0`.
 *
 * {@link adaptive} reads a policy that learns from the extra load that it may cause: the keys of the table but `delay`, `quantile`, `min`, `max` and
 * the last three, and besides
 *
 * | key | unit | default | meaning |
 * |---|---|---|---|
 * | `extraLoad` | hedges per call, above 0, at most 1 | none, required | what hedging may cost |
 * | `objective` | share between 0 and 1 | 0.99 | the quantile that is to be least |
 * | `within` | duration > 0 | none | the time that it should keep |
 *
 * where `warmUp` is 10 / `extraLoad` and at least 200, `holdout` the smaller of 0.01 and a tenth of 1 − `objective`, `maxAttempts` 2, and 3 from an
 * objective of 0.999 on. With `enabled` off it goes on to learn.
 *
 * - With none of `extraLoad`, `burst`, `maxTokens` and `tokenRatio` a policy of {@link options} names no throttle, and its calls use
 *   `HedgeThrottle.Default`. With any of them it has one of its own, `all(loadBudget(…), tokenBucket(…))`, made each time the config is read: read
 *   it once, in a layer.
 * - A value that makes no sense fails with a `ConfigError` that names its path, the value, and what is allowed; nothing is clamped. All bad
 *   values are reported at once.
 * - An environment has keys such as `HEDGE_MAX_ATTEMPTS` with `ConfigProvider.constantCase(ConfigProvider.fromEnv())`.
 *
 * @example
 * import { ConfigProvider, Effect, Layer } from "effect"
 * import { Hedge, HedgeConfig, HedgePolicy } from "effect-hedge"
 *
 * // HEDGE_DELAY="80 millis" HEDGE_MAX_ATTEMPTS=3 HEDGE_EXTRA_LOAD=0.05
 * const environment = Layer.setConfigProvider(ConfigProvider.constantCase(ConfigProvider.fromEnv()))
 *
 * export const program = Effect.succeed(42).pipe(
 *   Hedge.withPolicy,
 *   Effect.provide(HedgePolicy.layerConfig(HedgeConfig.options("hedge")).pipe(Layer.provide(environment)))
 * )
 *
 * @module
 */
import type { Config, Duration } from "effect"
import type { HedgeError } from "./Hedge.js"
import type { AdaptiveOptions, HedgePolicy, Options } from "./HedgePolicy.js"
import * as internal from "./internal/config.js"

type In = Duration.DurationInput

/**
 * The options under `name`, or at the root, for `HedgePolicy.layerConfig` or the `layerConfig` of a tag of one's own.
 *
 * Fails with `ConfigError`: `MissingData` without a `delay` or a `quantile`, `InvalidData` for a value that makes no sense.
 */
export const options: (
  name?: string
) => Config.Config<Options<unknown, unknown, never, In | undefined, In | undefined>> = internal.options

/**
 * The options of a policy that learns, under `name` or at the root, for `HedgePolicy.layerAdaptiveConfig`.
 *
 * Fails with `ConfigError`: `MissingData` without an `extraLoad`, `InvalidData` for a value that makes no sense.
 *
 * @example
 * import { ConfigProvider, Effect, Layer } from "effect"
 * import { Hedge, HedgeConfig, HedgePolicy } from "effect-hedge"
 *
 * // HEDGE_EXTRA_LOAD=0.05 HEDGE_OBJECTIVE=0.999
 * const environment = Layer.setConfigProvider(ConfigProvider.constantCase(ConfigProvider.fromEnv()))
 *
 * export const program = Effect.succeed(42).pipe(
 *   Hedge.withPolicy,
 *   Effect.provide(HedgePolicy.layerAdaptiveConfig(HedgeConfig.adaptive("hedge")).pipe(Layer.provide(environment)))
 * )
 */
export const adaptive: (name?: string) => Config.Config<AdaptiveOptions> = internal.adaptive

/**
 * The options of {@link options} as a checked policy, for `Hedge.hedge` and its relatives. Its calls may fail with `HedgeError`, since a deadline may be configured.
 *
 * @example
 * import { Effect } from "effect"
 * import { Hedge, HedgeConfig } from "effect-hedge"
 *
 * declare const fetchQuote: Effect.Effect<number, Error>
 *
 * export const program = Effect.gen(function* () {
 *   const policy = yield* HedgeConfig.policy("hedge")
 *   return yield* Effect.replicateEffect(Hedge.hedge(fetchQuote, policy), 10)
 * })
 */
export const policy: (name?: string) => Config.Config<HedgePolicy<unknown, unknown, HedgeError>> =
  internal.policy
