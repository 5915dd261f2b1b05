/** An upstream that becomes ten times slower or faster: the delay follows. */
import { Effect } from "effect"
import { quantile } from "../../tail/theory.js"
import * as Policy from "../policy.js"
import { run } from "../simulation.js"
import * as Workload from "../workload.js"
import { independent } from "./learned.js"
import { error, type Line, line } from "./line.js"

const window = 10_000
const budget = 0.1
const workload = Workload.w2(0.05)
/** When it drifts, in windows: at the end of one, and within one. */
const drifts = [3, 3.3, 3.7]

export const lines = (seed: number): Effect.Effect<ReadonlyArray<Line>> =>
  Effect.scoped(
    Effect.forEach([10, 0.1], (factor) =>
      Effect.gen(function* () {
        const drifted = Workload.times(factor, workload)
        // W2's budget is best spent on every call that is still open at the time at which it pays for all of them
        const right = quantile(Workload.survival(drifted), 1 - budget)
        const errors = yield* Effect.forEach(drifts, (windows) =>
          Effect.gen(function* () {
            const policy = yield* Policy.adaptive({ extraLoad: budget })
            const calls = (windows + 1.5) * window
            const { startedAt } = run(policy, {
              cluster: independent,
              traffic: { calls, rate: 1000, seed },
              workload: (call) => (call < windows * window ? workload : drifted)
            })
            const delay = Policy.delayOf(Policy.inspect(policy, startedAt[calls - 1]!)!)
            return delay === undefined ? Infinity : error(delay, right)
          })
        )
        return line(`error of the delay 1.5 windows after a drift × ${factor}`, Math.max(...errors), 0.1)
      })
    )
  )
