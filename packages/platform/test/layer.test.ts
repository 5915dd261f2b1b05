import { HttpClient, type HttpClientRequest, HttpClientResponse } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { Context, Deferred, Effect, Fiber, Layer, ManagedRuntime, Schedule, TestClock } from "effect"
import { Hedge, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import { undiciHttp1 } from "./support/clients.js"
import { afterFailure, attemptHeader, both } from "./support/policies.js"
import { Recorder } from "./support/recorder.js"
import { serve } from "./support/server.js"

const text = (url: string) => Effect.flatMap(HttpClient.get(url), (response) => response.text)

const onlyHedges = serve((request, response) => {
  if (request.headers[attemptHeader] !== undefined) response.end("hedge")
})
const headers = { attempt: attemptHeader }

describe("the hedged client of a layer", () => {
  it.scopedLive("hedges under the policy in context", () =>
    Effect.gen(function* () {
      const server = yield* onlyHedges
      expect(yield* text(server.url)).toBe("hedge")
    }).pipe(
      Effect.provide(
        HttpHedge.layerWith({ headers }).pipe(
          Layer.provide(HedgePolicy.layer(both)),
          Layer.provide(undiciHttp1.layer)
        )
      )
    )
  )

  it.scopedLive("hedges under the policy it is given", () =>
    Effect.gen(function* () {
      const server = yield* onlyHedges
      expect(yield* text(server.url)).toBe("hedge")
    }).pipe(
      Effect.provide(HttpHedge.layerWith({ policy: both, headers }).pipe(Layer.provide(undiciHttp1.layer)))
    )
  )

  it.scopedLive("without options hedges what is eligible", () =>
    Effect.gen(function* () {
      let requests = 0
      const server = yield* serve((_request, response) => {
        if (++requests > 1) response.end("hedge")
      })
      expect(yield* text(server.url)).toBe("hedge")
    }).pipe(
      Effect.provide(
        HttpHedge.layer.pipe(Layer.provide(HedgePolicy.layer(both)), Layer.provide(undiciHttp1.layer))
      )
    )
  )

  class Delay extends Context.Tag("test/Delay")<Delay, number>() {}

  it.scopedLive("brings what the policy needs", () =>
    Effect.gen(function* () {
      const server = yield* onlyHedges
      const policy = HedgePolicy.make({
        schedule: Schedule.delayedEffect(Schedule.recurs(1), () => Effect.map(Delay, (millis) => millis)),
        throttle: HedgeThrottle.unlimited
      })
      const layer = HttpHedge.layerWith({ policy, headers }).pipe(
        Layer.provide(Layer.succeed(Delay, 1)),
        Layer.provide(undiciHttp1.layer)
      )
      expect(yield* Effect.provide(text(server.url), layer)).toBe("hedge")
    })
  )

  it.scopedLive("brings the throttle and the listeners that the layer was given", () =>
    Effect.gen(function* () {
      const server = yield* serve((_request, response) => response.writeHead(503).end("primary"))
      const recorder = new Recorder()
      const throttle = HedgeThrottle.make({ name: "none", refusedBy: () => "none", take: () => {} })
      const layer = HttpHedge.layerWith({
        policy: HedgePolicy.make({ schedule: HedgeSchedule.onFailure })
      }).pipe(
        Layer.provide([recorder.layer, Layer.succeed(HedgeThrottle.Default, throttle)]),
        Layer.provide(undiciHttp1.layer)
      )
      expect(yield* Effect.provide(text(server.url), layer)).toBe("primary")
      expect(recorder.of("HedgeSuppressed")).toMatchObject([{ reason: "Throttled", throttle: "none" }])
    })
  )
})

describe("an HttpClient fails with nothing but its own errors", () => {
  const silent = serve(() => {})
  const failsWith = (options: { readonly deadline?: number; readonly attemptTimeout?: number }) =>
    Effect.gen(function* () {
      const server = yield* silent
      const recorder = new Recorder()
      const policy = HedgePolicy.make({ schedule: HedgeSchedule.fixed(30), ...options })
      const layer = HttpHedge.layerWith({ policy }).pipe(Layer.provide(undiciHttp1.layer))
      const call = yield* text(server.url).pipe(
        Effect.provide(layer),
        Effect.provide(recorder.layer),
        Effect.flip,
        Effect.fork
      )
      yield* recorder.until("AttemptStarted", 1)
      yield* TestClock.adjust(1000)
      const error = yield* Fiber.join(call)
      expect(error).toMatchObject({
        _tag: "RequestError",
        reason: "Transport",
        request: { method: "GET", url: server.url }
      })
      return error.cause
    })

  it.scoped("a passed deadline is a transport error with its cause", () =>
    Effect.gen(function* () {
      const cause = yield* failsWith({ deadline: 100 })
      expect(cause).toBeInstanceOf(Hedge.HedgeError)
      expect(cause).toMatchObject({ reason: "DeadlineExceeded" })
    })
  )

  it.scoped("so are attempts that all timed out", () =>
    Effect.gen(function* () {
      expect(yield* failsWith({ attemptTimeout: 100 })).toMatchObject({ reason: "AttemptTimeout" })
    })
  )
})

describe("losers of a layer", () => {
  /** A client whose primary, once interrupted, waits for a latch; it and its closing are noted. */
  const slowToGo = (latch: Deferred.Deferred<void>, notes: Array<string>) =>
    Layer.scoped(
      HttpClient.HttpClient,
      Effect.acquireRelease(
        Effect.sync(() =>
          HttpClient.make((request: HttpClientRequest.HttpClientRequest) =>
            request.headers[attemptHeader] !== undefined
              ? Effect.succeed(HttpClientResponse.fromWeb(request, new Response("hedge")))
              : Effect.never.pipe(
                  Effect.onInterrupt(() =>
                    Effect.zipRight(
                      Deferred.await(latch),
                      Effect.sync(() => notes.push("the loser has gone"))
                    )
                  )
                )
          )
        ),
        () => Effect.sync(() => notes.push("the client is closed"))
      )
    )

  it.live.each([
    ["its own policy", HttpHedge.layerWith({ policy: both, headers })],
    ["a policy layer", HttpHedge.layerWith({ headers }).pipe(Layer.provide(HedgePolicy.layer(both)))]
  ] as const)("under %s unwind before the client beneath is closed", ([_, layer]) =>
    Effect.gen(function* () {
      const latch = yield* Deferred.make<void>()
      const notes: Array<string> = []
      const runtime = ManagedRuntime.make(Layer.provide(layer, slowToGo(latch, notes)))
      expect(yield* Effect.promise(() => runtime.runPromise(text("http://127.0.0.1")))).toBe("hedge")
      expect(notes).toEqual([])
      const disposed = yield* Effect.fork(runtime.disposeEffect)
      yield* Effect.yieldNow()
      yield* Deferred.succeed(latch, undefined)
      yield* Fiber.join(disposed)
      expect(notes).toEqual(["the loser has gone", "the client is closed"])
    })
  )

  it.scopedLive("a policy without a name is called after the layer in events", () =>
    Effect.gen(function* () {
      const server = yield* serve((_request, response) => response.end())
      const recorder = new Recorder()
      const name = (layer: Layer.Layer<HttpClient.HttpClient, never, HttpClient.HttpClient>) =>
        text(server.url).pipe(Effect.provide([Layer.provide(layer, undiciHttp1.layer), recorder.layer]))
      yield* name(HttpHedge.layerWith({ policy: afterFailure }))
      yield* name(Layer.provide(HttpHedge.layer, HedgePolicy.layer(afterFailure)))
      yield* name(HttpHedge.layerWith({ policy: HedgePolicy.modify(afterFailure, { name: "search" }) }))
      expect(recorder.of("CallStarted").map(({ policy }) => policy)).toEqual([
        "@effect-hedge/platform/HttpHedge",
        "effect-hedge/HedgePolicy",
        "search"
      ])
    })
  )
})
