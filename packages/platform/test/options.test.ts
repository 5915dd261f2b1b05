import { HttpClientError, HttpClientRequest, HttpClientResponse } from "@effect/platform"
import { afterEach, describe, expect, it, vi } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { Exit } from "effect"
import { HedgeOutcome, HedgePolicy, HedgeSchedule } from "effect-hedge"

const policy = HedgePolicy.make({ schedule: HedgeSchedule.fixed(10) })

const errorOf = (make: () => unknown): unknown => {
  try {
    make()
  } catch (error) {
    return error
  }
  return undefined
}

const baseUrl =
  'an absolute http or https URL without credentials, query and fragment, such as "https://eu.example.com/api"'
const header = 'the name of a header, such as "X-Attempt"'

describe.each([
  ["withHedge", (options: unknown) => HttpHedge.withHedge(options as never)],
  ["layerWith", (options: unknown) => HttpHedge.layerWith(options as never)]
] as const)("%s refuses options that make no sense", (_, make) => {
  it.each([
    ["policy", { policy: { schedule: HedgeSchedule.fixed(10) } }, "a policy made by HedgePolicy.make"],
    ["replicas", { policy, replicas: [] }, "a list of at least one base URL"],
    ["replicas", { policy, replicas: "https://eu.example.com" }, "a list of at least one base URL"],
    ["replicas[1]", { policy, replicas: ["https://eu.example.com", "us.example.com"] }, baseUrl],
    ["replicas[0]", { policy, replicas: ["/api"] }, baseUrl],
    ["replicas[0]", { policy, replicas: ["ftp://eu.example.com"] }, baseUrl],
    ["replicas[0]", { policy, replicas: ["xhttp://eu.example.com"] }, baseUrl],
    ["replicas[0]", { policy, replicas: [new URL("https://eu.example.com")] }, baseUrl],
    ["replicas[0]", { policy, replicas: ["https://eu.example.com?x=1"] }, baseUrl],
    ["replicas[0]", { policy, replicas: ["https://user:secret@eu.example.com"] }, baseUrl],
    ["replicas[0]", { policy, replicas: [80] }, baseUrl],
    ["credentials", { policy, credentials: "same-origin" }, '"include" or "omit"'],
    ["idempotencyHeader", { policy, idempotencyHeader: "" }, header],
    ["idempotencyHeader", { policy, idempotencyHeader: "Idempotency Key" }, header],
    ["headers", { policy, headers: "X-Attempt" }, "an object"],
    ["headers.attempt", { policy, headers: { attempt: "X-Attempt:" } }, header],
    ["headers.callId", { policy, headers: { callId: 1 } }, header],
    ["headers.deadline", { policy, headers: { deadline: "X\nDeadline" } }, header],
    [
      "headers.number",
      { policy, headers: { number: "X-Attempt" } },
      "one of the options attempt, callId, deadline"
    ],
    ["key", { policy, key: "route" }, "a function from a request to a string or an array of strings"],
    ["classify", { policy, classify: "Win" }, "a function from an Exit to a HedgeOutcome"],
    ["eligible", { policy, eligible: true }, "a function from a request to true or false"],
    ["replay", { policy, replay: true }, "a function from a request to the same request with its whole body"],
    [
      "replica",
      { policy, replica: "https://eu.example.com" },
      "one of the options policy, eligible, idempotencyHeader, classify, replicas, key, credentials, replay, headers"
    ],
    [
      "headers.callId",
      { policy, headers: { attempt: "X-Copy", callId: "x-copy" } },
      "another header than that of headers.attempt"
    ],
    [
      "headers.deadline",
      { policy, headers: { deadline: "idempotency-key" } },
      "another header than that of idempotencyHeader"
    ],
    [
      "headers.attempt",
      { policy, idempotencyHeader: "X-Id", headers: { attempt: "X-ID" } },
      "another header than that of idempotencyHeader"
    ],
    ["headers", { policy, headers: null }, "an object"],
    ["headers", { policy, headers: [] }, "an object"],
    ["policy", { policy: null }, "a policy made by HedgePolicy.make"],
    ["options", null, "an object"],
    ["options", 3, "an object"],
    ["options", [], "an object"],
    ["options", new Map(), "an object"],
    ["options", () => 1, "an object"]
  ] as const)("%s: %j", (field, options, allowed) => {
    const error = errorOf(() => make(options))
    expect(error).toBeInstanceOf(HedgePolicy.HedgePolicyError)
    expect(error).toMatchObject({ _tag: "HedgePolicyError", field, allowed })
  })

  it("takes those that do", () => {
    const options: HttpHedge.Options = {
      eligible: () => true,
      idempotencyHeader: "X-Request-Id",
      classify: HttpHedge.fromExit,
      replicas: ["https://eu.example.com", "http://127.0.0.1:8080/api/"],
      credentials: "omit",
      key: HttpHedge.routeOf,
      replay: (request) => request,
      headers: { attempt: "X-Attempt", callId: "X-Call", deadline: "X-Time-Left" }
    }
    expect(errorOf(() => make({ ...options, policy }))).toBeUndefined()
    expect(errorOf(() => make({ policy, replicas: undefined, headers: undefined }))).toBeUndefined()
    expect(errorOf(() => make({ policy, credentials: "include", headers: { attempt: undefined } }))).toBe(
      undefined
    )
  })
})

it.each([
  ["options", null, "an object"],
  ["decisive", { policy, decisive: true }, "a function from an event to true or false"],
  ["credentials", { policy, credentials: "same-origin" }, '"include" or "omit"']
] as const)("events refuses %s: %j", (field, options, allowed) => {
  const error = errorOf(() => HttpHedge.events(options as never))
  expect(error).toMatchObject({ _tag: "HedgePolicyError", field, allowed })
})

it.each([3, null, undefined, "x", {}, [], () => 1, { execute: 3 }])(
  "withHedge refuses what is no client: %s",
  (client) => {
    const error = errorOf(() => HttpHedge.withHedge({ policy })(client as never))
    expect(error).toMatchObject({ _tag: "HedgePolicyError", field: "client", allowed: "an HttpClient" })
  }
)

describe("fromExit", () => {
  const request = HttpClientRequest.get("http://127.0.0.1")
  const requestError = (reason: "Transport" | "Encode" | "InvalidUrl") =>
    Exit.fail(new HttpClientError.RequestError({ request, reason }))

  it.each([
    ["a transport error", requestError("Transport"), HedgeOutcome.nonFatal()],
    ["a body that cannot be encoded", requestError("Encode"), HedgeOutcome.fatal()],
    ["a URL that is none", requestError("InvalidUrl"), HedgeOutcome.fatal()],
    ["an error of the user's", Exit.fail("no"), HedgeOutcome.nonFatal()],
    ["a defect", Exit.die("no"), HedgeOutcome.fatal()]
  ] as const)("%s", (_, exit, outcome) => {
    expect(HttpHedge.fromExit(exit)).toEqual(outcome)
  })

  it("refuses what is no exit", () => {
    expect(errorOf(() => HttpHedge.fromExit({ status: 503 } as never))).toMatchObject({
      _tag: "HedgePolicyError",
      field: "exit",
      allowed: "the Exit of an attempt"
    })
  })

  const answer = (
    status: number,
    headers: Record<string, string> = {},
    to: HttpClientRequest.HttpClientRequest = request
  ) => HttpClientResponse.fromWeb(to, new Response(null, { status, headers }))
  const keyed = HttpClientRequest.post("http://127.0.0.1", { headers: { "Idempotency-Key": "1" } })
  const doNotRetry = HedgeOutcome.nonFatal("DoNotRetry")
  const date = "Sun, 06 Nov 1994 08:49:37 GMT"

  afterEach(() => vi.useRealTimers())

  it.each([
    ["404", answer(404), HedgeOutcome.win],
    ["503", answer(503), HedgeOutcome.nonFatal()],
    ["429 without pushback", answer(429), doNotRetry],
    ["429 with Retry-After", answer(429, { "retry-after": "2" }), HedgeOutcome.nonFatal(2000)],
    ["409", answer(409), HedgeOutcome.win],
    ["409 to a write that has a key", answer(409, {}, keyed), doNotRetry],
    ["pushback of gRPC", answer(503, { "grpc-retry-pushback-ms": "25" }), HedgeOutcome.nonFatal(25)],
    ["pushback of gRPC that is no number", answer(503, { "grpc-retry-pushback-ms": "-1" }), doNotRetry],
    ["a date", answer(503, { "retry-after": date }), HedgeOutcome.nonFatal(7000)],
    ["a date of C", answer(503, { "retry-after": "Sun Nov  6 08:49:37 1994" }), HedgeOutcome.nonFatal(7000)],
    ["a date of no form of HTTP", answer(503, { "retry-after": "1994-11-06T08:49:37Z" }), doNotRetry]
  ] as const)("a response: %s", (_, response, outcome) => {
    vi.useFakeTimers({ now: Date.parse(date) - 7000, toFake: ["Date"] })
    expect(HttpHedge.fromExit(Exit.succeed(response))).toEqual(outcome)
    // as a callback of `map`
    expect(HttpHedge.fromExit(Exit.succeed(response), 0 as never)).toEqual(outcome)
    const error = new HttpClientError.ResponseError({ request, response, reason: "StatusCode" })
    expect(HttpHedge.fromExit(Exit.fail(error))).toEqual(outcome)
  })

  it("a response that could not be read is no answer, whatever its status", () => {
    const error = new HttpClientError.ResponseError({ request, response: answer(404), reason: "Decode" })
    expect(HttpHedge.fromExit(Exit.fail(error))).toEqual(HedgeOutcome.nonFatal())
  })
})
