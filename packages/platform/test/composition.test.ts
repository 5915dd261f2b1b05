import {
  Cookies,
  HttpApi,
  HttpApiClient,
  HttpApiEndpoint,
  HttpApiGroup,
  HttpClient,
  type HttpClientResponse
} from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect, Layer, Ref, Schema, Tracer } from "effect"
import { HedgePolicy, HedgeTracing } from "effect-hedge"
import { scopes } from "./suite/scopes.js"
import { transports, undiciHttp1 } from "./support/clients.js"
import { afterFailure, attemptHeader } from "./support/policies.js"
import { serve } from "./support/server.js"

const headers = { attempt: attemptHeader }
const withHedge = HttpHedge.withHedge({ policy: afterFailure, headers })
const text = (response: HttpClientResponse.HttpClientResponse) => response.text

/** The primary fails, hedges answer. */
const flaky = serve((request, response) => {
  if (request.headers[attemptHeader] === undefined)
    response.writeHead(503, { "set-cookie": "from=primary" }).end()
  else response.writeHead(200, { "set-cookie": "from=hedge" }).end("hedge")
})

describe("C49: filterStatusOk", () => {
  it.scopedLive.each([
    ["above the hedge", (client: HttpClient.HttpClient) => client.pipe(withHedge, HttpClient.filterStatusOk)],
    ["below it", (client: HttpClient.HttpClient) => client.pipe(HttpClient.filterStatusOk, withHedge)]
  ] as const)("%s: a hedge answers for a primary that fails", ([_, make]) =>
    Effect.gen(function* () {
      const server = yield* flaky
      const client = make(yield* HttpClient.HttpClient)
      expect(yield* Effect.flatMap(client.get(server.url), text)).toBe("hedge")
    }).pipe(Effect.provide(undiciHttp1.layer))
  )
})

describe("C49: retry", () => {
  it.scopedLive("above the hedge starts a new call each time", () =>
    Effect.gen(function* () {
      let requests = 0
      const server = yield* serve((_request, response) =>
        response.writeHead(++requests < 6 ? 503 : 200).end("answer")
      )
      const client = (yield* HttpClient.HttpClient).pipe(withHedge, HttpClient.retryTransient({ times: 5 }))
      expect(yield* Effect.flatMap(client.get(server.url), text)).toBe("answer")
      const attempts = server.received.map((request) => request.headers[attemptHeader])
      expect(attempts).toEqual([undefined, "1", undefined, "1", undefined, "1"])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )
})

describe("C49: cookies", () => {
  it.scopedLive("above the hedge only the answer's are kept, and each copy carries them", () =>
    Effect.gen(function* () {
      const server = yield* flaky
      const ref = yield* Ref.make(Cookies.fromSetCookie("kept=before"))
      const client = (yield* HttpClient.HttpClient).pipe(withHedge, HttpClient.withCookiesRef(ref))
      yield* client.get(server.url)
      expect(server.received.map((request) => request.headers.cookie)).toEqual(["kept=before", "kept=before"])
      expect(Cookies.toRecord(yield* Ref.get(ref))).toEqual({ kept: "before", from: "hedge" })
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("below it those of every answer are", () =>
    Effect.gen(function* () {
      const server = yield* serve((request, response) => {
        const role = request.headers[attemptHeader] === undefined ? "primary" : "hedge"
        response.writeHead(503, { "set-cookie": `${role}=yes` }).end()
      })
      const ref = yield* Ref.make(Cookies.empty)
      const client = (yield* HttpClient.HttpClient).pipe(HttpClient.withCookiesRef(ref), withHedge)
      yield* client.get(server.url)
      expect(Cookies.toRecord(yield* Ref.get(ref))).toEqual({ primary: "yes", hedge: "yes" })
    }).pipe(Effect.provide(undiciHttp1.layer))
  )
})

describe("C49: redirects", () => {
  const redirecting = serve((request, response) => {
    if (request.path === "/") response.writeHead(302, { location: "/there" }).end()
    else if (request.headers[attemptHeader] === undefined) response.writeHead(503).end()
    else response.end("hedge")
  })
  const paths = (server: Effect.Effect.Success<typeof redirecting>) =>
    server.received.map(({ path, headers }) => [path, headers[attemptHeader]])

  it.scopedLive("below the hedge every attempt follows them", () =>
    Effect.gen(function* () {
      const server = yield* redirecting
      const client = (yield* HttpClient.HttpClient).pipe(HttpClient.followRedirects(), withHedge)
      expect(yield* Effect.flatMap(client.get(server.url), text)).toBe("hedge")
      expect(paths(server)).toEqual([
        ["/", undefined],
        ["/there", undefined],
        ["/", "1"],
        ["/there", "1"]
      ])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("above it every step is a call", () =>
    Effect.gen(function* () {
      const server = yield* redirecting
      const client = (yield* HttpClient.HttpClient).pipe(withHedge, HttpClient.followRedirects())
      expect(yield* Effect.flatMap(client.get(server.url), text)).toBe("hedge")
      expect(paths(server)).toEqual([
        ["/", undefined],
        ["/there", undefined],
        ["/there", "1"]
      ])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("below the hedge, those of a replica lead to the replica", () =>
    Effect.gen(function* () {
      const [own, replica] = yield* Effect.all([
        serve((_, response) => response.writeHead(503).end()),
        redirecting
      ])
      const client = (yield* HttpClient.HttpClient).pipe(
        HttpClient.followRedirects(),
        HttpHedge.withHedge({ policy: afterFailure, headers, replicas: [replica.url] })
      )
      expect(yield* Effect.flatMap(client.get(own.url), text)).toBe("hedge")
      expect(paths(replica)).toEqual([
        ["/", "1"],
        ["/there", "1"]
      ])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )
})

describe("C49: HttpApiClient", () => {
  const User = Schema.Struct({ name: Schema.String })
  const Api = HttpApi.make("api").add(
    HttpApiGroup.make("users").add(HttpApiEndpoint.get("first", "/users/1").addSuccess(User))
  )
  const server = serve((request, response) => {
    if (request.headers[attemptHeader] === undefined) response.writeHead(503).end()
    else response.writeHead(200, { "content-type": "application/json" }).end('{"name":"Ada"}')
  })

  it.scopedLive("over a hedged client in context", () =>
    Effect.gen(function* () {
      const client = yield* HttpApiClient.make(Api, { baseUrl: (yield* server).url })
      expect(yield* client.users.first()).toEqual({ name: "Ada" })
    }).pipe(
      Effect.provide(
        HttpHedge.layerWith({ headers }).pipe(
          Layer.provide(HedgePolicy.layer(afterFailure)),
          Layer.provide(undiciHttp1.layer)
        )
      )
    )
  )

  it.scopedLive("with the hedge as its transformation", () =>
    Effect.gen(function* () {
      const client = yield* HttpApiClient.make(Api, {
        baseUrl: (yield* server).url,
        transformClient: withHedge
      })
      expect(yield* client.users.first()).toEqual({ name: "Ada" })
    }).pipe(Effect.provide(undiciHttp1.layer))
  )
})

describe("C49: tracing", () => {
  /** Spans as they start, by the names of those around them. */
  const record = Effect.map(Effect.tracer, (native) => {
    const spans: Array<Tracer.Span> = []
    const tracer = Tracer.make({
      context: (f, fiber) => native.context(f, fiber),
      span: (...args) => {
        const span = native.span(...args)
        spans.push(span)
        return span
      }
    })
    return { spans, tracer }
  })
  const path = (span: Tracer.AnySpan): string =>
    span._tag === "Span" && span.parent._tag === "Some"
      ? `${path(span.parent.value)} > ${nameOf(span)}`
      : nameOf(span)
  const nameOf = (span: Tracer.AnySpan): string => (span._tag === "Span" ? span.name : span.spanId)

  it.scopedLive.each([
    ["without HedgeTracing", Layer.empty, "page > http.client GET"],
    ["with it", HedgeTracing.layer, "page > hedge.call > hedge.attempt > http.client GET"]
  ] as const)(
    "%s: one trace, a client span for each attempt, and the server sees it",
    ([_, layer, expected]) =>
      Effect.gen(function* () {
        const server = yield* flaky
        const { spans, tracer } = yield* record
        const client = withHedge(yield* HttpClient.HttpClient)
        yield* client
          .get(server.url)
          .pipe(Effect.withSpan("page"), Effect.provide(layer), Effect.withTracer(tracer))
        const ofClient = spans.filter(({ kind }) => kind === "client")
        expect(ofClient.map(path)).toEqual([expected, expected])
        expect(ofClient.map(({ attributes }) => attributes.get("http.response.status_code"))).toEqual([
          503, 200
        ])
        expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
        const seen = server.received.map((request) => request.headers.traceparent)
        expect(seen).toEqual(ofClient.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`))
      }).pipe(Effect.provide(undiciHttp1.layer))
  )
})

transports.forEach(scopes)
