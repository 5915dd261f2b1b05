import type { Duration } from "effect"
import type { AdaptiveOptions, Options } from "../HedgePolicy.js"
import type { BudgetedOptions } from "../HedgeSchedule.js"
import type { HedgeThrottle } from "../HedgeThrottle.js"
import { budgeted, budgetedFields, hedgesFor } from "./adaptiveSchedule.js"
import { checkObject, refuse } from "./check.js"
import { Lru } from "./lru.js"
import { all, defaults, loadBudget, pace, tokenBucket } from "./throttle.js"

type In = Duration.DurationInput
type AnyServiceOptions = Options<unknown, unknown, never, In | undefined, In | undefined>

const mostUpstreams = 256

const throttleFor = (extraLoad: number): HedgeThrottle =>
  all(loadBudget({ extraLoad, burst: defaults.burst }), tokenBucket(defaults), pace(extraLoad))

/** Each upstream's throttle: one that is out takes nothing from another. Those that were used last are kept. */
export type Upstreams = (upstream: string) => HedgeThrottle

/** The options of a policy that is given its extra load, with the state that its layer holds. */
export const adaptive = (
  options: AdaptiveOptions
): { readonly options: AnyServiceOptions; readonly upstreams: Upstreams | undefined } => {
  checkObject("options", options, "an object with an extraLoad")
  const own: Record<string, unknown> = {}
  const rest: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(options)) {
    if (value === undefined) continue
    if (field === "schedule") refuse(field, value, "no value: the schedule is worked out from extraLoad")
    if (Object.hasOwn(budgetedFields, field)) own[field] = value
    else rest[field] = value
  }
  const schedule = budgeted(own as unknown as BudgetedOptions)
  const maxAttempts = 1 + hedgesFor(options.objective ?? 0.99)
  if (options.throttle !== undefined)
    return { options: { maxAttempts, ...rest, schedule }, upstreams: undefined }
  const throttles = new Lru<HedgeThrottle>(mostUpstreams)
  const { extraLoad } = options
  return {
    options: { maxAttempts, throttle: throttleFor(extraLoad), ...rest, schedule },
    upstreams: (upstream) => throttles.get(upstream, () => throttleFor(extraLoad))
  }
}
