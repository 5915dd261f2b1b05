/** The background: long streams, each of which counts once its first data is in, and is followed by another when it ends. */
import type { HttpClient } from "@effect/platform"
import { Cause, Effect, Fiber, type Scope, Stream } from "effect"
import { now } from "../clock.js"
import { nameFailure } from "../tail/client.js"
import { type ClientConfig, paths, type Streams } from "./protocol.js"
import type { Stream as StreamSettings } from "./settings.js"

export interface Background {
  /** Whether all of its streams counted at the same time before there was no more time for it. */
  readonly isComplete: boolean
  /** Streams that count now. */
  readonly active: () => number
  readonly report: () => Streams
}

/** How long it may take to come up; probes are then sent beside what there is. */
const patience = "20 seconds"

/** Long enough for the light streams to come up meanwhile. */
const passingMs = 3_000

/** What a stream has to outlast to be reported as long. */
const longMs = 30_000

/** After a stream that broke off the next one is not begun at once. */
const pauseAfterFailure = "200 millis"

/**
 * Runs until the scope closes. Where there are downloads, they come to one connection even if the client has several, and the light streams to
 * another: the first download opens a connection; the others, and as many passing streams as light ones are to come, find no other and make it look full.
 */
export const start = (
  client: HttpClient.HttpClient,
  { background, mode, origin }: ClientConfig
): Effect.Effect<Background, never, Scope.Scope> =>
  Effect.gen(function* () {
    const streams = new Running(client, origin, mode.connections === "apart")
    const bulk = background.filter(({ _tag }) => _tag === "Bulk")
    const events = background.filter(({ _tag }) => _tag === "Events")
    const up = yield* Effect.gen(function* () {
      const passing: Array<Fiber.RuntimeFiber<void>> = []
      if (bulk.length > 0) {
        yield* streams.keep(bulk.slice(0, 1))
        yield* streams.reach(1)
        yield* streams.keep(bulk.slice(1))
        for (const event of events) passing.push(yield* Effect.forkScoped(streams.one(event, passingMs)))
        yield* streams.reach(bulk.length + passing.length)
      }
      yield* streams.keep(events)
      yield* streams.reach(background.length + passing.length)
      // to cancel them would tell the client how late its connection is
      yield* Fiber.joinAll(passing)
    }).pipe(Effect.timeoutOption(patience))
    return {
      isComplete: up._tag === "Some",
      active: () => streams.counted.size,
      report: () => streams.report()
    }
  })

/** A stream whose first data is in. */
interface Counted {
  readonly at: number
}

class Running {
  readonly counted = new Set<Counted>()
  private over30s = 0
  private readonly broken: Record<string, number> = {}
  private readonly headers: { readonly accept: string }

  constructor(
    private readonly client: HttpClient.HttpClient,
    private readonly origin: string,
    /** Whether requests say that their answers are event streams. */
    isDeclared: boolean
  ) {
    this.headers = { accept: isDeclared ? "text/event-stream" : "*/*" }
  }

  /** Each is followed by another like it. */
  keep(streams: ReadonlyArray<StreamSettings>): Effect.Effect<void, never, Scope.Scope> {
    return Effect.forEach(
      streams,
      (stream, index) => {
        // the first ones do not all end together
        const first = this.one(stream, stream.lastsMs * (0.5 + (index + 1) / streams.length / 2))
        return Effect.forkScoped(Effect.zipRight(first, Effect.forever(this.one(stream, stream.lastsMs))))
      },
      { discard: true }
    )
  }

  /** Waits until so many count. */
  reach(count: number): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.counted.size >= count ? Effect.void : Effect.zipRight(Effect.sleep("5 millis"), this.reach(count))
    )
  }

  one(stream: StreamSettings, lastsMs: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      let counted: Counted | undefined
      const onData = () => {
        if (counted !== undefined) return
        counted = { at: now() }
        this.counted.add(counted)
      }
      return this.client.get(`${this.origin}${pathOf(stream, lastsMs)}`, { headers: this.headers }).pipe(
        Effect.flatMap((response) => Stream.runForEachChunk(response.stream, () => Effect.sync(onData))),
        Effect.catchAllCause((cause) =>
          Cause.isInterrupted(cause) ? Effect.interrupt : this.breakOff(cause)
        ),
        Effect.ensuring(
          Effect.sync(() => {
            if (counted === undefined) return
            this.counted.delete(counted)
            if (isLong(counted)) this.over30s++
          })
        )
      )
    })
  }

  report(): Streams {
    const over30s = this.over30s + [...this.counted].filter(isLong).length
    return { over30s, broken: this.broken }
  }

  private breakOff(cause: Cause.Cause<unknown>): Effect.Effect<void> {
    const name = nameFailure(cause)
    this.broken[name] = (this.broken[name] ?? 0) + 1
    return Effect.sleep(pauseAfterFailure)
  }
}

const isLong = ({ at }: Counted): boolean => now() - at > longMs

const pathOf = (stream: StreamSettings, lastsMs: number): string =>
  stream._tag === "Bulk"
    ? `${paths.bulk}?lasts=${Math.round(lastsMs)}`
    : `${paths.events}?lasts=${Math.round(lastsMs)}&rate=${stream.bytesPerSecond}`
