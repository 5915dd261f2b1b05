import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"
import type {
  BudgetedOptions,
  HedgeSchedule,
  LatencyPairs,
  LearningOptions,
  QuantileOptions,
  Solution,
  SolveOptions
} from "../HedgeSchedule.js"
import type { Distribution, Estimators, LatencyEstimator } from "../LatencyEstimator.js"
import { type AdaptiveCall, type CallFacts, type Learning, type Spec, Tuner } from "./adaptive.js"
import {
  check,
  checkFields,
  duration,
  number,
  positiveDuration,
  refuse,
  type Shape,
  type Shapes,
  wholeNumber
} from "./check.js"
import {
  anEstimator,
  Default,
  type Latencies,
  milliseconds,
  share,
  survivalOf,
  unsafeMake
} from "./estimator.js"
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

  begin(call: CallFacts, now: number): AdaptiveCall {
    const { estimators, maxAttempts } = call.policy
    return this.tunerIn(estimators ?? Context.get(call.host.context, Default), maxAttempts).begin(call, now)
  }

  forAttempts(): this {
    return this
  }

  /** For a layer, which has an estimator of its own unless the schedule names one. */
  bind(maxAttempts: number): Tuner {
    return this.tuner(this.spec.estimator ?? unsafeMake(), maxAttempts)
  }

  tunerIn(estimators: Estimators, maxAttempts: number): Tuner {
    if (this.spec.estimator !== undefined) return this.tuner(this.spec.estimator, maxAttempts)
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
    tuners[hedges] ??= new Tuner(this.spec, estimator as Latencies, hedges, (maxAttempts) =>
      this.tuner(estimator, maxAttempts)
    )
    return tuners[hedges]
  }
}

// --- options -----------------------------------------------------------------------------------------------------------

/** From here on one hedge is not enough: it leaves the square of the tail. */
export const hedgesFor = (objective: number): number => (objective >= 0.999 ? 2 : 1)

export const defaultObjective = 0.99

const learningShapes: Shapes<keyof LearningOptions> = {
  warmUp: wholeNumber(1, windowSamples),
  meanwhile: duration,
  holdout: number((n) => n >= 0 && n < 1, "a share from 0 to less than 1"),
  estimator: anEstimator
}

export const quantileShapes: Shapes<keyof QuantileOptions> = {
  min: duration,
  max: duration,
  ...learningShapes
}

const aimShapes: Shapes<"extraLoad" | "objective" | "within"> = {
  extraLoad: number(
    (n) => n > 0 && n <= 1,
    "a number above 0 and at most 1, such as 0.1 for at most 10 % more requests"
  ),
  objective: share,
  within: positiveDuration
}

export const budgetedShapes: Shapes<keyof BudgetedOptions> = { ...aimShapes, ...learningShapes }

const millisOf = (input: Duration.DurationInput | undefined): number | undefined =>
  input === undefined ? undefined : Duration.toMillis(input)

const learningOptions = (
  { estimator, holdout, meanwhile, warmUp }: LearningOptions,
  defaults: { readonly share: number; readonly holdout: number }
) => ({
  warmUp: warmUp ?? Math.min(windowSamples, Math.max(enoughSamples, Math.ceil(10 / defaults.share))),
  meanwhile: millisOf(meanwhile),
  holdout: holdout ?? defaults.holdout,
  estimator
})

// --- schedules ---------------------------------------------------------------------------------------------------------

export const quantile = (q: number, options: QuantileOptions = {}): HedgeSchedule => {
  check("quantile", q, share)
  checkFields("options", options, quantileShapes)
  const min = millisOf(options.min) ?? 0
  const max = millisOf(options.max) ?? Infinity
  if (min > max) refuse("max", options.max, "a duration that is not shorter than min")
  const solve = (survival: Survival): Solved => {
    const delay = Math.min(max, Math.max(min, survival.quantile(q)))
    return { delays: [delay], sends: [1], load: survival.of(delay) }
  }
  return new Unbound({
    solve,
    repeats: true,
    extraLoad: undefined,
    objective: defaultObjective,
    within: undefined,
    hedges: 1,
    ...learningOptions(options, { share: 1 - q, holdout: 0 })
  }).toSchedule()
}

export const budgeted = (options: BudgetedOptions): HedgeSchedule => {
  checkFields("options", options, budgetedShapes, ["extraLoad"])
  const { extraLoad, objective = defaultObjective, within } = options
  return new Unbound({
    solve: (survival, hedges) => solveFor(survival, { extraLoad, objective, hedges }),
    repeats: false,
    extraLoad,
    objective,
    within: millisOf(within),
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
  within === undefined ? solution.sends[0] === 1 : hedgedQuantile(survival, solution, objective) <= within

export const neededLoad = (survival: Survival, aim: Aim): number | undefined =>
  leastLoad(survival, aim, (solution) => reaches(survival, aim, solution))

type Sampled = Pick<Distribution, "samples" | "survival">

const isSampled = (u: unknown): u is Sampled =>
  Predicate.isRecord(u) && Predicate.isFunction(u.survival) && Predicate.isNumber(u.samples)

const isList = (u: unknown): u is ArrayLike<number> => Array.isArray(u) || ArrayBuffer.isView(u)

const isPairs = (u: unknown): u is LatencyPairs =>
  Predicate.isRecord(u) && isList(u.firsts) && isList(u.seconds)

const latencies: Shape = [(u) => isSampled(u) || isPairs(u), "a Distribution, or pairs as firsts and seconds"]

/** A survival function may be anybody's. */
const survivalFrom = (sampled: Sampled): Survival =>
  survivalOf(sampled) ??
  new Survival().sample((millis) => sampled.survival(Duration.millis(millis)), sampled.samples)

const pairsOf = ({ firsts, seconds }: LatencyPairs): Pairs => {
  if (firsts.length !== seconds.length) refuse("seconds", seconds, "as many latencies as there are firsts")
  for (const millis of Array.from(firsts)) check("firsts", millis, milliseconds)
  for (const millis of Array.from(seconds)) check("seconds", millis, milliseconds)
  return new Pairs(firsts, seconds)
}

export const solve = (subject: Sampled | LatencyPairs, options: SolveOptions): Solution => {
  check("latencies", subject, latencies)
  const [survival, mostAttempts] = isPairs(subject) ? [pairsOf(subject), 2] : [survivalFrom(subject), 3]
  checkFields("options", options, { ...aimShapes, maxAttempts: wholeNumber(2, mostAttempts) }, ["extraLoad"])
  const { extraLoad, objective = defaultObjective, within } = options
  const maxAttempts = options.maxAttempts ?? Math.min(1 + hedgesFor(objective), mostAttempts)
  const aim = { objective, within: millisOf(within), hedges: maxAttempts - 1 }
  const solution = solveFor(survival, { extraLoad, ...aim })
  return {
    delays: solution.delays.map((millis) => Duration.millis(millis)),
    probabilities: solution.sends,
    extraLoad: solution.load,
    quantile: (p) => {
      check("quantile", p, share)
      return Duration.millis(survival.samples === 0 ? Infinity : hedgedQuantile(survival, solution, p))
    },
    isReached: reaches(survival, aim, solution),
    neededExtraLoad: neededLoad(survival, aim)
  }
}
