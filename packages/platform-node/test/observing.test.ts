import { HttpClient } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { LaneMetrics } from "@effect-hedge/platform-node"
import { Effect, Logger, LogLevel, Metric, MetricState } from "effect"
import { serve } from "../../platform/test/support/server.js"
import { idle, lanes } from "./support/clients.js"
import { recording } from "./support/spans.js"

const text = (url: string) =>
  Effect.flatMap(HttpClient.HttpClient, (client) =>
    Effect.flatMap(client.get(url), (response) => response.text)
  )

describe("A request over a lane", () => {
  it.scopedLive("has a span that says which lane it took and where its time went", () =>
    Effect.gen(function* () {
      const { spans, tracer } = yield* recording
      const server = yield* serve((_, response) => response.writeHead(200, { "x-kind": "pot" }).end())
      yield* Effect.withTracer(text(`${server.url}/path?q=1`), tracer)
      const [span] = spans
      expect(span!.name).toBe("http.client GET")
      expect(Object.fromEntries(span!.attributes)).toMatchObject({
        "http.request.method": "GET",
        "http.response.status_code": 200,
        "http.response.header.x-kind": "pot",
        "url.full": `${server.url}/path?q=1`,
        "url.query": "q=1",
        "lane.protocol": "http/1.1",
        "lane.address": `127.0.0.1:${server.port}`,
        "lane.fresh": true,
        "lane.active_streams": 0,
        "lane.phase.queued": expect.any(Number),
        "lane.phase.tcp": expect.any(Number),
        "lane.phase.firstByte": expect.any(Number)
      })
      expect(server.received[0]!.headers.traceparent).toContain(span!.spanId)
    }).pipe(Effect.provide(lanes()))
  )

  it.scopedLive.each(["//", "//elsewhere.invalid/path", "/path//"])(
    "has a span of its URL if its path is %s",
    (path) =>
      Effect.gen(function* () {
        const { spans, tracer } = yield* recording
        const server = yield* serve(({ path }, response) => response.end(path))
        expect(yield* Effect.withTracer(text(server.url + path), tracer)).toBe(path)
        expect(Object.fromEntries(spans[0]!.attributes)).toMatchObject({
          "server.address": server.url,
          "url.full": server.url + path,
          "url.path": path
        })
      }).pipe(Effect.provide(lanes()))
  )

  it.scopedLive("is counted, and its phases are in histograms", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => response.end("answer"))
      yield* text(server.url)
      yield* idle
      yield* text(server.url)
      yield* idle
      const states = (yield* Metric.snapshot).flatMap(({ metricKey, metricState }) => {
        const labels = Object.fromEntries(metricKey.tags.map(({ key, value }) => [key, value]))
        const { origin, unit: _, ...others } = labels
        const { count } = metricState as unknown as { readonly count: number }
        return origin === server.url ? [[metricKey.name, others, count]] : []
      })
      expect(states).toContainEqual(["lane.requests", { outcome: "Completed", lane: "fresh" }, 1])
      expect(states).toContainEqual(["lane.requests", { outcome: "Completed", lane: "reused" }, 1])
      expect(states).toContainEqual(["lane.opened", {}, 1])
      expect(states).toContainEqual(["lane.request.phase", { phase: "firstByte" }, 2])
      expect(states).toContainEqual(["lane.request.phase", { phase: "tcp" }, 1])
    }).pipe(Effect.provide(lanes({ listeners: [LaneMetrics.listener] })))
  )

  it.scopedLive("is counted in buckets whose bounds are written without a rounding error", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => response.end("answer"))
      yield* text(server.url)
      yield* idle
      const bounds = (yield* Metric.snapshot).flatMap(({ metricKey, metricState }) =>
        metricKey.name === "lane.request.phase" && MetricState.isHistogramState(metricState)
          ? metricState.buckets.map(([bound]) => bound)
          : []
      )
      expect(bounds).toContain(0.0003)
      expect(bounds.filter((bound) => Number.isFinite(bound) && String(bound).length > 6)).toEqual([])
    }).pipe(Effect.provide(lanes({ listeners: [LaneMetrics.listener] })))
  )

  it.scopedLive("is served although a listener throws", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, response) => response.end("answer"))
      expect(yield* text(server.url)).toBe("answer")
    }).pipe(
      Effect.provide(
        lanes({
          listeners: [
            {
              onEvent: () => {
                throw new Error("a listener's")
              }
            }
          ]
        })
      ),
      Logger.withMinimumLogLevel(LogLevel.None)
    )
  )
})
