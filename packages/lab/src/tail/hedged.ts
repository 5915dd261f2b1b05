/** The hedged side: the policy that is measured, and what became of its hedges. */

import type { HttpClient } from "@effect/platform"
import { HttpHedge } from "@effect-hedge/platform"
import { Context, Duration, Effect, Layer, Option } from "effect"
import { HedgeEvent, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import type { HedgeCounts, Learned } from "./protocol.js"
import type { Hedging } from "./settings.js"

/** A fixed delay under the default throttle, its budget as asked for; or one that is learned, under the same. */
const layer = ({ delayMs, extraLoad, maxAttempts }: Hedging, timeoutMs: number | null) => {
  const options = {
    name: "hedge-lab",
    maxAttempts,
    ...(timeoutMs === null ? {} : { deadline: timeoutMs })
  }
  if (delayMs === null) return HedgePolicy.layerAdaptive({ ...options, extraLoad })
  return HedgePolicy.layer({
    ...options,
    schedule: HedgeSchedule.fixed(delayMs),
    throttle: HedgeThrottle.makeDefault({ extraLoad })
  })
}

/** A client hedged as `tail` asks for. */
export const make = (
  client: HttpClient.HttpClient,
  { hedging, timeoutMs }: { readonly hedging: Hedging; readonly timeoutMs: number | null }
) => hedge(client, layer(hedging, timeoutMs))

/** A client hedged by the policy, which lives as long as the scope, and a listener that counts until it is told to forget. */
export const hedge = (
  client: HttpClient.HttpClient,
  policyLayer: Layer.Layer<HedgePolicy.DefaultPolicy>,
  options: HttpHedge.Options = {}
) =>
  Effect.gen(function* () {
    let counts = noHedges()
    const listener: HedgeEvent.Listener = {
      only: ["HedgeSuppressed", "CallEnded"],
      onEvent: (event) => {
        switch (event._tag) {
          case "HedgeSuppressed":
            counts.suppressed[event.reason] = (counts.suppressed[event.reason] ?? 0) + 1
            return
          case "CallEnded":
            counts.sent += event.attempts - 1
            if (event.attempts > 1) counts.hedgedCalls++
            if (event.outcome === "Win" && event.winner !== 0) counts.won++
        }
      }
    }
    const policy = Context.get(yield* Layer.build(policyLayer), HedgePolicy.DefaultPolicy)
    return {
      client: client.pipe(HttpHedge.withHedge({ ...options, policy })),
      layer: HedgeEvent.layer(listener),
      forget: () => {
        counts = noHedges()
      },
      counts: (): HedgeCounts => counts,
      /** What the policy knows now. */
      learned: Effect.map(HedgePolicy.inspect(policy), (inspection) =>
        Option.getOrNull(Option.map(inspection, learnedOf))
      )
    }
  })

const learnedOf = (known: HedgePolicy.Inspection): Learned => ({
  status: known.status,
  suspendedBy: known.suspendedBy ?? null,
  delayMs: known.delays[0] === undefined ? null : Duration.toMillis(known.delays[0]),
  probability: known.probabilities[0] ?? 0,
  samples: known.samples,
  p99: { unhedged: finite(known.p99.unhedged), hedged: finite(known.p99.hedged) }
})

const finite = (duration: Duration.Duration): number | null =>
  Duration.isFinite(duration) ? Duration.toMillis(duration) : null

export const noHedges = () => ({ hedgedCalls: 0, sent: 0, won: 0, suppressed: {} as Record<string, number> })
