import type { Duration } from "effect"
import * as Struct from "effect/Struct"
import type { AdaptiveOptions, Options } from "../HedgePolicy.js"
import { budgeted, budgetedShapes, defaultObjective, hedgesFor } from "./adaptiveSchedule.js"
import { checkFields, type Shapes } from "./check.js"
import { checked, shapes, type Upstreams } from "./policy.js"
import { all, makeDefault, pace, perUpstream } from "./throttle.js"

type In = Duration.DurationInput
type AnyServiceOptions = Options<unknown, unknown, never, In | undefined, In | undefined>

const ofSchedule = Struct.keys(budgetedShapes)

const adaptiveShapes: Shapes = {
  ...budgetedShapes,
  ...shapes,
  schedule: [() => false, "no value: the schedule is worked out from extraLoad"]
}

/** The options of a policy that is given its extra load, with the state that its layer holds. */
export const adaptive = (
  options: AdaptiveOptions
): { readonly options: AnyServiceOptions; readonly upstreams: Upstreams | undefined } => {
  checkFields("options", options, adaptiveShapes, ["extraLoad"])
  const { extraLoad, objective, throttle } = options
  const schedule = budgeted(Struct.pick(options, ...ofSchedule))
  const maxAttempts = options.maxAttempts ?? 1 + hedgesFor(objective ?? defaultObjective)
  const policy = { ...Struct.omit(options, ...ofSchedule), schedule, maxAttempts }
  if (throttle !== undefined) return { options: policy, upstreams: undefined }
  const make = () => all(makeDefault({ extraLoad }), pace(extraLoad))
  const throttleOf = perUpstream(make)
  const unnamed = make()
  return {
    options: { ...policy, throttle: unnamed },
    upstreams: (upstream) => (upstream === undefined ? unnamed : throttleOf(upstream))
  }
}

/** Refuses options that make no sense, also together. */
export const checkAdaptive = (options: AdaptiveOptions): void => {
  checked(adaptive(options).options)
}
