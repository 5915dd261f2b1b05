/** The background: long streams, each of which counts once its first data is in, and is followed by another when it ends. */
import type { HttpClient } from "@effect/platform"
import { Cause, Deferred, Effect, type Scope, Stream } from "effect"
import { nameFailure } from "../tail/client.js"
import { now } from "../tail/clock.js"
import { paths, type Streams } from "./protocol.js"
import type { Stream as StreamSettings } from "./settings.js"

export interface Background {
  /** All of the streams count at the same time, for the first time. */
  readonly complete: Effect.Effect<void>
  /** Streams that count now. */
  readonly active: () => number
  readonly report: () => Streams
}

/** What a stream has to outlast to be reported as long. */
const longMs = 30_000

/** After a stream that broke off the next one is not begun at once. */
const pauseAfterFailureMs = 200

/** Runs until the scope closes. */
export const start = (
  client: HttpClient.HttpClient,
  origin: string,
  streams: ReadonlyArray<StreamSettings>
): Effect.Effect<Background, never, Scope.Scope> =>
  Effect.gen(function* () {
    const complete = yield* Deferred.make<void>()
    const startedAt = new Set<{ readonly at: number }>()
    let over30s = 0
    const broken: Record<string, number> = {}

    const one = (stream: StreamSettings, lastsMs: number) =>
      Effect.suspend(() => {
        let counted: { readonly at: number } | undefined
        const onData = () => {
          if (counted !== undefined) return
          counted = { at: now() }
          startedAt.add(counted)
          if (startedAt.size === streams.length) Deferred.unsafeDone(complete, Effect.void)
        }
        return client.get(`${origin}${pathOf(stream, lastsMs)}`, { headers }).pipe(
          Effect.flatMap((response) => Stream.runForEachChunk(response.stream, () => Effect.sync(onData))),
          Effect.catchAllCause((cause) =>
            Cause.isInterrupted(cause) ? Effect.failCause(cause) : breakOff(cause)
          ),
          Effect.ensuring(
            Effect.sync(() => {
              if (counted === undefined) return
              startedAt.delete(counted)
              if (now() - counted.at > longMs) over30s++
            })
          )
        )
      })

    const breakOff = (cause: Cause.Cause<unknown>) => {
      const name = nameFailure(cause)
      broken[name] = (broken[name] ?? 0) + 1
      return Effect.sleep(pauseAfterFailureMs)
    }

    yield* Effect.forEach(
      streams,
      (stream, index) => {
        // the first ones do not all end together
        const first = one(stream, stream.lastsMs * (0.5 + (index + 1) / streams.length / 2))
        return Effect.forkScoped(Effect.zipRight(first, Effect.forever(one(stream, stream.lastsMs))))
      },
      { discard: true }
    )
    return {
      complete: Deferred.await(complete),
      active: () => startedAt.size,
      report: () => ({
        over30s: over30s + [...startedAt].filter(({ at }) => now() - at > longMs).length,
        broken
      })
    }
  })

const headers = { accept: "text/event-stream" }

const pathOf = (stream: StreamSettings, lastsMs: number): string =>
  stream._tag === "Bulk"
    ? `${paths.bulk}?lasts=${Math.round(lastsMs)}`
    : `${paths.events}?lasts=${Math.round(lastsMs)}&rate=${stream.bytesPerSecond}`
