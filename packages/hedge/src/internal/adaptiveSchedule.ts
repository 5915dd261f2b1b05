import { Context, Duration } from "effect"
import type {
  BudgetedOptions,
  HedgeSchedule,
  LatencyPairs,
  LearningOptions,
  QuantileOptions,
  Solution
} from "../HedgeSchedule.js"
import type { Distribution, Estimators, LatencyEstimator } from "../LatencyEstimator.js"
import { type AdaptiveCall, type CallFacts, type Learning, type Spec, Tuner } from "./adaptive.js"
import {
  checkDuration,
  checkFields,
  checkInteger,
  checkNumber,
  checkPositiveDuration,
  refuse
} from "./check.js"
import { Default, isLatencyEstimator, type Latencies, survivalOf, unsafeMake } from "./estimator.js"
import { Pairs } from "./pairs.js"
import { learned } from "./schedule.js"
import { hedgedQuantile, leastLoad, type Solution as Solved, solve as solveFor } from "./solver.js"
import { Survival } from "./survival.js"
import { enoughSamples, windowSamples } from "./windows.js"

/** A schedule that learns, before it is known where. */
export class Unbound implements Learning {
  private schedule: HedgeSchedule | undefined = undefined
  /** For each number of hedges that a call may send: policies of different `maxAttempts` may share a schedule. */
  private readonly tuners = new WeakMap<LatencyEstimator, Array<Tuner | undefined>>()
  private lastIn: Estimators | undefined = undefined
  private last: LatencyEstimator | undefined = undefined

  constructor(readonly spec: Spec) {}

  toSchedule(): HedgeSchedule {
    this.schedule ??= learned(this)
    return this.schedule
  }

  begin(call: CallFacts): AdaptiveCall {
    return this.tunerIn(call.host.context, call.policy.maxAttempts).begin(call)
  }

  /** For a layer, which has an estimator of its own unless the schedule names one. */
  bind(maxAttempts: number): Tuner {
    return this.tuner(this.spec.estimator ?? unsafeMake(), maxAttempts)
  }

  tunerIn(context: Context.Context<never>, maxAttempts: number): Tuner {
    if (this.spec.estimator !== undefined) return this.tuner(this.spec.estimator, maxAttempts)
    const estimators = Context.get(context, Default)
    if (this.last === undefined || estimators !== this.lastIn) {
      this.lastIn = estimators
      this.last = estimators.estimatorOf(this.toSchedule())
    }
    return this.tuner(this.last, maxAttempts)
  }

  private tuner(estimator: LatencyEstimator, maxAttempts: number): Tuner {
    let tuners = this.tuners.get(estimator)
    if (tuners === undefined) {
      tuners = []
      this.tuners.set(estimator, tuners)
    }
    const hedges = Math.min(this.spec.hedges, maxAttempts - 1)
    tuners[hedges] ??= new Tuner(this.spec, estimator as Latencies, hedges)
    return tuners[hedges]
  }
}

// --- options -----------------------------------------------------------------------------------------------------------

export const checkExtraLoad = (extraLoad: number): number =>
  checkNumber(
    "extraLoad",
    extraLoad,
    (n) => n > 0 && n <= 1,
    "a number above 0 and at most 1, such as 0.1 for at most 10 % more requests"
  )

const checkObjective = (objective: number): number =>
  checkNumber("objective", objective, (n) => n > 0 && n < 1, "a number between 0 and 1, such as 0.99")

/** From here on one hedge is not enough: it leaves the square of the tail. */
export const hedgesFor = (objective: number): number => (objective >= 0.999 ? 2 : 1)

const millisOf = (field: string, input: Duration.DurationInput | undefined): number | undefined =>
  input === undefined ? undefined : Duration.toMillis(checkDuration(field, input))

const learningOptions = (
  { estimator, holdout, meanwhile, warmUp }: LearningOptions,
  defaults: { readonly share: number; readonly holdout: number }
) => ({
  warmUp: checkInteger(
    "warmUp",
    warmUp ?? Math.min(windowSamples, Math.max(enoughSamples, Math.ceil(10 / defaults.share))),
    1,
    windowSamples
  ),
  meanwhile: millisOf("meanwhile", meanwhile),
  holdout: checkNumber(
    "holdout",
    holdout ?? defaults.holdout,
    (n) => n >= 0 && n < 1,
    "a share from 0 to less than 1"
  ),
  estimator
})

const learningFields = {
  warmUp: undefined,
  meanwhile: undefined,
  holdout: undefined,
  estimator: [isLatencyEstimator, "a LatencyEstimator"]
} as const
const quantileFields = { min: undefined, max: undefined, ...learningFields }
export const budgetedFields = {
  extraLoad: undefined,
  objective: undefined,
  within: undefined,
  ...learningFields
}
const solveFields = { extraLoad: undefined, objective: undefined, within: undefined, maxAttempts: undefined }

// --- schedules ---------------------------------------------------------------------------------------------------------

export const quantile = (q: number, options: QuantileOptions = {}): HedgeSchedule => {
  checkFields("options", options, quantileFields)
  const share = checkNumber("quantile", q, (n) => n > 0 && n < 1, "a number between 0 and 1, such as 0.95")
  const min = millisOf("min", options.min) ?? 0
  const max = millisOf("max", options.max) ?? Infinity
  if (min > max) refuse("max", options.max, "a duration that is not shorter than min")
  const solve = (survival: Survival): Solved => {
    if (survival.finished === 0) return { delays: [], sends: [], load: 0 }
    const delay = Math.min(max, Math.max(min, survival.quantile(share)))
    return { delays: [delay], sends: [1], load: survival.of(delay) }
  }
  return new Unbound({
    solve,
    repeats: true,
    extraLoad: undefined,
    objective: 0.99,
    within: undefined,
    hedges: 1,
    ...learningOptions(options, { share: 1 - share, holdout: 0 })
  }).toSchedule()
}

export const budgeted = (options: BudgetedOptions): HedgeSchedule => {
  checkFields("options", options, budgetedFields)
  const extraLoad = checkExtraLoad(options.extraLoad)
  const objective = checkObjective(options.objective ?? 0.99)
  const { within } = options
  return new Unbound({
    solve: (survival, hedges) => solveFor(survival, { extraLoad, objective, hedges }),
    repeats: false,
    extraLoad,
    objective,
    within: within === undefined ? undefined : Duration.toMillis(checkPositiveDuration("within", within)),
    hedges: hedgesFor(objective),
    ...learningOptions(options, { share: extraLoad, holdout: Math.min(0.01, (1 - objective) / 10) })
  }).toSchedule()
}

// --- what a budget buys ------------------------------------------------------------------------------------------------

interface Aim {
  readonly objective: number
  readonly within: number | undefined
  readonly hedges: number
}

/**
 * Whether a solution reaches its objective: the time that was asked for, or, if none was, a hedge of every call that is still open when it is
 * due. With less it is left to chance who is hedged, and the tail keeps those who are not.
 */
export const reaches = (survival: Survival, { objective, within }: Aim, solution: Solved): boolean =>
  within === undefined
    ? solution.sends.length > 0 && solution.sends[0] === 1
    : hedgedQuantile(survival, solution, objective) <= within

export const neededLoad = (survival: Survival, aim: Aim): number | undefined =>
  leastLoad(survival, aim, (solution) => reaches(survival, aim, solution))

/** A survival function may be anybody's. */
type Known = Pick<Distribution, "samples" | "survival"> | LatencyPairs

/** What is known, and of how many attempts. */
const known = (latencies: Known): readonly [Survival, mostAttempts: number] => {
  if ("firsts" in latencies) return [pairsOf(latencies), 2]
  const survival =
    survivalOf(latencies as Distribution) ??
    new Survival().sample((millis) => latencies.survival(Duration.millis(millis)), latencies.samples)
  return [survival, 3]
}

const pairsOf = ({ firsts, seconds }: LatencyPairs): Pairs => {
  if (firsts.length !== seconds.length) refuse("seconds", seconds, "as many latencies as there are firsts")
  for (const millis of Array.from(firsts)) checkMillis("firsts", millis)
  for (const millis of Array.from(seconds)) checkMillis("seconds", millis)
  return new Pairs(firsts, seconds)
}

const checkMillis = (field: string, millis: number): number =>
  checkNumber(field, millis, (n) => n >= 0, "milliseconds, not negative")

export const solve = (
  latencies: Known,
  options: {
    readonly extraLoad: number
    readonly objective?: number
    readonly within?: Duration.DurationInput
    readonly maxAttempts?: number
  }
): Solution => {
  checkFields("options", options, solveFields)
  const [survival, mostAttempts] = known(latencies)
  const extraLoad = checkExtraLoad(options.extraLoad)
  const objective = checkObjective(options.objective ?? 0.99)
  const maxAttempts = checkInteger(
    "maxAttempts",
    options.maxAttempts ?? Math.min(1 + hedgesFor(objective), mostAttempts),
    2,
    mostAttempts
  )
  const aim = { objective, within: millisOf("within", options.within), hedges: maxAttempts - 1 }
  const solution = solveFor(survival, { extraLoad, ...aim })
  return {
    delays: solution.delays.map((millis) => Duration.millis(millis)),
    probabilities: solution.sends,
    extraLoad: solution.load,
    quantile: (p) => Duration.millis(hedgedQuantile(survival, solution, p)),
    isReached: reaches(survival, aim, solution),
    neededExtraLoad: neededLoad(survival, aim)
  }
}
