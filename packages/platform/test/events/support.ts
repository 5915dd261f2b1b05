import type { ServerResponse } from "node:http"
import { HttpClient } from "@effect/platform"
import { HttpHedge } from "@effect-hedge/platform"
import { Chunk, Effect, Stream } from "effect"
import type { HedgePolicy } from "effect-hedge"
import { attemptHeader } from "../support/policies.js"
import type { Handler, Received } from "../support/server.js"

type Policy = HedgePolicy.HedgePolicy<HttpHedge.ServerSentEvent, unknown>

/** The headers of a stream of events, on their way at once. */
export const begin = (response: ServerResponse): ServerResponse => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.flushHeaders()
  return response
}

/** Some events, and the end. */
export const sendAll = (response: ServerResponse, data: ReadonlyArray<string>): void => {
  begin(response).end(data.map((line) => `data: ${line}\n\n`).join(""))
}

export const isHedge = ({ headers }: Received): boolean => headers[attemptHeader] !== undefined

/** A handler for the primary and one for hedges. */
export const roles =
  (primary: Handler, hedge: Handler): Handler =>
  (request, response) =>
    (isHedge(request) ? hedge : primary)(request, response)

/** The client in context, hedged on first events, with attempts that a server can tell apart. */
export const events = (policy: Policy, options: HttpHedge.EventsOptions = {}) =>
  Effect.map(
    HttpClient.HttpClient,
    HttpHedge.events({ policy, headers: { attempt: attemptHeader }, ...options })
  )

/** What the events of a stream say. */
export const dataOf = <E, R>(stream: Stream.Stream<HttpHedge.ServerSentEvent, E, R>) =>
  Effect.map(Stream.runCollect(stream), (all) => Chunk.toReadonlyArray(all).map(({ data }) => data))
