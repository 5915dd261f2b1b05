import { Cause, Duration, Effect, Runtime, type Scope } from "effect"
import type { Options, Service } from "../NodeHedgeClient.js"
import { make as makeClient } from "./client.js"
import { Lanes } from "./lanes.js"
import { checkOptions } from "./options.js"
import { Reporter } from "./reporter.js"
import { defaultCloseGrace } from "./upstream.js"

export const make = (options: Options = {}): Effect.Effect<Service, never, Scope.Scope> => {
  checkOptions(options)
  const { closeGrace = defaultCloseGrace, listeners = [] } = options
  return Effect.gen(function* () {
    const run = Runtime.runFork(yield* Effect.runtime<never>())
    const onDefect = (defect: unknown): void => {
      run(Effect.logError("A listener of lanes has thrown", Cause.die(defect)))
    }
    const reporter = listeners.length === 0 ? undefined : new Reporter(listeners, onDefect)
    const lanes = yield* Effect.acquireRelease(
      Effect.sync(() => new Lanes(options, reporter)),
      (lanes) => lanes.close(Duration.toMillis(closeGrace))
    )
    return { client: makeClient(lanes), report: Effect.sync(() => lanes.report()) }
  })
}
