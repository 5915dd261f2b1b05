/**
 * Replicas with a fallback: hedges go to other servers, and when none of them has a good answer in time, the last one known is good enough.
 */
import { HttpClient, HttpClientResponse } from "@effect/platform"
import { NodeHttpClient } from "@effect/platform-node"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect, Schema } from "effect"
import { HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import { serve } from "./loopback.js"

export interface Servers {
  readonly primary: string
  readonly replicas: ReadonlyArray<string>
}

const Rate = Schema.Struct({ rate: Schema.Number, from: Schema.String })
type Rate = typeof Rate.Type

/** Building a policy is cheap, but its throttle holds state: both are made once, not per request. */
const policy = HedgePolicy.make({
  name: "rates",
  schedule: HedgeSchedule.fixed("40 millis"),
  maxAttempts: 3,
  deadline: "5 seconds",
  throttle: HedgeThrottle.loadBudget({ extraLoad: 0.1, burst: 20 })
})

/**
 * A client whose hedges go to the replicas in turn, without the caller's credentials. If all answers are bad the primary's comes back, and
 * `filterStatusOk`, above the hedge, makes an error of it.
 */
const makeClient = ({ replicas }: Servers) =>
  Effect.map(HttpClient.HttpClient, (client) =>
    client.pipe(HttpHedge.withHedge({ policy, replicas, credentials: "omit" }), HttpClient.filterStatusOk)
  )

/** The rate now, or the last one known: after an error of every server, and after the deadline. */
export const rate = (servers: Servers, lastKnown: Rate) =>
  Effect.gen(function* () {
    const client = yield* makeClient(servers)
    const response = yield* client.get(`${servers.primary}/rates/EUR`)
    return yield* HttpClientResponse.schemaBodyJson(Rate)(response)
  }).pipe(Effect.catchAll(() => Effect.succeed(lastKnown)))

const lastKnown = { rate: 1.05, from: "last known" }

/** The primary does not answer, the first replica is out of order, the second is well; then all are out of order. */
export const main = Effect.gen(function* () {
  const silent = yield* serve(() => {})
  const broken = yield* serve((_request, response) => {
    response.writeHead(503).end()
  })
  const well = yield* serve((_request, response) => {
    response.end(JSON.stringify({ rate: 1.07, from: "replica" }))
  })
  const { from: one } = yield* rate({ primary: silent, replicas: [broken, well] }, lastKnown)
  const { from: other } = yield* rate({ primary: broken, replicas: [broken] }, lastKnown)
  return { oneIsWell: one, noneIsWell: other }
}).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici))
