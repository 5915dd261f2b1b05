import { NodeHttpClient } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import { Effect, Queue } from "effect"
import { HedgePolicy, HedgeSchedule } from "effect-hedge"
import { classify, hedgedClient, main, visiting, withHedgedPrice } from "../src/httpApi.js"
import { Visits } from "../src/loopback.js"

it.live("one endpoint is hedged and the others are not; a whole client is, but for writes", () =>
  Effect.gen(function* () {
    const result = [42, 7, "ordered"]
    expect(yield* main).toEqual({
      byEffect: { result, requests: { price: 2, stock: 1, order: 1 } },
      byRequest: { result: 7, requests: { stock: 2 } },
      everyEndpoint: { result, requests: { price: 2, stock: 2, order: 1 } }
    })
  })
)

it.live("an error that the API declares is an answer: it keeps its type, and no copy is sent for it", () =>
  Effect.gen(function* () {
    const policy = HedgePolicy.make({ schedule: HedgeSchedule.onFailure, deadline: "5 seconds", classify })
    const { result, requests } = yield* visiting([], (baseUrl) =>
      Effect.gen(function* () {
        const items = yield* withHedgedPrice(baseUrl, policy)
        return yield* Effect.catchTag(items.price(2), "NoSuchItem", ({ id }) => Effect.succeed(id))
      })
    )
    expect({ result, requests }).toEqual({ result: 2, requests: { unknown: 1 } })
  })
)

it.live("where requests are hedged, it wins as any answer does, and keeps its type", () =>
  Effect.gen(function* () {
    const { result, requests } = yield* visiting(["unknown"], (baseUrl) =>
      Effect.gen(function* () {
        const { items } = yield* hedgedClient(baseUrl)
        const price = items.price({ path: { id: 2 } })
        return yield* Effect.catchTag(price, "NoSuchItem", ({ id }) => Effect.succeed(id))
      })
    )
    expect({ result, requests }).toEqual({ result: 2, requests: { unknown: 2 } })
  })
)

it.live("an error of the connection is none: a copy is sent at once", () =>
  Effect.gen(function* () {
    const attempts: Array<number> = []
    const policy = HedgePolicy.make({
      schedule: HedgeSchedule.onFailure,
      deadline: "5 seconds",
      classify: (exit, { index }) => {
        attempts.push(index)
        return classify(exit)
      }
    })
    const items = yield* withHedgedPrice("http://127.0.0.1:1", policy)
    expect(yield* Effect.flip(items.price(1))).toMatchObject({ _tag: "RequestError", reason: "Transport" })
    expect(attempts).toEqual([0, 1])
  }).pipe(Effect.provide(NodeHttpClient.layerUndici))
)

it.live("the server is told that a loser is given up", () =>
  Effect.gen(function* () {
    const { result } = yield* visiting(["price"], (baseUrl) =>
      Effect.gen(function* () {
        const items = yield* withHedgedPrice(baseUrl)
        yield* items.price(1)
        return yield* Queue.take((yield* Visits).givenUp)
      })
    )
    expect(result).toBe("price")
  })
)
