/**
 * A service that asks an upstream for quotes, and hedges: `GET /quotes/:symbol`, and `GET /metrics` for Prometheus.
 */
import {
  HttpClient,
  HttpClientRequest,
  HttpMiddleware,
  HttpRouter,
  HttpServer,
  HttpServerResponse
} from "@effect/platform"
import { NodeHttpClient } from "@effect/platform-node"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect, Layer } from "effect"
import { HedgeMetrics, HedgePolicy, HedgeSchedule, HedgeTracing } from "effect-hedge"
import { Scrape } from "./telemetry.js"

/** The name under which metrics and spans speak of these calls. */
export const policyName = "quotes"

const Policy = HedgePolicy.layer({
  name: policyName,
  schedule: HedgeSchedule.fixed("80 millis"),
  deadline: "5 seconds"
})

const Observed = Layer.mergeAll(
  HedgeMetrics.layer,
  HedgeTracing.layer,
  Layer.effectDiscard(HedgeMetrics.register(policyName))
)

/** Provided once, to the whole service. */
const HedgedHttpClient = HttpHedge.layer.pipe(
  Layer.provide([Policy, Observed]),
  Layer.provide(NodeHttpClient.layerUndici)
)

const quote = (upstream: string) =>
  Effect.gen(function* () {
    const { symbol } = yield* HttpRouter.params
    const client = yield* HttpClient.HttpClient
    const response = yield* client.execute(
      HttpClientRequest.get(upstream).pipe(HttpClientRequest.appendUrl(`/quotes/${symbol}`))
    )
    return yield* HttpServerResponse.json(yield* response.json, { status: response.status })
  }).pipe(
    Effect.tapError((error) => Effect.logWarning("No quote", error)),
    Effect.catchAll(() => HttpServerResponse.json({ error: "no quote" }, { status: 502 }))
  )

/** Serves until its scope closes. `upstream` is the base URL of the server that knows the quotes. */
export const layer = ({ upstream }: { readonly upstream: string }) =>
  HttpRouter.empty.pipe(
    HttpRouter.get("/quotes/:symbol", quote(upstream)),
    HttpRouter.get("/metrics", Effect.flatten(Scrape)),
    HttpServer.serve(),
    HttpMiddleware.withTracerDisabledForUrls(["/metrics"]),
    Layer.provide(HedgedHttpClient)
  )
