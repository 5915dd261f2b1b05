import { RpcClient } from "@effect/rpc"
import { expect, it } from "@effect/vitest"
import { Effect, Queue, Stream } from "effect"
import { HedgePolicy, HedgeSchedule } from "effect-hedge"
import { Visits } from "../src/loopback.js"
import {
  classify,
  HedgedProtocol,
  main,
  PlainProtocol,
  Reads,
  visiting,
  withHedgedProcedures
} from "../src/rpc.js"

it.live("procedures are hedged one by one, or all that one protocol carries, streams among them", () =>
  Effect.gen(function* () {
    expect(yield* main).toEqual({
      procedures: {
        result: { price: 42, history: [40, 41, 42], order: 1, remind: "reminded" },
        requests: { price: 2, history: 2, order: 2, remind: 1 }
      },
      protocol: { result: { price: 42, history: [40, 41, 42] }, requests: { price: 2, history: 2 } }
    })
  })
)

it.live(
  "an error that the procedure declares is an answer: it keeps its type, and no copy is sent for it",
  () =>
    Effect.gen(function* () {
      const policy = HedgePolicy.make({ schedule: HedgeSchedule.onFailure, deadline: "5 seconds", classify })
      const program = Effect.gen(function* () {
        const shop = yield* withHedgedProcedures(policy)
        return yield* Effect.catchTag(shop.price(2), "NoSuchItem", ({ id }) => Effect.succeed(id))
      })
      expect(yield* visiting([], PlainProtocol, program)).toEqual({ result: 2, requests: { unknown: 1 } })
    })
)

it.live("an error of the protocol is none: a copy is sent at once", () =>
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
    const shop = yield* withHedgedProcedures(policy)
    expect(yield* Effect.flip(shop.price(1))).toMatchObject({ _tag: "RpcClientError" })
    expect(attempts).toEqual([0, 1])
  }).pipe(Effect.scoped, Effect.provide(PlainProtocol("http://127.0.0.1:1/rpc")))
)

/** The endpoint whose handler was interrupted, once one was. */
const givenUp = Effect.flatMap(Visits, (visits) => Queue.take(visits.givenUp))

it.live("the server is told that a procedure's loser is given up", () =>
  Effect.gen(function* () {
    const program = Effect.gen(function* () {
      const shop = yield* withHedgedProcedures()
      yield* shop.price(1)
      return yield* givenUp
    })
    expect(yield* visiting(["price"], PlainProtocol, program)).toMatchObject({ result: "price" })
  })
)

it.live("the server is told that a stream's loser is given up, while the winner streams on", () =>
  Effect.gen(function* () {
    const program = Effect.gen(function* () {
      const shop = yield* withHedgedProcedures()
      yield* Stream.runDrain(shop.history(1))
      return yield* givenUp
    })
    expect(yield* visiting(["history"], PlainProtocol, program)).toMatchObject({ result: "history" })
  })
)

it.live("so it is told where the protocol is hedged", () =>
  Effect.gen(function* () {
    const program = Effect.gen(function* () {
      const reads = yield* RpcClient.make(Reads)
      yield* Stream.runDrain(reads.history({ id: 1 }))
      return yield* givenUp
    })
    expect(yield* visiting(["history"], HedgedProtocol, program)).toMatchObject({ result: "history" })
  })
)
