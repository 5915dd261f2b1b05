/**
 * A gateway in front of a chat-completion upstream, for clients that read tokens as they come. It hedges on the time to the first token: a second
 * request is sent when there is none in time, and the first to answer is passed on, as fast as the client reads. At the end it says whether
 * the answer is whole: an upstream that breaks off, or that stops at its limit, leaves a text that looks like an answer.
 *
 * A completion costs money twice when it is sent twice: the policy's throttle says how often that may be.
 */
import type { ServerResponse } from "node:http"
import {
  type HttpApp,
  HttpClient,
  HttpClientRequest,
  HttpRouter,
  HttpServerRequest,
  HttpServerResponse
} from "@effect/platform"
import { NodeHttpClient, NodeHttpServer } from "@effect/platform-node"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect, Option, Schema, type Scope, Stream } from "effect"
import { HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import { serve } from "./loopback.js"

type Event = HttpHedge.ServerSentEvent

// what the upstream says

const ChatChunk = Schema.parseJson(
  Schema.Struct({
    choices: Schema.Array(
      Schema.Struct({
        delta: Schema.Struct({ content: Schema.optional(Schema.NullOr(Schema.String)) }),
        finish_reason: Schema.optional(Schema.NullOr(Schema.String))
      })
    )
  })
)

const firstChoice = ({ data }: Event) =>
  Option.flatMap(Schema.decodeOption(ChatChunk)(data), ({ choices }) => Option.fromNullable(choices[0]))

const isDone = ({ data }: Event): boolean => data === "[DONE]"

/** Upstreams say at once who speaks (`"role":"assistant"`) and may then think for a long time: that is no token yet. */
const isProgress = (event: Event): boolean =>
  Option.match(firstChoice(event), {
    onNone: () => true,
    onSome: ({ delta, finish_reason }) => Boolean(delta.content) || Boolean(finish_reason)
  })

// the gateway

const policy = HedgePolicy.make({
  name: "completions",
  // about the 95th percentile of the time to the first token
  schedule: HedgeSchedule.fixed("100 millis"),
  // until the first token: an answer that has begun may take as long as it takes
  deadline: "10 seconds",
  throttle: HedgeThrottle.all(
    HedgeThrottle.loadBudget({ extraLoad: 0.1, burst: 5 }),
    HedgeThrottle.concurrency(20)
  )
})

/** How an answer ended: whole, or why not. */
export type Ending = "whole" | "broken off" | "length" | "content_filter"

const truncating = new Set<string>(["length", "content_filter"] satisfies Array<Ending>)

const encode = ({ event, data }: Pick<Event, "event" | "data">): string => {
  const type = event === "message" ? [] : [`event: ${event}`]
  return [...type, ...data.split("\n").map((line) => `data: ${line}`), "", ""].join("\n")
}

/** What the client is sent: the upstream's events, and before its `[DONE]`, or in its place, why the answer is not whole. */
const passedOn = <E>(events: Stream.Stream<Event, E>): Stream.Stream<string> =>
  Stream.suspend(() => {
    let ending: Ending = "broken off"
    const answer = events.pipe(
      Stream.takeWhile((event) => {
        if (isDone(event)) {
          if (ending === "broken off") ending = "whole"
          return false
        }
        const reason = Option.flatMapNullable(firstChoice(event), ({ finish_reason }) => finish_reason)
        if (Option.isSome(reason) && truncating.has(reason.value)) ending = reason.value as Ending
        return true
      }),
      Stream.map(encode),
      // the connection broke, after there was a token
      Stream.catchAll(() => Stream.empty)
    )
    const end = Stream.suspend(() => {
      const truncated = encode({ event: "truncated", data: JSON.stringify({ reason: ending }) })
      const done = encode({ event: "message", data: "[DONE]" })
      if (ending === "whole") return Stream.make(done)
      return ending === "broken off" ? Stream.make(truncated) : Stream.make(truncated, done)
    })
    return Stream.concat(answer, end)
  })

export const gateway = (upstream: string): HttpApp.Default<never, HttpClient.HttpClient | Scope.Scope> =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const request = yield* HttpServerRequest.HttpServerRequest
    const open = client.pipe(HttpHedge.events({ policy, decisive: isProgress, eligible: () => true }))
    const events = open(
      HttpClientRequest.post(`${upstream}/v1/chat/completions`).pipe(
        HttpClientRequest.bodyText(yield* request.text, "application/json")
      )
    )
    // the answer has begun before its status is sent; the request's scope ends with the response, also when the client goes away
    const pull = yield* Stream.toPull(events)
    const answer = Stream.concat(Stream.fromChunk(yield* pull), Stream.repeatEffectChunkOption(pull))
    return HttpServerResponse.stream(Stream.encodeText(passedOn(answer)), {
      contentType: "text/event-stream",
      headers: { "cache-control": "no-cache" }
    })
  }).pipe(
    Effect.catchAll((error) => {
      const reason = Option.isOption(error) ? Option.getOrElse(error, () => "an empty answer") : error
      return HttpServerResponse.text(`no completion: ${reason}`, { status: 502 })
    })
  )

/** The gateway as a handler for `node:http`. */
export const handler = (upstream: string) =>
  NodeHttpServer.makeHandler(
    HttpRouter.empty.pipe(HttpRouter.post("/v1/chat/completions", gateway(upstream)))
  )

// its client

/** What came of a prompt: the text, and whether it is all of it. */
export interface Answer {
  readonly text: string
  readonly ending: Ending
}

const Truncated = Schema.parseJson(Schema.Struct({ reason: Schema.String }))

/** Asks a gateway. It is a client like any other of server-sent events, and hedges nothing: that is the gateway's affair. */
export const ask = (api: string, prompt: string) =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const policy = HedgePolicy.make({ schedule: HedgeSchedule.onFailure })
    const request = HttpClientRequest.post(`${api}/v1/chat/completions`).pipe(
      HttpClientRequest.bodyUnsafeJson({ stream: true, messages: [{ role: "user", content: prompt }] })
    )
    const events = client.pipe(HttpHedge.events({ policy }))(request)
    const nothing: Answer = { text: "", ending: "broken off" }
    return yield* Stream.runFold(events, nothing, (answer, event): Answer => {
      if (event.event === "truncated") {
        const { reason } = Schema.decodeSync(Truncated)(event.data)
        return { ...answer, ending: reason as Ending }
      }
      if (isDone(event)) return answer.ending === "broken off" ? { ...answer, ending: "whole" } : answer
      const token = Option.flatMapNullable(firstChoice(event), ({ delta }) => delta.content)
      return { ...answer, text: answer.text + Option.getOrElse(token, () => "") }
    })
  })

// an upstream

const chunk = (delta: object, finish_reason: string | null = null): string =>
  encode({ event: "message", data: JSON.stringify({ choices: [{ delta, finish_reason }] }) })

/** How a scripted upstream answers a request. */
export const upstream = {
  begin: (response: ServerResponse): void => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(chunk({ role: "assistant", content: "" }))
  },
  token: (response: ServerResponse, content: string): boolean => response.write(chunk({ content })),
  finish: (response: ServerResponse, reason: string): void => {
    response.end(chunk({}, reason) + encode({ event: "message", data: "[DONE]" }))
  }
}

/** The first request of the upstream gets no further than to who speaks: the second answers. */
export const main = Effect.gen(function* () {
  let requests = 0
  const model = yield* serve((_request, response) => {
    requests += 1
    upstream.begin(response)
    if (requests === 1) return
    for (const token of ["Tea", ", ", "please"]) upstream.token(response, token)
    upstream.finish(response, "stop")
  })
  const api = yield* serve(yield* handler(model))
  const answer = yield* ask(api, "What would you like?")
  return { ...answer, requests }
}).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici))
