import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { HedgePolicy, Inspection } from "../HedgePolicy.js"
import type { Key } from "../LatencyEstimator.js"
import { Tuner } from "./adaptive.js"
import { neededLoad, reaches, Unbound } from "./adaptiveSchedule.js"
import { Default, pathOf } from "./estimator.js"
import { checkPolicy, type EnginePolicy } from "./policy.js"
import { nowMillis } from "./runtime.js"
import { hedgedQuantile, noHedge } from "./solver.js"
import { Survival } from "./survival.js"

const tunerOf = (policy: EnginePolicy, context: Context.Context<never>): Tuner | undefined => {
  const { learning, maxAttempts } = policy
  if (learning instanceof Tuner) return learning
  return learning instanceof Unbound
    ? learning.tunerIn(Context.get(context, Default), maxAttempts)
    : undefined
}

const look = (tuner: Tuner, policy: EnginePolicy, key: Key | undefined, now: number): Inspection => {
  const own = tuner.peek(key === undefined ? policy.path : pathOf(key))
  const current = own.current(now)
  const suspendedBy = current.guards.at(now)
  const { solution } = current
  const { windows } = current.entry
  const hedgedFrom = solution?.delays[0]
  const survival =
    hedgedFrom === undefined ? windows.read(new Survival()) : windows.readBeyond(hedgedFrom, new Survival())
  const status =
    solution === undefined
      ? "WarmUp"
      : suspendedBy !== undefined
        ? "Suspended"
        : solution.delays.length === 0
          ? "NoGain"
          : "Active"
  const sent = status === "Active" ? solution! : noHedge
  const { extraLoad, objective, within } = tuner.spec
  const aim = { objective, within, hedges: tuner.hedges }
  const quantiles = (p: number) => {
    const isKnown = survival.samples > 0
    return {
      unhedged: Duration.millis(isKnown ? survival.quantile(p) : Infinity),
      hedged: Duration.millis(isKnown ? hedgedQuantile(survival, sent, p) : Infinity)
    }
  }
  return {
    status,
    suspendedBy,
    delays: (solution?.delays ?? []).map((millis) => Duration.millis(millis)),
    probabilities: solution?.sends ?? [],
    samples: windows.samples,
    achievedExtraLoad: own.load.perCall,
    expectedExtraLoad: sent.load,
    extraLoad,
    objective,
    p99: quantiles(0.99),
    atObjective: quantiles(objective),
    isReached: solution !== undefined && reaches(survival, aim, solution),
    neededExtraLoad: solution === undefined || extraLoad === undefined ? undefined : neededLoad(survival, aim)
  }
}

const ask = <A>(
  self: HedgePolicy<never, never, unknown, unknown>,
  question: (tuner: Tuner, policy: EnginePolicy, now: number) => A
): Effect.Effect<Option.Option<A>> => {
  const policy = checkPolicy(self)
  return Effect.contextWithEffect((context: Context.Context<never>) =>
    Effect.clockWith((clock) =>
      Effect.sync(() =>
        Option.map(Option.fromNullable(tunerOf(policy, context)), (tuner) =>
          question(tuner, policy, nowMillis(clock))
        )
      )
    )
  )
}

export const inspect = (
  self: HedgePolicy<never, never, unknown, unknown>,
  key?: Key
): Effect.Effect<Option.Option<Inspection>> =>
  ask(self, (tuner, policy, now) => look(tuner, policy, key, now))

export const keys = (
  self: HedgePolicy<never, never, unknown, unknown>
): Effect.Effect<ReadonlyArray<ReadonlyArray<string>>> =>
  Effect.map(
    ask(self, (tuner) => tuner.keys),
    Option.getOrElse(() => [])
  )
