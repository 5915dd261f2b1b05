import type { HttpClient } from "@effect/platform"
import { Effect, type Layer } from "effect"
import type { Protocol } from "../support/server.js"

/** A client over one protocol, as the tests that hold for every client see it. */
export interface Transport {
  readonly name: string
  readonly protocol: Protocol
  readonly layer: Layer.Layer<HttpClient.HttpClient>
}

/** One that can be looked into. */
export interface InspectableTransport<R> extends Transport {
  readonly layer: Layer.Layer<HttpClient.HttpClient | R>
  /** Ends when no request is in its hands any more. */
  readonly idle: Effect.Effect<void, never, R>
}

/** One turn of the event loop. */
export const turn = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** Looks at a number in each turn of the event loop, until it is 0. */
export const untilZero = <E, R>(count: Effect.Effect<number, E, R>): Effect.Effect<void, E, R> =>
  count.pipe(Effect.zipLeft(turn), Effect.repeat({ until: (n) => n === 0 }), Effect.asVoid)
