import { HttpClient } from "@effect/platform"
import { Cause, Context, Duration, Effect, Layer, Runtime, type Scope } from "effect"
import type { Options, Service } from "../NodeHedgeClient.js"
import { make as makeClient } from "./client.js"
import { Lanes } from "./lanes.js"
import { checkOptions } from "./options.js"
import { Reporter } from "./reporter.js"
import { LongStreams } from "./sending.js"
import { defaultCloseGrace } from "./upstream.js"

export class NodeHedgeClient extends Context.Tag("@effect-hedge/platform-node/NodeHedgeClient")<
  NodeHedgeClient,
  Service
>() {}

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

export const layer = (options: Options = {}): Layer.Layer<HttpClient.HttpClient | NodeHedgeClient> =>
  Layer.scopedContext(
    Effect.map(make(options), (service) =>
      Context.make(NodeHedgeClient, service).pipe(Context.add(HttpClient.HttpClient, service.client))
    )
  )

export const longStream: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> =
  Effect.provideService(LongStreams, true)
