import type { OutgoingHttpHeaders, ServerResponse } from "node:http"
import { HttpClient, HttpClientRequest, type HttpClientResponse } from "@effect/platform"
import { NodeHttpClient } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { Cause, Effect, type Exit, Fiber, Logger, TestClock } from "effect"
import { HedgeOutcome } from "effect-hedge"
import { allFail, goAwayInFlight, transportErrors } from "./suite/outcomes.js"
import { transports, undiciHttp1, undiciHttp2 } from "./support/clients.js"
import { afterFailure, afterFailureWith, attemptHeader, both, hedged } from "./support/policies.js"
import { Recorder } from "./support/recorder.js"
import { type Handler, serve } from "./support/server.js"

const statuses =
  (primary: number, headers: OutgoingHttpHeaders = {}): Handler =>
  (request, response) =>
    request.headers[attemptHeader] === undefined
      ? response.writeHead(primary, headers).end("primary")
      : response.end("hedge")

const textOf = <E>(client: HttpClient.HttpClient.With<E>, url: string) =>
  Effect.flatMap(client.get(url), (response) => response.text)

describe("C45: pushback", () => {
  /** By the test's clock, which is far from the system's. */
  const startedAt = Date.parse("Thu, 01 Jan 1970 00:10:00 GMT")

  /** When the second attempt starts, in virtual milliseconds after the primary's answer; `undefined` if none does. */
  const secondAttemptAfter = (status: number, headers: OutgoingHttpHeaders, millis: number) =>
    Effect.gen(function* () {
      const recorder = new Recorder()
      const server = yield* serve(statuses(status, headers))
      const client = yield* hedged(afterFailure)
      yield* TestClock.setTime(startedAt)
      const call = yield* Effect.fork(textOf(client, server.url).pipe(Effect.provide(recorder.layer)))
      yield* recorder.until("AttemptEnded")
      yield* TestClock.adjust(millis - 1)
      expect(recorder.started).toBe(1)
      yield* TestClock.adjust(1)
      expect(recorder.started).toBe(2)
      expect(yield* Fiber.join(call)).toBe("hedge")
    }).pipe(Effect.provide(undiciHttp1.layer))

  it.scoped.each([
    ["503 with Retry-After in seconds", 503, { "retry-after": "1" }, 1000],
    ["503 with Retry-After as a date", 503, { "retry-after": "Thu, 01 Jan 1970 00:10:01 GMT" }, 1000],
    [
      "503 with Retry-After as a date of old",
      503,
      { "retry-after": "Thursday, 01-Jan-70 00:10:01 GMT" },
      1000
    ],
    ["503 with Retry-After as C writes dates", 503, { "retry-after": "Thu Jan  1 00:10:01 1970" }, 1000],
    ["429 with Retry-After", 429, { "retry-after": "1" }, 1000],
    ["503 with grpc-retry-pushback-ms", 503, { "grpc-retry-pushback-ms": "250" }, 250],
    ["both: the finer one", 503, { "grpc-retry-pushback-ms": "250", "retry-after": "1" }, 250]
  ] as const)("%s: the next attempt waits for it", ([_, status, headers, millis]) =>
    secondAttemptAfter(status, headers, millis)
  )

  it.scoped.each([
    ["503 without", 503, {}],
    ["Retry-After: 0", 503, { "retry-after": "0" }],
    ["a date that has passed", 503, { "retry-after": "Wed, 31 Dec 1969 23:59:59 GMT" }]
  ] as const)("%s: the next attempt starts at once", ([_, status, headers]) =>
    Effect.gen(function* () {
      const server = yield* serve(statuses(status, headers))
      expect(yield* textOf(yield* hedged(afterFailure), server.url)).toBe("hedge")
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scoped.each([
    ["429 without", 429, {}],
    ["longer than maxPushback", 503, { "retry-after": "3600" }],
    ["a negative number of seconds", 503, { "retry-after": "-1" }],
    ["a fraction of seconds", 503, { "retry-after": "0.5" }],
    ["a date that HTTP does not know", 503, { "retry-after": "1970-01-01" }],
    ["a word", 503, { "retry-after": "soon" }],
    ["a negative grpc-retry-pushback-ms", 503, { "grpc-retry-pushback-ms": "-1" }]
  ] as const)("%s: no further attempt, and the primary's answer at once", ([_, status, headers]) =>
    Effect.gen(function* () {
      const server = yield* serve(statuses(status, headers))
      expect(yield* textOf(yield* hedged(afterFailure), server.url)).toBe("primary")
      expect(server.received).toHaveLength(1)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )
})

transports.forEach(allFail)
transports.forEach(transportErrors)
goAwayInFlight(undiciHttp2)

describe("C46: errors before and beyond the server", () => {
  it.scopedLive("a host that does not exist: the next attempt at once", () =>
    Effect.gen(function* () {
      const server = yield* serve((_request, response) => response.end("hedge"))
      const client = yield* hedged(afterFailure, { replicas: [server.url] })
      expect(yield* textOf(client, "http://nowhere.invalid/")).toBe("hedge")
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("a certificate that nobody vouches for: the next attempt at once", () =>
    Effect.gen(function* () {
      const untrusted = yield* serve((_request, response) => response.end("primary"), "HTTP/1.1 over TLS")
      const server = yield* serve((_request, response) => response.end("hedge"))
      const client = yield* hedged(afterFailure, { replicas: [server.url] })
      expect(yield* textOf(client, untrusted.url)).toBe("hedge")
      expect(untrusted.received).toHaveLength(0)
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it.scopedLive.each([
    ["a URL that is none", "http://"],
    ["a host that is none", "http://[::/"]
  ] as const)("%s: nothing is tried a second time", ([_, url]) =>
    Effect.gen(function* () {
      const recorder = new Recorder()
      const client = yield* hedged(both)
      const error = yield* Effect.flip(client.get(url)).pipe(Effect.provide(recorder.layer))
      expect(error).toMatchObject({ _tag: "RequestError", reason: "InvalidUrl" })
      expect(recorder.started).toBe(1)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )
})

describe("C47: which answers win", () => {
  it.scopedLive.each([200, 204, 301, 304, 400, 401, 403, 404, 409, 501, 505])("%d does", (status) =>
    Effect.gen(function* () {
      const server = yield* serve(statuses(status))
      const response = yield* (yield* hedged(afterFailure)).get(server.url)
      expect(response.status).toBe(status)
      expect(server.received).toHaveLength(1)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("409 to a copy of a write that has a key does not: its server is at work on the first", () =>
    Effect.gen(function* () {
      const working: Array<ServerResponse> = []
      const server = yield* serve((_request, response) => {
        if (working.push(response) === 1) return
        response.writeHead(409).end("at work")
        working[0]!.end("made")
      })
      const client = yield* hedged(both)
      const post = HttpClientRequest.post(server.url).pipe(
        HttpClientRequest.setHeader("Idempotency-Key", "1")
      )
      const response = yield* client.execute(post)
      expect([response.status, yield* response.text]).toEqual([200, "made"])
      expect(server.received).toHaveLength(2)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive.each([408, 425, 500, 502, 503, 504])("%d does not", (status) =>
    Effect.gen(function* () {
      const server = yield* serve(statuses(status))
      expect(yield* textOf(yield* hedged(afterFailure), server.url)).toBe("hedge")
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  const rejects =
    (status: number) =>
    (exit: Exit.Exit<HttpClientResponse.HttpClientResponse, unknown>): HedgeOutcome.HedgeOutcome =>
      exit._tag === "Success" && exit.value.status === status
        ? HedgeOutcome.nonFatal()
        : HttpHedge.fromExit(exit)

  it.scopedLive("the set can be changed by the option", () =>
    Effect.gen(function* () {
      const server = yield* serve(statuses(501))
      expect(yield* textOf(yield* hedged(afterFailure, { classify: rejects(501) }), server.url)).toBe("hedge")
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("the set can be changed by the policy", () =>
    Effect.gen(function* () {
      const server = yield* serve(statuses(501))
      const policy = afterFailureWith({ classify: rejects(501) })
      expect(yield* textOf(yield* hedged(policy), server.url)).toBe("hedge")
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("the option goes before the policy", () =>
    Effect.gen(function* () {
      const server = yield* serve(statuses(501))
      const policy = afterFailureWith({ classify: rejects(501) })
      expect(yield* textOf(yield* hedged(policy, { classify: rejects(500) }), server.url)).toBe("primary")
    }).pipe(Effect.provide(undiciHttp1.layer))
  )
})

describe("a status that a filter below the hedge has made an error", () => {
  const filtered = (options: HttpHedge.Options = {}) =>
    Effect.map(HttpClient.HttpClient, (client) =>
      client.pipe(
        HttpClient.filterStatusOk,
        HttpHedge.withHedge({ policy: afterFailure, headers: { attempt: attemptHeader }, ...options })
      )
    )

  it.scopedLive("503 is no answer", () =>
    Effect.gen(function* () {
      const server = yield* serve(statuses(503))
      expect(yield* textOf(yield* filtered(), server.url)).toBe("hedge")
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("404 is the answer, and an error for the caller, who can read its body", () =>
    Effect.gen(function* () {
      const server = yield* serve(statuses(404))
      const error = yield* Effect.flip((yield* filtered()).get(server.url))
      expect(error).toMatchObject({ _tag: "ResponseError", reason: "StatusCode" })
      expect(error._tag === "ResponseError" && (yield* error.response.text)).toBe("primary")
      expect(server.received).toHaveLength(1)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive(
    "all attempts fail: the caller gets the primary's error, the hedge's response is released",
    () =>
      Effect.gen(function* () {
        const server = yield* serve((request, response) => {
          const hedge = request.headers[attemptHeader]
          response.writeHead(503)
          if (hedge === undefined) response.end("primary")
          else response.write("hedge")
        })
        const error = yield* Effect.flip((yield* filtered()).get(server.url))
        expect(error._tag === "ResponseError" && (yield* error.response.text)).toBe("primary")
        yield* server.until(({ cancelled }) => cancelled === 1)
      }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("the primary's response is released when a hedge wins", () =>
    Effect.gen(function* () {
      const server = yield* serve((request, response) => {
        if (request.headers[attemptHeader] !== undefined) response.end("hedge")
        else response.writeHead(503).write("half")
      })
      expect(yield* textOf(yield* filtered(), server.url)).toBe("hedge")
      yield* server.until(({ cancelled }) => cancelled === 1)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("a classify of the user's sees the error", () =>
    Effect.gen(function* () {
      const server = yield* serve(statuses(404))
      const seen: Array<unknown> = []
      const client = yield* filtered({
        classify: (exit) => {
          seen.push(exit._tag === "Failure" ? Cause.squash(exit.cause) : exit.value.status)
          return exit._tag === "Failure" ? HedgeOutcome.nonFatal() : HedgeOutcome.win
        }
      })
      expect(yield* textOf(client, server.url)).toBe("hedge")
      expect(seen).toMatchObject([{ _tag: "ResponseError" }, 200])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )
})

describe("a policy's onDiscard", () => {
  it.scopedLive("is given what is discarded before it is released", () =>
    Effect.gen(function* () {
      const server = yield* serve((request, response) => {
        if (request.headers[attemptHeader] !== undefined) response.end("hedge")
        else response.writeHead(503).write("half")
      })
      const seen: Array<[status: number, cancelled: number]> = []
      const policy = afterFailureWith({
        onDiscard: ({ status }) => Effect.sync(() => seen.push([status, server.cancelled]))
      })
      expect(yield* textOf(yield* hedged(policy), server.url)).toBe("hedge")
      yield* server.until(({ cancelled }) => cancelled === 1)
      expect(seen).toEqual([[503, 0]])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("does not keep a response from being released by dying", () =>
    Effect.gen(function* () {
      const server = yield* serve((request, response) => {
        if (request.headers[attemptHeader] !== undefined) response.end("hedge")
        else response.writeHead(503).write("half")
      })
      const policy = afterFailureWith({ onDiscard: () => Effect.die("no") })
      expect(yield* textOf(yield* hedged(policy), server.url)).toBe("hedge")
      yield* server.until(({ cancelled }) => cancelled === 1)
    }).pipe(Effect.provide(undiciHttp1.layer), Effect.provide(Logger.remove(Logger.defaultLogger)))
  )
})
