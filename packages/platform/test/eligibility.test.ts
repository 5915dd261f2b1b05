import { Readable } from "node:stream"
import { HttpBody, HttpClientRequest } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Hedge, HedgeEvent } from "effect-hedge"
import { isReplayable } from "../src/internal/http.js"
import { attemptsOver, bodies, consent, once, post } from "./suite/bodies.js"
import { fetchHttp1, transports, undiciHttp1 } from "./support/clients.js"
import { afterFailure, hedged } from "./support/policies.js"
import { serve } from "./support/server.js"

const attemptsOf = attemptsOver(undiciHttp1)
const withBody = HttpClientRequest.bodyText("order")
const writes = [
  ["POST", HttpClientRequest.post],
  ["PATCH", HttpClientRequest.patch],
  ["PUT", HttpClientRequest.put],
  ["DELETE", HttpClientRequest.del]
] as const

describe("C43: which requests are sent more than once", () => {
  it.live.each([HttpClientRequest.get, HttpClientRequest.head, HttpClientRequest.options])(
    "one that only reads is",
    (request) =>
      Effect.gen(function* () {
        expect(yield* attemptsOf((url) => request(url))).toHaveLength(2)
      })
  )

  it.live.each(writes)("a %s without consent or key is not", ([_, request]) =>
    Effect.gen(function* () {
      expect(yield* attemptsOf((url) => withBody(request(url)))).toHaveLength(1)
    })
  )

  it.live.each(writes)("a %s with consent is", ([method, request]) =>
    Effect.gen(function* () {
      const received = yield* attemptsOf((url) => withBody(request(url)), {
        eligible: (request) => request.method === method
      })
      expect(received.map(({ body }) => body)).toEqual(["order", "order"])
    })
  )

  it.live.each(writes)(
    "a %s with an idempotency key is, and the key is the same on each copy",
    ([_, request]) =>
      Effect.gen(function* () {
        const received = yield* attemptsOf((url) =>
          request(url).pipe(withBody, HttpClientRequest.setHeader("Idempotency-Key", "7f3a"))
        )
        expect(received.map(({ headers }) => headers["idempotency-key"])).toEqual(["7f3a", "7f3a"])
      })
  )

  it.live("the key's header can be another one", () =>
    Effect.gen(function* () {
      const request = (header: string) => (url: string) =>
        HttpClientRequest.post(url).pipe(HttpClientRequest.setHeader(header, "7f3a"))
      const options = { idempotencyHeader: "X-Request-Id" }
      expect(yield* attemptsOf(request("X-Request-Id"), options)).toHaveLength(2)
      expect(yield* attemptsOf(request("Idempotency-Key"), options)).toHaveLength(1)
    })
  )

  it.live("a key that is empty is none", () =>
    Effect.gen(function* () {
      const received = yield* attemptsOf((url) =>
        HttpClientRequest.post(url).pipe(HttpClientRequest.setHeader("Idempotency-Key", ""))
      )
      expect(received).toHaveLength(1)
    })
  )

  it.live("withoutHedging excludes a request that would be eligible", () =>
    Effect.gen(function* () {
      expect(yield* Hedge.withoutHedging(attemptsOf((url) => HttpClientRequest.get(url)))).toHaveLength(1)
    })
  )

  it.scopedLive("a defect in the question is one of the call, and nothing is sent", () =>
    Effect.gen(function* () {
      const server = yield* serve((_request, response) => response.end())
      const client = yield* hedged(afterFailure, {
        eligible: () => {
          throw new Error("asked too much")
        }
      })
      const exit = yield* Effect.exit(client.post(server.url))
      expect(exit).toMatchObject({ _tag: "Failure", cause: { _tag: "Die" } })
      expect(server.received).toHaveLength(0)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.live("a request that is not eligible is reported as such, once", () =>
    Effect.gen(function* () {
      const suppressed: Array<string> = []
      const listener: HedgeEvent.Listener = {
        onEvent: (event) => {
          if (event._tag === "HedgeSuppressed") suppressed.push(event.reason)
        }
      }
      yield* attemptsOf((url) => withBody(HttpClientRequest.post(url))).pipe(
        Effect.provide(HedgeEvent.layer(listener))
      )
      expect(suppressed).toEqual(["Ineligible"])
    })
  )
})

transports.filter(({ protocol }) => protocol === "HTTP/1.1").forEach(bodies)

it.live("C44: a form is sent whole by each attempt", () =>
  Effect.gen(function* () {
    const form = new FormData()
    form.set("field", "whole body")
    const received = yield* attemptsOver(fetchHttp1)(post(HttpBody.formData(form)), consent)
    expect(received).toHaveLength(2)
    for (const { body } of received) expect(body).toContain("whole body")
  })
)

it.live("C44: a raw stream is sent once", () =>
  Effect.gen(function* () {
    const raw = Readable.from(["whole ", "body"])
    const received = yield* attemptsOf(post(HttpBody.raw(raw)), consent)
    expect(received.map(({ body }) => body)).toEqual(["whole body"])
  })
)

describe("C44: a body can be sent again that is", () => {
  const form = new FormData()
  it.each([
    ["none", HttpBody.empty],
    ["bytes", HttpBody.uint8Array(new Uint8Array(1))],
    ["a form", HttpBody.formData(form)],
    ["raw, and nothing", HttpBody.raw(undefined)],
    ["raw, and null", HttpBody.raw(null)],
    ["raw, and text", HttpBody.raw("")],
    ["raw, and a buffer", HttpBody.raw(new ArrayBuffer(1))],
    ["raw, and a view of one", HttpBody.raw(new DataView(new ArrayBuffer(1)))],
    ["raw, and parameters of a URL", HttpBody.raw(new URLSearchParams())],
    ["raw, and a blob", HttpBody.raw(new Blob([]))],
    ["raw, and a form", HttpBody.raw(form)]
  ] as const)("%s", (_, body) => {
    expect(isReplayable(body)).toBe(true)
  })

  it.each([
    ["a stream", once()],
    ["raw, and a stream", HttpBody.raw(Readable.from([]))],
    ["raw, and anything else", HttpBody.raw({ read: () => "whole body" })]
  ] as const)("but not %s", (_, body) => {
    expect(isReplayable(body)).toBe(false)
  })
})

it.live("C44: a body that can be sent again is not replayed", () =>
  Effect.gen(function* () {
    let replayed = 0
    const received = yield* attemptsOf(post(HttpBody.text("whole body")), {
      ...consent,
      replay: (request) => {
        replayed += 1
        return request
      }
    })
    expect(received).toHaveLength(2)
    expect(replayed).toBe(0)
  })
)

it.live("C44: a replay function is no consent", () =>
  Effect.gen(function* () {
    expect(yield* attemptsOf(post(once()), { replay: HttpClientRequest.setBody(once()) })).toHaveLength(1)
  })
)
