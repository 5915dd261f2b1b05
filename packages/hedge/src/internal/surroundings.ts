import * as Context from "effect/Context"
import * as Tracer from "effect/Tracer"
import type { Listener, SuppressionReason } from "../HedgeEvent.js"
import type { HedgeTargets } from "../HedgePolicy.js"
import { Default, type HedgeThrottle } from "../HedgeThrottle.js"
import { type Attempt, EnclosingAttempt } from "./attempt.js"
import { Listeners } from "./listeners.js"
import type { EnginePolicy } from "./policy.js"
import { copyOf } from "./shortcut.js"

/** Whether hedging is on: turned off by `Hedge.withoutHedging`. */
export class Hedging extends /*#__PURE__*/ Context.Reference<Hedging>()("effect-hedge/Hedging", {
  defaultValue: () => true
}) {}

/** Who knows where hedges may be sent, if somebody does. */
export class Targets extends /*#__PURE__*/ Context.Reference<Targets>()("effect-hedge/Targets", {
  defaultValue: (): HedgeTargets | undefined => undefined
}) {}

type Surroundings = Context.Context<never>

/** What was provided, if it was. `Context.get` takes three functions and the table of defaults, and every call asks five times. */
const provided = <A>(context: Surroundings, { key }: { readonly key: string }): A | undefined =>
  context.unsafeMap.get(key)

const nobody: ReadonlyArray<Listener> = []

/** Why a call may not hedge at all, if so; known when it starts. */
export const restrictionOf = (context: Surroundings, policy: EnginePolicy): SuppressionReason | undefined => {
  if (provided<boolean>(context, Hedging) === false) return "Disabled"
  // once a hedge has won, what it leaves running, such as a stream, multiplies no others (R15)
  const hedge = enclosingAttempt(context)?.hedge
  if (hedge !== undefined && hedge.outcome !== "Win") return "Nested"
  return policy.eligible ? undefined : "Ineligible"
}

export const throttleOf = (context: Surroundings, policy: EnginePolicy): HedgeThrottle =>
  policy.throttle ?? Context.get(context, Default)

export const listenersOf = (context: Surroundings): ReadonlyArray<Listener> =>
  provided<{ readonly list: ReadonlyArray<Listener> }>(context, Listeners)?.list ?? nobody

export const enclosingAttempt = (context: Surroundings): Attempt | undefined =>
  provided<Attempt>(context, EnclosingAttempt)

/** The caller's context and what the engine adds for an attempt; it ends with the attempt. */
export const attemptContext = (context: Surroundings, attempt: Attempt): Surroundings => {
  const services = copyOf<string, unknown>(context.unsafeMap)
  services.set(EnclosingAttempt.key, attempt)
  if (attempt.span !== undefined) services.set(Tracer.ParentSpan.key, attempt.span)
  return Context.unsafeMake(services)
}
