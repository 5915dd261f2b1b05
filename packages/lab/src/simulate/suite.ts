/** Every line of what is promised of a policy that tunes itself, as far as a simulation can tell. */
import { Effect } from "effect"
import * as Drift from "./suite/drift.js"
import * as Learned from "./suite/learned.js"
import type { Line } from "./suite/line.js"
import * as Queues from "./suite/queues.js"
import * as Solver from "./suite/solver.js"

export const run = (seed: number): Effect.Effect<ReadonlyArray<Line>> =>
  Effect.map(
    Effect.all([
      Learned.lines(seed),
      Queues.neverWorse(seed),
      Queues.recovery(seed),
      Drift.lines(seed),
      Effect.sync(() => Solver.lines(seed))
    ]),
    (parts) => parts.flat()
  )
