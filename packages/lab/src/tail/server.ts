/**
 * An HTTP server with a long tail. Each request, called a copy here, takes a time of its own, drawn in the order of
 * arrival from a seeded generator: nothing in the request has a say in it. When a client goes away the server stops
 * working for it, unless it was told to keep working.
 */

import * as Http from "node:http"
import { Effect, type Scope } from "effect"
import { now } from "../clock.js"
import { listen } from "../listen.js"
import { sampler } from "./latency.js"
import { copyHeader, type ServerConfig, type ServerReport } from "./protocol.js"
import type { Latency } from "./settings.js"
import { type Strain, watch } from "./strain.js"

export interface LongTailServer {
  readonly port: number
  /** Forgets what it has counted and begins its sequence of latencies anew. */
  readonly reset: () => void
  /** What it has counted, once no copy is being worked on or its patience is at an end. */
  readonly report: Effect.Effect<ServerReport>
}

export const make = (config: ServerConfig): Effect.Effect<LongTailServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    let tally = new Tally(config.latency, config.seed)
    let strain = watch()
    const server = Http.createServer((request, response) =>
      tally.serve(request, response, config.keepsWorking)
    )
    server.on("connection", () => tally.connections++)
    // idle connections live as long as their client wants
    server.keepAliveTimeout = 0
    server.requestTimeout = 0
    const port = yield* listen(server, () => server.closeAllConnections())
    return {
      port,
      reset: () => {
        tally = new Tally(config.latency, config.seed)
        strain()
        strain = watch()
      },
      report: Effect.suspend(() => tally.idle).pipe(
        Effect.timeoutOption(patience),
        Effect.map(() => tally.report(strain()))
      )
    }
  })

/** Longer than any uniform latency may be. */
const patience = "2 minutes"

const body = Buffer.from(JSON.stringify({ answer: 42 }))
const headers = { "content-type": "application/json", "content-length": body.length }

/** A longer one would fire at once. */
const longestTimerMs = 2 ** 31 - 1

/** What was asked of the server since its last reset. */
class Tally {
  connections = 0
  private received = 0
  private completed = 0
  private cancelled = 0
  private cancelledMs = 0
  private working = 0
  private readonly stopped: Array<readonly [copy: number, at: number]> = []
  private readonly draw: () => number

  constructor(latency: Latency, seed: number) {
    this.draw = sampler(latency, seed)
  }

  serve(request: Http.IncomingMessage, response: Http.ServerResponse, keepsWorking: boolean): void {
    const startedAt = now()
    const copy = Number(request.headers[copyHeader])
    this.received++
    this.working++
    let gone = false
    const stop = () => {
      this.working--
      this.stopped.push([copy, now()])
    }
    const work = setTimeout(
      () => {
        stop()
        if (gone) return
        this.completed++
        response.writeHead(200, headers).end(body)
      },
      Math.min(this.draw(), longestTimerMs)
    )
    response.on("close", () => {
      if (response.writableEnded) return
      gone = true
      this.cancelled++
      this.cancelledMs += now() - startedAt
      if (keepsWorking) return
      clearTimeout(work)
      stop()
    })
  }

  /** Waits until no copy is being worked on: what is cancelled at the end of a run has to arrive first. */
  readonly idle: Effect.Effect<void> = Effect.suspend(() =>
    this.working === 0 ? Effect.void : Effect.zipRight(Effect.sleep("5 millis"), this.idle)
  )

  report(strain: Strain): ServerReport {
    return {
      received: this.received,
      completed: this.completed,
      cancelled: this.cancelled,
      cancelledMs: this.cancelledMs,
      connections: this.connections,
      stopped: this.stopped,
      strain
    }
  }
}
