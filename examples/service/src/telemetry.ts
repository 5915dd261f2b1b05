/**
 * What leaves the service about itself: metrics for Prometheus to fetch, and metrics and spans to a collector over OTLP.
 */
import { NodeSdk } from "@effect/opentelemetry"
import { HttpServerResponse } from "@effect/platform"
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http"
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http"
import { PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics"
import { BatchSpanProcessor } from "@opentelemetry/sdk-trace-base"
import { Context, Effect, Layer } from "effect"

/** The metrics as Prometheus fetches them. */
export class Scrape extends Context.Tag("service/Scrape")<
  Scrape,
  Effect.Effect<HttpServerResponse.HttpServerResponse>
>() {}

/** `otlp` is where the collector is; without it spans are not made, and metrics only wait to be fetched. */
export const layer = ({ otlp }: { readonly otlp: string | undefined }): Layer.Layer<Scrape> =>
  Layer.unwrapEffect(
    Effect.sync(() => {
      // the service has a server already: the exporter need not open a port of its own
      const prometheus = new PrometheusExporter({ preventServerStart: true })
      const serializer = new PrometheusSerializer(undefined, false, undefined, false, true)
      const scrape = Effect.map(
        Effect.promise(() => prometheus.collect()),
        ({ resourceMetrics }) =>
          HttpServerResponse.text(serializer.serialize(resourceMetrics), {
            contentType: "text/plain; version=0.0.4"
          })
      )
      const sdk = NodeSdk.layer(() => ({
        resource: { serviceName: "quotes" },
        ...(otlp === undefined
          ? { metricReader: prometheus }
          : {
              metricReader: [
                prometheus,
                new PeriodicExportingMetricReader({
                  exporter: new OTLPMetricExporter({ url: `${otlp}/v1/metrics` }),
                  exportIntervalMillis: 10_000
                })
              ],
              spanProcessor: new BatchSpanProcessor(new OTLPTraceExporter({ url: `${otlp}/v1/traces` }))
            })
      }))
      return Layer.merge(sdk, Layer.succeed(Scrape, scrape))
    })
  )
