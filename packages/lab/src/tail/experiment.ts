/** The experiment: the same seeded load, plain and hedged, each by a fresh client process to a fresh server. */
import { Effect } from "effect"
import * as Child from "../child.js"
import type {
  ClientConfig,
  ClientReply,
  ClientReport,
  ClientRequest,
  ServerConfig,
  ServerReply,
  ServerRequest
} from "./protocol.js"
import type { Load, OwnTarget, Settings, Side } from "./settings.js"
import { medianSummary, type Summary, summarise } from "./summary.js"

export interface Result {
  readonly plain: Summary
  readonly hedged: Summary
}

/**
 * @param onEnded told now and then how many calls of this side have ended, over all rounds.
 * @param onReport told everything that a client has counted, which then notes what became of each attempt.
 */
export const run = (
  settings: Settings,
  onEnded: (side: Side, ended: number) => void,
  onReport?: (side: Side, report: ClientReport) => void
): Effect.Effect<Result, Child.ChildError> =>
  Effect.gen(function* () {
    const summaries: Record<Side, Array<Summary>> = { plain: [], hedged: [] }
    for (let round = 0; round < settings.rounds; round++) {
      const order: ReadonlyArray<Side> = round % 2 === 0 ? ["plain", "hedged"] : ["hedged", "plain"]
      for (const side of order) {
        const summary = yield* measure(
          settings,
          side,
          round,
          (ended) => onEnded(side, round * settings.load.calls + ended),
          onReport === undefined ? undefined : (report) => onReport(side, report)
        )
        summaries[side].push(summary)
      }
    }
    return { plain: medianSummary(summaries.plain), hedged: medianSummary(summaries.hedged) }
  })

/** One side, once. */
export const measure = (
  settings: Settings,
  side: Side,
  round: number,
  onEnded: (ended: number) => void = () => {},
  onReport?: (report: ClientReport) => void
): Effect.Effect<Summary, Child.ChildError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const server = settings.target._tag === "Own" ? yield* startServer(settings.target, round) : undefined
      const client = yield* startClient({
        side,
        transport: settings.transport,
        url: settings.target._tag === "Url" ? settings.target.url : server!.url,
        authorization: settings.target._tag === "Url" ? settings.target.authorization : null,
        numbered: settings.target._tag === "Own",
        hedging: settings.hedging,
        timeoutMs: settings.timeoutMs,
        traced: onReport !== undefined
      })
      if (settings.warmUp > 0) {
        yield* client.run({ ...settings.load, calls: settings.warmUp, fanOut: 1 })
      }
      yield* server?.reset ?? Effect.void
      const clientReport = yield* client.run(settings.load, onEnded)
      onReport?.(clientReport)
      const serverReport = yield* server?.report ?? Effect.succeed(undefined)
      return summarise(clientReport, serverReport, settings.load.fanOut)
    })
  )

const startServer = ({ keepsWorking, latency, seed }: OwnTarget, round: number) =>
  Effect.gen(function* () {
    const config: ServerConfig = { latency, seed: seed + round, keepsWorking }
    const child = yield* Child.start<ServerRequest, ServerReply>("tail/serverMain", config)
    const { port } = yield* child.receive("Listening")
    return {
      url: `http://127.0.0.1:${port}/`,
      reset: Effect.zipRight(child.send({ _tag: "Reset" }), child.receive("WasReset")),
      report: Effect.zipRight(
        child.send({ _tag: "Report" }),
        Effect.map(child.receive("Counted"), ({ report }) => report)
      )
    }
  })

const startClient = (config: ClientConfig) =>
  Effect.gen(function* () {
    const child = yield* Child.start<ClientRequest, ClientReply>("tail/clientMain", config)
    yield* child.receive("Ready")
    return {
      run: (load: Load, onEnded: (ended: number) => void = () => {}) =>
        Effect.zipRight(
          child.send({ _tag: "Run", load }),
          Effect.map(
            child.receive("Measured", (reply) => {
              if (reply._tag === "Progress") onEnded(reply.ended)
            }),
            ({ report }) => report
          )
        )
    }
  })
