import { HttpClient, HttpClientRequest } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { Context, Duration, Effect, Fiber, Layer, Option, TestClock } from "effect"
import { HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import { keysOf } from "../src/internal/keys.js"
import { undiciHttp1 } from "./support/clients.js"
import { serve } from "./support/server.js"

/** A server whose answers wait until the test lets them go, so that they take as long as the test's clock says. */
const patient = Effect.gen(function* () {
  const waiting: Array<() => void> = []
  const server = yield* serve((_, response) => {
    waiting.push(() => response.end("ok"))
  })
  const release = () => {
    for (const respond of waiting.splice(0)) respond()
  }
  return { server, release }
})

type Client = HttpClient.HttpClient.With<unknown>
type Patient = Effect.Effect.Success<typeof patient>

/** A hedged client under the policy of a layer, and that policy. */
const under = (layer: Layer.Layer<HedgePolicy.DefaultPolicy>, options: HttpHedge.Options = {}) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(layer)
    const policy = Context.get(context, HedgePolicy.DefaultPolicy)
    const client = yield* Effect.map(HttpClient.HttpClient, HttpHedge.withHedge({ policy, ...options }))
    return { client, policy }
  })

/** Sends requests at once, each of which is answered after `millis`. */
const answered = (
  client: Client,
  { release, server }: Patient,
  millis: number,
  paths: ReadonlyArray<string>
) =>
  Effect.gen(function* () {
    const before = server.received.length
    const calls = yield* Effect.forEach(paths, (path) =>
      Effect.fork(Effect.flatMap(client.get(server.url + path), (response) => response.text))
    )
    yield* server.until(({ received }) => received.length === before + paths.length)
    yield* TestClock.adjust(millis)
    release()
    yield* Fiber.joinAll(calls)
  })

const paths = (route: string, count: number) => Array.from({ length: count }, (_, i) => `${route}/${i}`)

const firstDelay = (policy: HedgePolicy.HedgePolicy<unknown, unknown, unknown>, key: ReadonlyArray<string>) =>
  Effect.map(HedgePolicy.inspect(policy, key), (inspection) =>
    Duration.toMillis(Option.getOrThrow(inspection).delays[0] ?? Duration.infinity)
  )

/** The median, known after 20 samples. */
const median = HedgePolicy.layer({
  schedule: HedgeSchedule.quantile(0.5, { warmUp: 20 }),
  throttle: HedgeThrottle.unlimited
})

describe("a policy that learns, with no further option", () => {
  it.scoped("gives two routes of one origin the delay of each", () =>
    Effect.gen(function* () {
      const patience = yield* patient
      const { server } = patience
      const { client, policy } = yield* under(median)
      yield* answered(client, patience, 10, paths("/fast", 20))
      yield* answered(client, patience, 100, paths("/slow", 20))
      expect(yield* firstDelay(policy, [server.url, "GET /fast/:id"])).toBeCloseTo(10, 0)
      expect(yield* firstDelay(policy, [server.url, "GET /slow/:id"])).toBeCloseTo(100, 0)

      const copiesOf = (path: string) => server.received.filter((request) => request.path === path).length
      const late = yield* Effect.forEach(["/fast/100", "/slow/100"], (path) =>
        Effect.fork(client.get(server.url + path))
      )
      yield* server.until(() => copiesOf("/fast/100") === 1 && copiesOf("/slow/100") === 1)
      yield* TestClock.adjust(11)
      yield* server.until(() => copiesOf("/fast/100") === 2)
      expect(copiesOf("/slow/100")).toBe(1)
      yield* TestClock.adjust(90)
      yield* server.until(() => copiesOf("/slow/100") === 2)
      yield* Fiber.interruptAll(late)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scoped("lets a route that is new go by what is known of its origin, and by no other's", () =>
    Effect.gen(function* () {
      const [known, other] = yield* Effect.all([patient, patient])
      const { client, policy } = yield* under(median)
      yield* answered(client, known, 10, paths("/users", 20))
      yield* answered(client, other, 100, paths("/users", 21))
      expect(yield* firstDelay(policy, [known.server.url, "GET /new"])).toBeCloseTo(10, 0)
      expect(yield* firstDelay(policy, [other.server.url, "GET /new"])).toBeCloseTo(100, 0)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scoped("goes by the key that the user says, a size class under its route for example", () =>
    Effect.gen(function* () {
      const patience = yield* patient
      const { url } = patience.server
      const key = (request: HttpClientRequest.HttpClientRequest) => [
        "list",
        request.url.includes("1000") ? "large" : "small"
      ]
      const { client, policy } = yield* under(median, { key })
      yield* answered(client, patience, 10, paths("/small", 20))
      yield* answered(client, patience, 100, paths("/1000", 20))
      expect(yield* firstDelay(policy, [url, "list", "small"])).toBeCloseTo(10, 0)
      expect(yield* firstDelay(policy, [url, "list", "large"])).toBeCloseTo(100, 0)
      expect(yield* HedgePolicy.keys(policy)).toEqual([
        [url, "list", "small"],
        [url],
        [url, "list"],
        [url, "list", "large"]
      ])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scoped("goes by the policy's own key, if it has one", () =>
    Effect.gen(function* () {
      const patience = yield* patient
      const { policy } = yield* under(median)
      const client = yield* Effect.map(
        HttpClient.HttpClient,
        HttpHedge.withHedge({ policy: HedgePolicy.keyed(policy, "all") })
      )
      yield* answered(client, patience, 10, paths("/users", 3))
      expect(yield* HedgePolicy.keys(policy)).toEqual([["all"]])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scoped("keeps 256 keys of 300 routes, those that were used last", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => response.end())
      const { client, policy } = yield* under(HedgePolicy.layerAdaptive({ extraLoad: 0.1 }))
      const names = Array.from({ length: 300 }, (_, i) => `/route${i}`)
      yield* Effect.forEach(names, (name) => client.get(server.url + name), { discard: true })
      const keys = yield* HedgePolicy.keys(policy)
      expect(keys).toHaveLength(256)
      expect(keys).toContainEqual([server.url])
      const routes = keys.filter(({ length }) => length === 2)
      expect(routes).toEqual(names.slice(-255).map((name) => [server.url, `GET ${name}`]))
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scoped("fails a call whose key is none, and names it", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => response.end())
      const { client } = yield* under(median, { key: () => 3 as never })
      const defect = yield* Effect.flip(Effect.sandbox(client.get(server.url)))
      expect(defect).toMatchObject({ defect: { _tag: "HedgePolicyError", field: "key" } })
      expect(server.received).toHaveLength(0)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )
})

describe("the budget of layerAdaptive", () => {
  const failing = serve((_, response) => response.writeHead(503).end())
  const adaptive = HedgePolicy.layerAdaptive({ extraLoad: 0.1 })

  /** Requests that a call to a server costs. */
  const cost = (client: Client, server: Effect.Effect.Success<typeof failing>, path: string) =>
    Effect.gen(function* () {
      const before = server.received.length
      yield* client.get(server.url + path)
      return server.received.length - before
    })

  it.scopedLive("is one for each origin: an outage takes nothing from another", () =>
    Effect.gen(function* () {
      const [down, other] = yield* Effect.all([failing, failing])
      const { client } = yield* under(adaptive)
      yield* Effect.repeatN(client.get(`${down.url}/users/1`), 60)
      expect(yield* cost(client, down, "/users/1")).toBe(1)
      expect(yield* cost(client, other, "/users/1")).toBe(2)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("is shared by the routes of an origin", () =>
    Effect.gen(function* () {
      const down = yield* failing
      const { client } = yield* under(adaptive)
      yield* Effect.repeatN(client.get(`${down.url}/users/1`), 60)
      expect(yield* cost(client, down, "/orders/1")).toBe(1)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("is the layer's of HttpHedge, too", () =>
    Effect.gen(function* () {
      const [down, other] = yield* Effect.all([failing, failing])
      const layer = Layer.provideMerge(HttpHedge.layer, adaptive)
      const context = yield* Layer.build(layer)
      const client = Context.get(context, HttpClient.HttpClient)
      yield* Effect.repeatN(client.get(`${down.url}/users/1`), 60)
      expect(yield* cost(client, down, "/users/1")).toBe(1)
      expect(yield* cost(client, other, "/users/1")).toBe(2)
      const keys = yield* HedgePolicy.keys(Context.get(context, HedgePolicy.DefaultPolicy))
      expect(keys).toContainEqual([down.url, "GET /users/:id"])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )
})

it("a request whose URL is none has no key", () => {
  expect(keysOf({})(HttpClientRequest.get("/users/42"))).toEqual([])
})

describe("routeOf", () => {
  it.each([
    ["https://api.example.com", "GET /"],
    ["https://api.example.com/?page=2", "GET /"],
    ["https://api.example.com?page=2", "GET /"],
    ["https://api.example.com/users/42/posts?page=2#top", "GET /users/:id/posts"],
    ["https://api.example.com/users/42.json", "GET /users/:id.json"],
    ["https://api.example.com/reports/2024-05-31", "GET /reports/:id"],
    ["https://api.example.com/users/0b0f4ad0-8c49-4a3c-9d1f-5ab0f2d8f0c1", "GET /users/:id"],
    ["https://api.example.com/commits/9f86d081", "GET /commits/:id"],
    ["https://api.example.com/orders/01J9ZK6W3V1QZ8Y7T5R4P2N0M6", "GET /orders/:id"],
    ["https://api.example.com/customers/cus_9s6XKzkNRiz8i3Qa", "GET /customers/:id"],
    ["https://api.example.com/v1/oauth2/1.1/sha256", "GET /v1/oauth2/1.1/sha256"],
    ["https://api.example.com/posts/10-things-you-should-know", "GET /posts/10-things-you-should-know"],
    ["https://api.example.com/facade/deadbeef", "GET /facade/deadbeef"],
    ["https://api.example.com//users/", "GET //users/"],
    ["https://api.example.com/a/../ü", "GET /a/../ü"],
    ["/users/42", "GET "]
  ])("%s: %s", (url, route) => {
    expect(HttpHedge.routeOf(HttpClientRequest.get(url))).toBe(route)
  })

  it("tells methods apart", () => {
    expect(HttpHedge.routeOf(HttpClientRequest.head("https://api.example.com/users/42"))).toBe(
      "HEAD /users/:id"
    )
  })
})
