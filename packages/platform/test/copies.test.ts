import { HttpClient, HttpClientRequest } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect, Fiber, TestClock } from "effect"
import { HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import { undiciHttp1 } from "./support/clients.js"
import { afterFailure, hedged, withOneConnection } from "./support/policies.js"
import { Recorder } from "./support/recorder.js"
import { serve, type TestServer } from "./support/server.js"

const failing = serve((_request, response) => response.writeHead(503).end())

const three = HedgePolicy.modify(afterFailure, { maxAttempts: 3 })

const sent = (server: TestServer, header: string) => server.received.map(({ headers }) => headers[header])

describe("headers of a copy", () => {
  it.scopedLive("C48: the attempt's number is absent on the primary, then 1, 2, …", () =>
    Effect.gen(function* () {
      const server = yield* failing
      yield* (yield* hedged(three, { headers: { attempt: "X-Attempt" } })).get(server.url)
      expect(sent(server, "x-attempt")).toEqual([undefined, "1", "2"])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("the call's id is the same on each copy, and another for another call", () =>
    Effect.gen(function* () {
      const server = yield* failing
      const client = yield* hedged(afterFailure, { headers: { callId: "X-Call" } })
      yield* client.get(server.url)
      yield* client.get(server.url)
      const [first, second, third, fourth] = sent(server, "x-call")
      expect(first).toMatch(/./)
      expect(second).toBe(first)
      expect(third).toMatch(/./)
      expect(third).not.toBe(first)
      expect(fourth).toBe(third)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scoped("the deadline is sent as the time left in milliseconds", () =>
    Effect.gen(function* () {
      const server = yield* serve((request, response) => {
        if (request.headers["x-time-left"] === "2500") response.writeHead(503, { "retry-after": "1" }).end()
        else response.end("hedge")
      })
      const policy = HedgePolicy.make({
        schedule: HedgeSchedule.onFailure,
        throttle: HedgeThrottle.unlimited,
        deadline: "2500 millis"
      })
      const recorder = new Recorder()
      const client = (yield* HttpClient.HttpClient).pipe(
        HttpHedge.withHedge({ policy, headers: { deadline: "X-Time-Left" } })
      )
      const call = yield* Effect.fork(client.get(server.url).pipe(Effect.provide(recorder.layer)))
      yield* recorder.until("AttemptEnded")
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(call)
      expect(sent(server, "x-time-left")).toEqual(["2500", "1500"])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("without a deadline no time left is sent", () =>
    Effect.gen(function* () {
      const server = yield* failing
      yield* (yield* hedged(afterFailure, { headers: { deadline: "X-Time-Left" } })).get(server.url)
      expect(sent(server, "x-time-left")).toEqual([undefined, undefined])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("nothing is added unless it is asked for", () =>
    Effect.gen(function* () {
      const server = yield* failing
      const plain = yield* HttpClient.HttpClient
      yield* HttpClient.withTracerPropagation(plain, false).get(server.url)
      yield* plain
        .pipe(HttpClient.withTracerPropagation(false), HttpHedge.withHedge({ policy: afterFailure }))
        .get(server.url)
      const [unhedged, ...copies] = server.received.map(({ headers }) => headers)
      expect(copies).toEqual([unhedged, unhedged])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("the response tells which request it answers", () =>
    Effect.gen(function* () {
      const replica = yield* serve((_request, response) => response.end())
      const client = yield* hedged(afterFailure, { replicas: [replica.url] })
      const response = yield* client.get(`${(yield* failing).url}/users`)
      expect(response.request.url).toBe(`${replica.url}/users`)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )
})

describe("replicas", () => {
  it.scopedLive("the primary goes where the request says, hedges to the replicas in turn", () =>
    Effect.gen(function* () {
      const [own, a, b, c] = yield* Effect.all([failing, failing, failing, failing])
      const policy = HedgePolicy.modify(afterFailure, { maxAttempts: 5 })
      yield* (yield* hedged(policy, { replicas: [a.url, b.url, c.url] })).get(own.url)
      expect([own, a, b, c].map(({ received }) => received.length)).toEqual([1, 2, 1, 1])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive.each([
    ["", "/v1/users?q=a%2Fb&page=2"],
    ["/", "/v1/users?q=a%2Fb&page=2"],
    ["/base", "/base/v1/users?q=a%2Fb&page=2"],
    ["/base/", "/base/v1/users?q=a%2Fb&page=2"],
    ["/base//", "/base/v1/users?q=a%2Fb&page=2"]
  ] as const)("a replica at %j gets the path and the query of the request", ([base, expected]) =>
    Effect.gen(function* () {
      const [own, replica] = yield* Effect.all([failing, failing])
      const request = HttpClientRequest.get(`${own.url}/v1/users?q=a%2Fb`).pipe(
        HttpClientRequest.setUrlParam("page", "2")
      )
      yield* (yield* hedged(afterFailure, { replicas: [replica.url + base] })).execute(request)
      expect(replica.received.map(({ path }) => path)).toEqual([expected])
      expect(own.received.map(({ path }) => path)).toEqual(["/v1/users?q=a%2Fb&page=2"])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("a base URL below the hedge is replaced too", () =>
    Effect.gen(function* () {
      const [own, replica] = yield* Effect.all([failing, failing])
      const client = (yield* HttpClient.HttpClient).pipe(
        HttpClient.mapRequest(HttpClientRequest.prependUrl(own.url)),
        HttpHedge.withHedge({ policy: afterFailure, replicas: [replica.url] })
      )
      yield* client.get("/users")
      expect(replica.received.map(({ path }) => path)).toEqual(["/users"])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive.each([
    ["with a replica there is somewhere to send a hedge", true, 2],
    ["without one its client may know of nowhere", false, 1]
  ] as const)("%s", ([_, withReplica, copies]) =>
    Effect.gen(function* () {
      const [own, replica] = yield* Effect.all([failing, failing])
      const client = (yield* HttpClient.HttpClient).pipe(
        withOneConnection,
        HttpHedge.withHedge({ policy: afterFailure, ...(withReplica ? { replicas: [replica.url] } : {}) })
      )
      yield* client.get(own.url)
      expect(own.received.length + replica.received.length).toBe(copies)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  const secret = HttpClientRequest.setHeaders({
    Authorization: "Bearer secret",
    Cookie: "session=secret",
    "Proxy-Authorization": "Basic secret",
    Accept: "text/plain"
  })
  const secrets = (server: TestServer) =>
    server.received.map(({ headers }) =>
      ["authorization", "cookie", "proxy-authorization", "accept"].map((name) => headers[name])
    )
  const all = ["Bearer secret", "session=secret", "Basic secret", "text/plain"]

  it.scopedLive("get the request's credentials", () =>
    Effect.gen(function* () {
      const [own, replica] = yield* Effect.all([failing, failing])
      const client = yield* hedged(afterFailure, { replicas: [replica.url] })
      yield* client.execute(secret(HttpClientRequest.get(own.url)))
      expect(secrets(replica)).toEqual([all])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("get none of them with credentials omitted, and the primary still does", () =>
    Effect.gen(function* () {
      const [own, replica] = yield* Effect.all([failing, failing])
      const client = yield* hedged(afterFailure, { replicas: [replica.url], credentials: "omit" })
      yield* client.execute(secret(HttpClientRequest.get(own.url)))
      expect(secrets(replica)).toEqual([[undefined, undefined, undefined, "text/plain"]])
      expect(secrets(own)).toEqual([all])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("get the body and the key of a write", () =>
    Effect.gen(function* () {
      const [own, replica] = yield* Effect.all([failing, failing])
      const client = yield* hedged(afterFailure, { replicas: [replica.url], credentials: "omit" })
      yield* client.execute(
        HttpClientRequest.post(own.url).pipe(
          HttpClientRequest.bodyText("order"),
          HttpClientRequest.setHeader("Idempotency-Key", "7f3a")
        )
      )
      expect(replica.received).toMatchObject([
        { method: "POST", body: "order", headers: { "idempotency-key": "7f3a" } }
      ])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )
})

describe("what the client below does with a request", () => {
  it.scopedLive("is done once for a call", () =>
    Effect.gen(function* () {
      const server = yield* failing
      let keys = 0
      const client = (yield* HttpClient.HttpClient).pipe(
        HttpClient.mapRequestEffect((request) =>
          Effect.sync(() => HttpClientRequest.setHeader(request, "Idempotency-Key", String(++keys)))
        ),
        HttpHedge.withHedge({ policy: afterFailure })
      )
      yield* client.post(server.url)
      yield* client.post(server.url)
      expect(sent(server, "idempotency-key")).toEqual(["1", "1", "2", "2"])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive.each([
    ["only an execute", ["execute"]],
    ["one stage beside its execute", ["execute", "preprocess"]],
    ["the other stage beside its execute", ["execute", "postprocess"]]
  ] as const)("a client that has %s can be hedged", ([_, parts]) =>
    Effect.gen(function* () {
      const server = yield* failing
      const plain = yield* HttpClient.HttpClient
      const bare = Object.fromEntries(
        parts.map((part) => [part, Reflect.get(plain, part)])
      ) as unknown as typeof plain
      const response = yield* HttpHedge.withHedge({ policy: afterFailure })(bare).get(server.url)
      expect(response.status).toBe(503)
      expect(server.received).toHaveLength(2)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )
})
