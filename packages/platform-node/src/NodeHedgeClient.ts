/** An `HttpClient` for Node whose hedges go down another connection than what made them late. */
import { HttpClient } from "@effect/platform"
import { Effect, Layer, type Scope } from "effect"
import { Lanes, make as makeClient } from "./internal/client.js"

export const make: Effect.Effect<HttpClient.HttpClient, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => new Lanes()),
    (lanes) => Effect.sync(() => lanes.close())
  ),
  makeClient
)

export const layer: Layer.Layer<HttpClient.HttpClient> = Layer.scoped(HttpClient.HttpClient, make)
