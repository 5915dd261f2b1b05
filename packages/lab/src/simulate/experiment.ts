/** Each load without hedges, with hedges, and with hedges that only go to idle servers. */
import { Duration, Effect, type Scope } from "effect"
import { HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import * as Policy from "./policy.js"
import type { Hedging, Load, Settings } from "./settings.js"
import { type Outcomes, run, type Watch } from "./simulation.js"
import { extraLoad, percentile, recoveredAfter, times } from "./statistics.js"

export type Side = "unhedged" | "hedged" | "idle"

export interface Row {
  readonly load: Load
  readonly side: Side
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly p999: number
  /** Of the P99 of unhedged calls. */
  readonly ratio: number
  readonly requestsPerCall: number
  /** Of the calls that sent a hedge, those that it answered; null if none did. */
  readonly winShare: number | null
  readonly suppressed: Readonly<Record<string, number>>
  /** What the policy knows at the end; undefined if it learns nothing. */
  readonly learned: Learned | undefined
  /** How long after the slowdown's end calls were as fast as before; null without one. */
  readonly recoveredAfterMs: number | null
}

export interface Learned {
  readonly status: string
  readonly delayMs: number | null
  readonly unhedgedP99: number
}

/** Calls in no figure, in which a policy may learn. */
export const warmUpOf = (calls: number): number => Math.min(2000, Math.floor(calls / 10))

/** Who watches a simulation, and is told its outcomes in the end. */
export type Observer = (load: Load, side: Side) => Watch & { readonly ended: (outcomes: Outcomes) => void }

export const rows = (settings: Settings, observer?: Observer): Effect.Effect<ReadonlyArray<Row>> =>
  Effect.map(
    Effect.forEach(settings.loads, (load) => Effect.scoped(rowsOf(settings, load, observer))),
    (all) => all.flat()
  )

const rowsOf = (
  settings: Settings,
  load: Load,
  observer: Observer | undefined
): Effect.Effect<ReadonlyArray<Row>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { calls, cluster, seed, workload } = settings
    const scenario = { cluster, traffic: { calls, rate: load.rate, seed }, workload: () => workload }
    const outcomesOf = (side: Side, policy: HedgePolicy.Service | undefined) => {
      const watch = observer?.(load, side)
      const outcomes = run(policy, scenario, watch)
      watch?.ended(outcomes)
      return outcomes
    }
    const unhedged = rowOf(
      settings,
      load,
      "unhedged",
      undefined,
      outcomesOf("unhedged", undefined),
      undefined
    )
    const hedged = yield* Effect.forEach(sidesOf(settings), (side) =>
      Effect.map(policyOf(settings.hedging, side), (policy) =>
        rowOf(settings, load, side, policy, outcomesOf(side, policy), unhedged.p99)
      )
    )
    return [unhedged, ...hedged]
  })

const sidesOf = ({ cluster }: Settings): ReadonlyArray<"hedged" | "idle"> =>
  cluster.servers === Infinity ? ["hedged"] : ["hedged", "idle"]

const policyOf = (
  hedging: Hedging,
  side: "hedged" | "idle"
): Effect.Effect<HedgePolicy.Service, never, Scope.Scope> => {
  const target = side === "idle" ? "idle" : "any"
  return hedging._tag === "Adaptive"
    ? Policy.adaptive({ extraLoad: hedging.extraLoad, objective: hedging.objective, target })
    : Policy.built(
        HedgePolicy.layer({
          schedule: HedgeSchedule.fixed(hedging.delayMs),
          throttle: HedgeThrottle.loadBudget({ extraLoad: hedging.extraLoad }),
          target
        })
      )
}

const rowOf = (
  { calls, cluster: { slowdown } }: Settings,
  load: Load,
  side: Side,
  policy: HedgePolicy.Service | undefined,
  outcomes: Outcomes,
  unhedgedP99: number | undefined
): Row => {
  const from = warmUpOf(calls)
  const sorted = times(outcomes, from)
  const p99 = percentile(sorted, 0.99)
  const known = policy === undefined ? undefined : Policy.inspect(policy, outcomes.startedAt[calls - 1]!)
  const hedged = outcomes.hedges.reduce((count, hedges) => count + Math.min(1, hedges), 0)
  return {
    load,
    side,
    p50: percentile(sorted, 0.5),
    p95: percentile(sorted, 0.95),
    p99,
    p999: percentile(sorted, 0.999),
    ratio: p99 / (unhedgedP99 ?? p99),
    requestsPerCall: 1 + extraLoad(outcomes, from),
    winShare: hedged === 0 ? null : outcomes.wins / hedged,
    suppressed: outcomes.suppressed,
    learned: known === undefined ? undefined : learnedOf(known),
    recoveredAfterMs: slowdown === undefined ? null : recoveredAfter(outcomes, slowdown.from, slowdown.to)
  }
}

const learnedOf = (known: HedgePolicy.Inspection): Learned => ({
  status: known.suspendedBy === undefined ? known.status : `${known.status} (${known.suspendedBy})`,
  delayMs: Policy.delayOf(known) ?? null,
  unhedgedP99: Duration.toMillis(known.p99.unhedged)
})
