/** Probes: small requests at their pace, beside whatever else the client is doing. */
import { type Cause, Effect } from "effect"
import { now } from "../clock.js"
import * as Load from "../tail/load.js"
import type { Pace } from "./settings.js"

/** How long after its time-out a probe is waited for that should have ended then, and after the last one any probe at all. */
const graceMs = 1_000
const longestPatienceMs = 30_000

export interface Options<E> {
  readonly pace: Pace
  /** When no more probes are started; those in flight are waited for. */
  readonly durationMs: number
  readonly timeoutMs: number
  readonly nameFailure: (cause: Cause.Cause<E>) => string
  readonly onStarted: (started: number) => void
}

/** @param probe given the number of probes before it. */
export const run = <E, R>(
  probe: (index: number) => Effect.Effect<void, E, R>,
  { durationMs, nameFailure, onStarted, pace, timeoutMs }: Options<E>
): Effect.Effect<Load.Outcomes, never, R> => {
  let started = 0
  const next = Effect.suspend(() => {
    onStarted(started + 1)
    return probe(started++)
  })
  const patienceMs = Math.min(timeoutMs + graceMs, longestPatienceMs)
  const once = { calls: 1, rate: null, fanOut: 1 }
  const options = { patienceMs, nameFailure, onEnded: () => {} }
  if (pace._tag === "Every") {
    const load = { calls: Math.ceil(durationMs / pace.ms), rate: 1_000 / pace.ms, fanOut: 1 }
    return Load.run(next, { ...options, load })
  }
  return Effect.gen(function* () {
    const latencies: Array<number | null> = []
    const failures: Record<string, number> = {}
    const endsAt = now() + durationMs
    while (now() < endsAt) {
      const one = yield* Load.run(next, { ...options, load: once })
      latencies.push(...one.latencies)
      for (const name of Object.keys(one.failures)) failures[name] = (failures[name] ?? 0) + 1
      yield* Effect.sleep(Math.min(pace.pauseMs, Math.max(0, endsAt - now())))
    }
    return { latencies, failures }
  })
}
