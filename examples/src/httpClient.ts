/**
 * An HttpClient under a policy from a layer: the program says nothing of hedging, the program's edge does.
 */
import { HttpClient, HttpClientResponse } from "@effect/platform"
import { NodeHttpClient } from "@effect/platform-node"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect, Layer, Schema } from "effect"
import { HedgePolicy, HedgeSchedule } from "effect-hedge"
import { serve } from "./loopback.js"

const User = Schema.Struct({ id: Schema.Number, name: Schema.String })

const user = (api: string, id: number) =>
  HttpClient.get(`${api}/users/${id}`).pipe(Effect.flatMap(HttpClientResponse.schemaBodyJson(User)))

const Policy = HedgePolicy.layer({ schedule: HedgeSchedule.fixed("40 millis"), deadline: "5 seconds" })

/** Provided once, at the edge: it owns the requests that have lost and are still being given up. */
const HedgedHttpClient = HttpHedge.layer.pipe(
  Layer.provide(Policy),
  Layer.provide(NodeHttpClient.layerUndici)
)

/** Asks a server that leaves its first request without an answer. */
export const main = Effect.gen(function* () {
  let requests = 0
  const api = yield* serve((_request, response) => {
    requests += 1
    if (requests > 1) response.end(JSON.stringify({ id: 1, name: "Ada" }))
  })
  const { name } = yield* user(api, 1).pipe(Effect.provide(HedgedHttpClient))
  return { name, requests }
}).pipe(Effect.scoped)
