/** The experiment: every mode with an upstream, a proxy and a client of its own, one mode after the other. */
import { Effect } from "effect"
import * as Child from "../child.js"
import type {
  Arrival,
  ClientConfig,
  ClientReply,
  ClientReport,
  ClientRequest,
  ProxyConfig,
  ProxyReply,
  ProxyRequest,
  UpstreamReply,
  UpstreamRequest
} from "./protocol.js"
import { type Mode, nameOf, type Settings } from "./settings.js"

/** What one mode came to, once. */
export interface Measured {
  readonly report: ClientReport
  readonly arrivals: ReadonlyArray<Arrival>
  /** Through the proxy: in all, and when the last probe had ended. */
  readonly connections: { readonly opened: number; readonly open: number }
}

export interface Result {
  readonly mode: Mode
  /** One for each round. */
  readonly rounds: ReadonlyArray<Measured>
}

export type OnProgress = (mode: Mode, started: number) => void

/**
 * @param onProgress told of each probe that starts, and how many of its mode had started in all rounds.
 * @param traced whether attempts of hedged probes are noted one by one.
 */
export const run = (
  settings: Settings,
  onProgress: OnProgress,
  traced = false
): Effect.Effect<ReadonlyArray<Result>, Child.ChildError> =>
  Effect.gen(function* () {
    const results = settings.modes.map((mode) => ({ mode, rounds: [] as Array<Measured> }))
    for (let round = 0; round < settings.rounds; round++) {
      for (const { mode, rounds } of round % 2 === 0 ? results : results.toReversed()) {
        rounds.push(yield* measure(settings, mode, traced, (started) => onProgress(mode, started)))
      }
    }
    return results
  })

/** More than a run can take whose parts keep to their times. */
const slackMs = 60_000

const measure = (settings: Settings, mode: Mode, traced: boolean, onStarted: (started: number) => void) =>
  Effect.scoped(
    Effect.gen(function* () {
      const upstream = yield* Child.start<UpstreamRequest, UpstreamReply>("hol/upstreamMain", null)
      const { certificate, port } = yield* upstream.receive("Listening")
      const proxyConfig: ProxyConfig = { to: port, bandwidth: settings.bandwidth }
      const proxy = yield* Child.start<ProxyRequest, ProxyReply>("hol/proxyMain", proxyConfig)
      const origin = `https://127.0.0.1:${(yield* proxy.receive("Listening")).port}`
      const { bandwidth: _, modes: __, rounds: ___, ...same } = settings
      const config: ClientConfig = { ...same, origin, certificate, mode, traced }
      const client = yield* Child.start<ClientRequest, ClientReply>("hol/clientMain", config)
      yield* client.receive("Ready")
      yield* client.send({ _tag: "Probe" })
      const { report } = yield* client.receive("Measured", (reply) => {
        if (reply._tag === "Progress") onStarted(reply.started)
      })
      yield* proxy.send({ _tag: "Report" })
      const connections = yield* proxy.receive("Connections")
      yield* upstream.send({ _tag: "Report" })
      const { arrivals } = yield* upstream.receive("Arrived")
      return { report, arrivals, connections }
    })
  ).pipe(
    Effect.timeoutFail({
      duration: settings.durationMs + settings.timeoutMs + slackMs,
      onTimeout: () =>
        new Child.ChildError({ entry: "hol/clientMain", problem: `did not end mode ${nameOf(mode)}` })
    })
  )
