import type { ServerResponse } from "node:http"
import { request as httpRequest } from "node:http"
import { text } from "node:stream/consumers"
import type { HttpClient } from "@effect/platform"
import { NodeHttpClient } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { ask, handler, main, upstream } from "../src/completionGateway.js"
import { serve } from "../src/loopback.js"

type Reply = (response: ServerResponse, request: number) => void

/** A gateway before an upstream that answers as it is told, and what has become of the upstream's requests. */
const gatewayTo = (reply: Reply) =>
  Effect.gen(function* () {
    const seen = { requests: 0, givenUp: 0 }
    const watchers = new Set<() => void>()
    const model = yield* serve((request, response) => {
      const number = ++seen.requests
      response.on("close", () => {
        if (!response.writableEnded) seen.givenUp += 1
        for (const check of watchers) check()
      })
      // the copies of a request have its body
      void text(request).then((body) => {
        expect(JSON.parse(body)).toMatchObject({ stream: true })
        reply(response, number)
      })
    })
    const until = (predicate: () => boolean) =>
      Effect.async<void>((resume) => {
        const check = () => {
          if (predicate()) resume(Effect.void)
        }
        watchers.add(check)
        check()
      })
    return { api: yield* serve(yield* handler(model)), seen, until }
  })

const whole: Reply = (response) => {
  upstream.begin(response)
  for (const token of ["Tea", ", ", "please"]) upstream.token(response, token)
  upstream.finish(response, "stop")
}

const live = <A, E>(name: string, test: Effect.Effect<A, E, HttpClient.HttpClient | Scope.Scope>) =>
  it.scopedLive(name, () => Effect.provide(test, NodeHttpClient.layerUndici))

it.live("runs as it stands", () =>
  Effect.gen(function* () {
    expect(yield* main).toEqual({ text: "Tea, please", ending: "whole", requests: 2 })
  })
)

live(
  "an answer that begins in time is asked for once",
  Effect.gen(function* () {
    const { api, seen } = yield* gatewayTo(whole)
    expect(yield* ask(api, "tea?")).toEqual({ text: "Tea, please", ending: "whole" })
    expect(seen).toEqual({ requests: 1, givenUp: 0 })
  })
)

live(
  "a request that has no token in time is given up when a copy has one",
  Effect.gen(function* () {
    const { api, seen, until } = yield* gatewayTo((response, request) => {
      if (request === 1) upstream.begin(response)
      else whole(response, request)
    })
    expect(yield* ask(api, "tea?")).toEqual({ text: "Tea, please", ending: "whole" })
    yield* until(() => seen.givenUp === 1)
    expect(seen.requests).toBe(2)
  })
)

live(
  "an answer that is broken off is told from a whole one, however politely it ends",
  Effect.gen(function* () {
    for (const breakOff of [
      (response: ServerResponse) => response.destroy(),
      (response: ServerResponse) => response.end()
    ]) {
      const { api, seen } = yield* gatewayTo((response) => {
        upstream.begin(response)
        upstream.token(response, "Te")
        setTimeout(() => breakOff(response), 20)
      })
      expect(yield* ask(api, "tea?")).toEqual({ text: "Te", ending: "broken off" })
      // what the client has cannot be taken back
      expect(seen.requests).toBe(1)
    }
  })
)

live(
  "an answer that stopped at its limit is told from a whole one",
  Effect.gen(function* () {
    for (const reason of ["length", "content_filter"] as const) {
      const { api } = yield* gatewayTo((response) => {
        upstream.begin(response)
        upstream.token(response, "Tea, pl")
        upstream.finish(response, reason)
      })
      expect(yield* ask(api, "tea?")).toEqual({ text: "Tea, pl", ending: reason })
    }
  })
)

live(
  "an upstream that breaks before its first token is asked again",
  Effect.gen(function* () {
    const { api, seen } = yield* gatewayTo((response, request) => {
      if (request > 1) return whole(response, request)
      upstream.begin(response)
      setTimeout(() => response.destroy(), 5)
    })
    expect(yield* ask(api, "tea?")).toEqual({ text: "Tea, please", ending: "whole" })
    expect(seen.requests).toBe(2)
  })
)

live(
  "an upstream that is down is an error with a status, before anything is sent",
  Effect.gen(function* () {
    const { api } = yield* gatewayTo((response) => {
      response.writeHead(503).end()
    })
    expect(yield* Effect.flip(ask(api, "tea?"))).toMatchObject({ response: { status: 502 } })
  })
)

/** A client that reads nothing of its answer but the beginning. */
const unread = (api: string) =>
  Effect.async<{ readonly close: () => void; readonly resume: () => Promise<string> }>((resume) => {
    const request = httpRequest(`${api}/v1/chat/completions`, { method: "POST" }, (response) => {
      response.pause()
      response.on("error", () => {})
      resume(Effect.succeed({ close: () => response.destroy(), resume: () => text(response) }))
    })
    request.end(JSON.stringify({ stream: true }))
  })

live(
  "a client that goes away ends the upstream's request",
  Effect.gen(function* () {
    const { api, seen, until } = yield* gatewayTo((response) => {
      upstream.begin(response)
      upstream.token(response, "Tea")
    })
    const { close } = yield* unread(api)
    close()
    yield* until(() => seen.givenUp === 1)
    expect(seen.requests).toBe(1)
  })
)

live(
  "a client that stops reading stops the upstream, and gets everything once it reads on",
  Effect.gen(function* () {
    const token = "x".repeat(64 * 1024)
    const count = 512
    let sent = 0
    const { api } = yield* gatewayTo((response) => {
      upstream.begin(response)
      const send = () => {
        while (sent < count) {
          sent += 1
          if (!upstream.token(response, token)) return
        }
        upstream.finish(response, "stop")
      }
      response.on("drain", send)
      send()
    })
    const client = yield* unread(api)
    // buffers fill up, and then nothing moves
    let before = -1
    while (before !== sent) {
      before = sent
      yield* Effect.sleep("100 millis")
    }
    expect(sent).toBeLessThan(count)
    const answer = yield* Effect.promise(client.resume)
    expect(answer.split(token)).toHaveLength(count + 1)
    expect(answer.endsWith("data: [DONE]\n\n")).toBe(true)
  })
)
