import { HttpClient } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect } from "effect"
import { HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import { undiciHttp1 } from "./support/clients.js"
import { serve } from "./support/server.js"

const failing = serve((_request, response) => response.writeHead(503).end())
const unnamed = HedgePolicy.make({ schedule: HedgeSchedule.onFailure })

const hedged = (options: HttpHedge.Options = {}) =>
  Effect.map(HttpClient.HttpClient, HttpHedge.withHedge({ policy: unnamed, ...options }))

/** Lets nothing through, and counts how often it was asked. */
const refusing = () => {
  const asked = { calls: 0, hedges: 0 }
  const throttle = HedgeThrottle.make({
    name: "refusing",
    refusedBy: () => {
      asked.hedges++
      return "refusing"
    },
    take: () => {},
    onCall: () => {
      asked.calls++
    }
  })
  return { asked, throttle }
}

describe("a policy that names no throttle", () => {
  /** Calls until the throttle of a server that fails every attempt lets no hedge through any more. */
  const exhaust = (client: HttpClient.HttpClient, url: string) => Effect.repeatN(client.get(url), 60)

  it.scopedLive("has one for each origin: what one has used up, another still has", () =>
    Effect.gen(function* () {
      const [down, other] = yield* Effect.all([failing, failing])
      const client = yield* hedged()
      yield* exhaust(client, down.url)
      const before = down.received.length
      yield* client.get(down.url)
      expect(down.received).toHaveLength(before + 1)
      yield* client.get(other.url)
      expect(other.received).toHaveLength(2)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("shares it among the clients of the process", () =>
    Effect.gen(function* () {
      const server = yield* failing
      yield* exhaust(yield* hedged(), server.url)
      const before = server.received.length
      yield* (yield* hedged()).get(server.url)
      expect(server.received).toHaveLength(before + 1)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("asks that of the request's own origin, whatever replica a hedge goes to", () =>
    Effect.gen(function* () {
      const [own, replica] = yield* Effect.all([failing, failing])
      yield* exhaust(yield* hedged({ replicas: [replica.url] }), own.url)
      const before = replica.received.length
      yield* (yield* hedged()).get(replica.url)
      expect(replica.received).toHaveLength(before + 2)
    }).pipe(Effect.provide(undiciHttp1.layer))
  )

  it.scopedLive("asks the one that replaces the default, for all origins", () =>
    Effect.gen(function* () {
      const [first, second] = yield* Effect.all([failing, failing])
      const { asked, throttle } = refusing()
      const client = yield* hedged()
      yield* Effect.zip(client.get(first.url), client.get(second.url)).pipe(
        Effect.provideService(HedgeThrottle.Default, throttle)
      )
      expect(asked).toEqual({ calls: 2, hedges: 2 })
      expect([first, second].map(({ received }) => received.length)).toEqual([1, 1])
    }).pipe(Effect.provide(undiciHttp1.layer))
  )
})

it.scopedLive("a policy's own throttle is asked for all origins", () =>
  Effect.gen(function* () {
    const [first, second] = yield* Effect.all([failing, failing])
    const { asked, throttle } = refusing()
    const policy = HedgePolicy.modify(unnamed, { throttle })
    const client = yield* Effect.map(HttpClient.HttpClient, HttpHedge.withHedge({ policy }))
    yield* Effect.zip(client.get(first.url), client.get(second.url))
    expect(asked).toEqual({ calls: 2, hedges: 2 })
  }).pipe(Effect.provide(undiciHttp1.layer))
)
