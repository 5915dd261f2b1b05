/** The clients of a mode: who sends the background, the probes and their hedges, and over which connections. */
import { HttpClient, type HttpClientError } from "@effect/platform"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Undici from "@effect/platform-node/Undici"
import { NodeHedgeClient } from "@effect-hedge/platform-node"
import { Effect, Option, type Scope } from "effect"
import { HedgeAttempt } from "effect-hedge"
import type { ClientConfig } from "./protocol.js"
import type { Connections as ConnectionsName } from "./settings.js"

export interface Clients {
  readonly background: HttpClient.HttpClient
  readonly probes: HttpClient.HttpClient
}

export const make = (config: ClientConfig): Effect.Effect<Clients, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { connections, hedgeOn } = config.mode
    const open = openers[connections](config)
    const background = yield* open
    const primaries = connections === "own" ? yield* open : background
    return {
      background,
      probes: hedgeOn === "own" ? byAttempt(primaries, yield* open) : primaries
    }
  })

type Open = (config: ClientConfig) => Effect.Effect<HttpClient.HttpClient, never, Scope.Scope>

/** One connection, whatever is sent; undici sends as many requests at once as `pipelining` says. */
const http2: Open = ({ certificate, origin, window }: ClientConfig) =>
  dispatcher(
    () =>
      new Undici.Client(origin, {
        allowH2: true,
        pipelining: 1_000,
        initialWindowSize: window,
        connectionWindowSize: window,
        connect: { ca: certificate },
        ...patient
      })
  )

/** As many connections as there are requests at once. */
const http1: Open = ({ certificate, origin }: ClientConfig) =>
  dispatcher(() => new Undici.Pool(origin, { allowH2: false, connect: { ca: certificate }, ...patient }))

/** A stream that stands in a queue is no failure. */
const patient = { headersTimeout: 0, bodyTimeout: 0 }

const dispatcher = (open: () => Undici.Dispatcher) =>
  Effect.acquireRelease(Effect.sync(open), (dispatcher) => Effect.promise(() => dispatcher.destroy())).pipe(
    Effect.map(NodeHttpClient.makeUndici)
  )

const lanes =
  (pings: NodeHedgeClient.Options): Open =>
  ({ certificate, lanes, window }) =>
    Effect.map(
      NodeHedgeClient.make({
        lanes,
        windowSize: window,
        connectionWindowSize: window,
        tls: { ca: certificate },
        ...pings
      }),
      ({ client }) => client
    )

const openers: Readonly<Record<ConnectionsName, Open>> = {
  shared: http2,
  own: http2,
  http1,
  lanes: lanes({}),
  blind: lanes({ pingInterval: Infinity }),
  apart: lanes({})
}

/** Sends hedges by another client than primaries. */
const byAttempt = (primaries: HttpClient.HttpClient, hedges: HttpClient.HttpClient): HttpClient.HttpClient =>
  HttpClient.makeWith<never, never, HttpClientError.HttpClientError, never>(
    Effect.flatMap((request) =>
      Effect.flatMap(HedgeAttempt.current, (attempt) =>
        Option.exists(attempt, ({ index }) => index > 0)
          ? hedges.execute(request)
          : primaries.execute(request)
      )
    ),
    Effect.succeed
  )
