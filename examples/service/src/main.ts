/**
 * Runs the service. `PORT` is where it listens (8080), `UPSTREAM_URL` whom it asks (a simulated server in this process), and
 * `OTEL_EXPORTER_OTLP_ENDPOINT` where a collector listens for spans and metrics (none), such as `http://127.0.0.1:4318`.
 */
import { createServer } from "node:http"
import { HttpServer } from "@effect/platform"
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Config, Effect, Layer, Option } from "effect"
import * as Service from "./service.js"
import * as Telemetry from "./telemetry.js"
import { simulated, Upstream } from "./upstream.js"

const UpstreamLayer = Layer.unwrapEffect(
  Effect.map(Config.option(Config.nonEmptyString("UPSTREAM_URL")), (url) =>
    Option.match(url, { onNone: () => simulated, onSome: (given) => Layer.succeed(Upstream, given) })
  )
)

const ServiceLayer = Layer.unwrapEffect(Effect.map(Upstream, (upstream) => Service.layer({ upstream })))

const TelemetryLayer = Layer.unwrapEffect(
  Effect.map(Config.option(Config.nonEmptyString("OTEL_EXPORTER_OTLP_ENDPOINT")), (otlp) =>
    Telemetry.layer({ otlp: Option.getOrUndefined(otlp) })
  )
)

const port = Config.integer("PORT").pipe(
  Config.validate({
    message: "Expected a port, or 0 for any that is free",
    validation: (n) => n >= 0 && n <= 65_535
  }),
  Config.withDefault(8080)
)

const Server = NodeHttpServer.layerConfig(createServer, {
  port,
  host: Config.succeed("127.0.0.1")
})

NodeRuntime.runMain(
  Layer.launch(
    Layer.effectDiscard(
      HttpServer.addressFormattedWith((address) =>
        Effect.log(`${address}/quotes/ACME and ${address}/metrics`)
      )
    ).pipe(Layer.provide(ServiceLayer), Layer.provide([Server, TelemetryLayer, UpstreamLayer]))
  )
)
