/** The hedged side: the policy that is measured, and what became of its hedges. */

import type { HttpClient } from "@effect/platform"
import { HttpHedge } from "@effect-hedge/platform"
import { HedgeEvent, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import type { HedgeCounts } from "./protocol.js"
import type { Hedging } from "./settings.js"

/** A fixed delay under the default throttle, its budget as asked for. */
export const policy = (hedging: Hedging, timeoutMs: number | null) =>
  HedgePolicy.make({
    name: "hedge-lab",
    schedule: HedgeSchedule.fixed(hedging.delayMs),
    maxAttempts: hedging.maxAttempts,
    throttle: HedgeThrottle.makeDefault({ extraLoad: hedging.extraLoad }),
    ...(timeoutMs === null ? {} : { deadline: timeoutMs })
  })

/** A client hedged by the policy, and a listener that counts until it is told to forget. */
export const make = (
  client: HttpClient.HttpClient,
  options: { readonly hedging: Hedging; readonly timeoutMs: number | null }
) => {
  let counts = start()
  const listener: HedgeEvent.Listener = {
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
  return {
    client: client.pipe(HttpHedge.withHedge({ policy: policy(options.hedging, options.timeoutMs) })),
    layer: HedgeEvent.layer(listener),
    forget: () => {
      counts = start()
    },
    counts: (): HedgeCounts => counts
  }
}

/** No hedges yet. */
export const start = () => ({ hedgedCalls: 0, sent: 0, won: 0, suppressed: {} as Record<string, number> })
