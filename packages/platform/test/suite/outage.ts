import { HttpClient } from "@effect/platform"
import { expect, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect, Layer } from "effect"
import { HedgeEvent, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import { serve } from "../support/server.js"
import { type Transport, turn } from "./transport.js"

const extraLoad = 0.2
const burst = 10

/** Runs calls, 100 at a time: the answers, and the reasons of those that failed. */
const run = (client: HttpClient.HttpClient.With<{ readonly reason: string }>, url: string, calls: number) =>
  Effect.forEach(
    Array.from({ length: calls }),
    () =>
      Effect.match(
        Effect.flatMap(client.get(url), (response) => response.text),
        { onSuccess: (text) => text, onFailure: ({ reason }) => reason }
      ),
    { concurrency: 100 }
  )

export const outage = ({ layer, name, protocol }: Transport): void =>
  it.scopedLive(
    `C50: a server that goes silent, goes down and comes back, over ${name}: extra load within the budget, and every call ends`,
    () => {
      let attempts = 0
      const counter = HedgeEvent.layer({
        only: ["AttemptStarted"],
        onEvent: () => {
          attempts++
        }
      })
      return Effect.gen(function* () {
        let silent = false
        const server = yield* serve((_request, response) => {
          if (!silent) response.end("answer")
        }, protocol)
        const plain = yield* HttpClient.HttpClient
        const options = {
          schedule: HedgeSchedule.fixed(10),
          maxAttempts: 3,
          throttle: HedgeThrottle.all(
            HedgeThrottle.loadBudget({ extraLoad, burst }),
            HedgeThrottle.tokenBucket({ maxTokens: 100, tokenRatio: 0.1 })
          )
        }
        const client = plain.pipe(HttpHedge.withHedge({ policy: HedgePolicy.make(options) }))
        const impatient = plain.pipe(
          HttpHedge.withHedge({ policy: HedgePolicy.make({ ...options, deadline: 500 }) })
        )
        const { port, url } = server

        const before = yield* run(client, url, 400)
        expect(new Set(before)).toEqual(new Set(["answer"]))

        silent = true
        const during = yield* run(impatient, url, 100)
        expect(new Set(during)).toEqual(new Set(["DeadlineExceeded"]))

        yield* server.stop
        const without = yield* run(client, url, 100)
        expect(new Set(without)).toEqual(new Set(["Transport"]))

        // the first connection whose end is read ends all calls; the others' ends wait in the same turn of the loop, and nobody could know of them yet
        yield* turn
        silent = false
        yield* server.listen(port)
        const after = yield* run(client, url, 400)
        expect(new Set(after)).toEqual(new Set(["answer"]))

        expect(attempts).toBeGreaterThan(1000)
        expect(attempts).toBeLessThanOrEqual(1000 * (1 + extraLoad) + burst)
      }).pipe(Effect.provide(Layer.merge(layer, counter)))
    }
  )
