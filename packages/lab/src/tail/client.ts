/** One side of the comparison: a client, plain or hedged, and what can be counted at it. */

import * as DiagnosticsChannel from "node:diagnostics_channel"
import {
  HttpClient,
  type HttpClientError,
  HttpClientRequest,
  type HttpClientResponse
} from "@effect/platform"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import type * as Undici from "@effect/platform-node/Undici"
import { type LaneEvent, NodeHedgeClient } from "@effect-hedge/platform-node"
import { Cause, Effect, Exit, Layer, type Scope } from "effect"
import { HedgeAttempt } from "effect-hedge"
import { now } from "../clock.js"
import * as Hedged from "./hedged.js"
import * as Load from "./load.js"
import { type ClientConfig, type ClientReport, copyHeader } from "./protocol.js"
import type { Load as LoadSettings, Transport } from "./settings.js"
import * as Strain from "./strain.js"
import { Tracer } from "./tracer.js"

type Request = HttpClientRequest.HttpClientRequest
type Response = HttpClientResponse.HttpClientResponse
type ClientError = HttpClientError.HttpClientError

export interface Client {
  /** Runs a load and reports what was counted during it. */
  readonly run: (load: LoadSettings, onEnded: (ended: number) => void) => Effect.Effect<ClientReport>
}

/** How long after the last call was due, and its time-out if it has one, an answer is waited for. */
const patienceMs = 30_000

export const make = (options: ClientConfig): Effect.Effect<Client, never, Scope.Scope> =>
  Effect.gen(function* () {
    const wire = yield* wires[options.transport]
    const copies = new Copies(options.numbered)
    const plain = copies.watch(wire.client)
    const hedged = options.side === "hedged" ? yield* Hedged.make(plain, options) : undefined
    const tracer = hedged !== undefined && options.traced ? new Tracer() : undefined
    const headers = options.authorization === null ? {} : { authorization: options.authorization }

    const answer = (hedged?.client ?? plain)
      .get(options.url, { headers })
      .pipe(
        Effect.flatMap((response) =>
          Effect.zipRight(
            response.text,
            response.status < 400
              ? Effect.void
              : Effect.fail({ _tag: "Status" as const, status: response.status })
          )
        )
      )
    const call =
      options.timeoutMs === null
        ? answer
        : Effect.timeoutFail(answer, {
            duration: options.timeoutMs,
            onTimeout: () => ({ _tag: "Timeout" as const })
          })

    return {
      run: (load, onEnded) =>
        Effect.gen(function* () {
          const before = wire.counts()
          copies.forget()
          hedged?.forget()
          tracer?.forget()
          const strain = Strain.watch()
          const outcomes = yield* Load.run(call, {
            load,
            patienceMs: (options.timeoutMs ?? 0) + patienceMs,
            nameFailure,
            onEnded,
            ...(tracer === undefined ? {} : { mark: tracer.mark })
          }).pipe(Effect.provide(Layer.merge(hedged?.layer ?? Layer.empty, tracer?.layer ?? Layer.empty)))
          const after = wire.counts()
          return {
            ...outcomes,
            sent: after.sent - before.sent,
            connections: after.connections - before.connections,
            cancelled: copies.cancelled,
            hedges: hedged?.counts() ?? Hedged.noHedges(),
            learned: yield* hedged?.learned ?? Effect.succeed(null),
            strain: strain(),
            // after the watch has ended, since this takes time
            trace: tracer?.trace(load, outcomes.latencies) ?? null
          }
        })
    }
  })

/** A client, the connections that it has opened, and the requests that it has written to one. */
interface Wire {
  readonly client: HttpClient.HttpClient
  readonly counts: () => { readonly connections: number; readonly sent: number }
}

/** An agent as `NodeHttpClient.layerUndici` makes one. */
const undici: Effect.Effect<Wire, never, Scope.Scope> = Effect.gen(function* () {
  let connections = 0
  let sent = 0
  const onSend = () => {
    sent++
  }
  const dispatcher = yield* NodeHttpClient.makeDispatcher
  ;(dispatcher as Undici.Agent).on("connect", () => connections++)
  yield* Effect.acquireRelease(
    Effect.sync(() => DiagnosticsChannel.subscribe("undici:client:sendHeaders", onSend)),
    () => Effect.sync(() => DiagnosticsChannel.unsubscribe("undici:client:sendHeaders", onSend))
  )
  return { client: NodeHttpClient.makeUndici(dispatcher), counts: () => ({ connections, sent }) }
})

const lanes: Effect.Effect<Wire, never, Scope.Scope> = Effect.gen(function* () {
  let connections = 0
  let sent = 0
  const listener: LaneEvent.Listener = {
    onEvent: (event) => {
      if (event._tag === "LaneOpened") connections++
      if (event._tag === "RequestEnded" && event.phases.sent !== undefined) sent++
    }
  }
  const { client } = yield* NodeHedgeClient.make({ listeners: [listener] })
  return { client, counts: () => ({ connections, sent }) }
})

const wires: Readonly<Record<Transport, Effect.Effect<Wire, never, Scope.Scope>>> = { undici, lanes }

/** Numbers the copies that a client sends, and notes those that are interrupted. */
class Copies {
  cancelled: Array<readonly [copy: number, at: number, ran: number]> = []
  private next = 0

  constructor(private readonly numbered: boolean) {}

  watch(client: HttpClient.HttpClient): HttpClient.HttpClient {
    const send = (request: Request) => new Watched(this, client, request)
    return HttpClient.makeWith<never, never, ClientError, never>(
      (request) =>
        Exit.isExit(request) && request._tag === "Success"
          ? send(request.value as Request)
          : Effect.flatMap(request, send),
      Effect.succeed
    )
  }

  begin(request: Request): Copy {
    const copy = this.next++
    const startedAt = now()
    return {
      request: this.numbered ? HttpClientRequest.setHeader(request, copyHeader, String(copy)) : request,
      onInterrupt: () => {
        const at = now()
        this.cancelled.push([copy, at, at - startedAt])
      }
    }
  }

  forget(): void {
    this.cancelled = []
  }
}

/** A request that is being sent. */
interface Copy {
  readonly request: Request
  readonly onInterrupt: () => void
}

/** The sending of a request, each time another copy; without a fiber if the client can do without. */
class Watched extends HedgeAttempt.Fiberless<Response, ClientError> {
  constructor(
    private readonly copies: Copies,
    private readonly client: HttpClient.HttpClient,
    private readonly request: Request
  ) {
    super()
  }

  override commit(): Effect.Effect<Response, ClientError> {
    return Effect.suspend(() => {
      const { onInterrupt, request } = this.copies.begin(this.request)
      return Effect.onInterrupt(this.client.execute(request), () => Effect.sync(onInterrupt))
    })
  }

  override launch(
    ...args: HedgeAttempt.LaunchArguments<Response, ClientError>
  ): HedgeAttempt.Started | undefined {
    const { onInterrupt, request } = this.copies.begin(this.request)
    const sent = this.client.execute(request)
    const started = sent instanceof HedgeAttempt.Fiberless ? sent.launch(...args) : undefined
    // the copy that is sent on a fiber gets the next number
    if (started === undefined) return undefined
    return {
      cancel: () => {
        onInterrupt()
        started.cancel()
      }
    }
  }
}

/** What a user would call the failure: the HTTP status, the system's error code, or the error's tag. */
export const nameFailure = (cause: Cause.Cause<unknown>): string => {
  const error = (Cause.squash(cause) ?? {}) as Partial<
    Record<"_tag" | "status" | "reason" | "cause", unknown>
  >
  if (error._tag === "Status") return `HTTP ${error.status}`
  if (error._tag === "HedgeError")
    return error.reason === "DeadlineExceeded" ? "Timeout" : String(error.reason)
  const code = (error.cause as { readonly code?: unknown } | undefined)?.code
  return String(code ?? error._tag ?? "Defect")
}
