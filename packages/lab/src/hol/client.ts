/** The client of one mode: keeps its background running and sends probes beside it. */
import { Effect, Layer, type Scope } from "effect"
import { HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import { now } from "../clock.js"
import { nameFailure } from "../tail/client.js"
import * as Hedged from "../tail/hedged.js"
import * as Strain from "../tail/strain.js"
import { Tracer } from "../tail/tracer.js"
import * as Background from "./background.js"
import * as Connections from "./connections.js"
import * as Probes from "./probes.js"
import { attemptHeader, type ClientConfig, type ClientReport, paths, probeHeader } from "./protocol.js"
import type { Hedging } from "./settings.js"

export interface Client {
  readonly probe: (onStarted: (started: number) => void) => Effect.Effect<ClientReport>
}

export const make = (config: ClientConfig): Effect.Effect<Client, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clients = yield* Connections.make(config)
    const background = yield* Background.start(clients.background, config)
    const hedged =
      config.mode.hedgeOn === null
        ? undefined
        : yield* Hedged.hedge(clients.probes, policyLayer(config.hedging), {
            headers: { attempt: attemptHeader }
          })
    const client = hedged?.client ?? clients.probes
    const tracer = hedged !== undefined && config.traced ? new Tracer() : undefined
    const streamsAtStart: Array<number> = []
    const startedAt: Array<number> = []

    const probe = (index: number) =>
      Effect.suspend(() => {
        streamsAtStart.push(background.active())
        startedAt.push(now())
        const sent = client.get(`${config.origin}${paths.probe}`, {
          headers: { [probeHeader]: String(index) }
        })
        return tracer === undefined ? sent : tracer.mark(sent, index, startedAt[index]!)
      }).pipe(
        Effect.flatMap((response) => response.text),
        Effect.timeoutFail({ duration: config.timeoutMs, onTimeout: () => ({ _tag: "Timeout" as const }) })
      )

    yield* Effect.sleep(config.settleMs)
    return {
      probe: (onStarted) =>
        Effect.gen(function* () {
          const strain = Strain.watch()
          const { durationMs, pace, timeoutMs } = config
          const outcomes = yield* Probes.run(probe, {
            pace,
            durationMs,
            timeoutMs,
            nameFailure,
            onStarted
          }).pipe(Effect.provide(Layer.merge(hedged?.layer ?? Layer.empty, tracer?.layer ?? Layer.empty)))
          return {
            outcomes,
            streamsAtStart,
            hedges: hedged?.counts() ?? Hedged.noHedges(),
            calls:
              tracer?.groups(
                startedAt.map((at) => at - startedAt[0]!),
                outcomes.latencies
              ) ?? [],
            background: background.report(),
            isComplete: background.isComplete,
            strain: strain()
          }
        })
    }
  })

const policyLayer = ({ afterMs, extraLoad }: Hedging) =>
  HedgePolicy.layer({
    name: "hedge-lab",
    schedule: HedgeSchedule.fixed(afterMs),
    throttle: extraLoad === null ? HedgeThrottle.unlimited : HedgeThrottle.makeDefault({ extraLoad })
  })
