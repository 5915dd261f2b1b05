import { HttpClient } from "@effect/platform"
import { NodeHttpClient, Undici } from "@effect/platform-node"
import { HttpHedge } from "@effect-hedge/platform"
import { NodeHedgeClient } from "@effect-hedge/platform-node"
import { Context, Effect, Layer } from "effect"
import { HedgePolicy, HedgeSchedule } from "effect-hedge"
import { atOnce, load, requests, withServer } from "./http.js"
import { cpuOf, ratios } from "./measure.js"
import type { Row } from "./row.js"

/** The same load with no Effect around a request. */
const bare = (url: string): Effect.Effect<void> =>
  Effect.promise(async () => {
    let left = requests
    const worker = async () => {
      while (left-- > 0) await (await Undici.request(url)).body.text()
    }
    await Promise.all(Array.from({ length: atOnce }, worker))
  })

const clientOf = (context: Context.Context<HttpClient.HttpClient>) =>
  Context.get(context, HttpClient.HttpClient)

const policy = HedgePolicy.make({ schedule: HedgeSchedule.fixed("1 second") })

/** What a request costs through a hedged client over lanes. */
export const lanes = (): Promise<ReadonlyArray<Row>> =>
  withServer(async (url) => {
    const untraced = Effect.withTracerEnabled(false)
    const measured = Effect.gen(function* () {
      const [undici, lanes] = yield* Effect.all([
        Effect.map(Layer.build(NodeHttpClient.layerUndici), clientOf),
        Effect.map(Layer.build(NodeHedgeClient.layer()), clientOf)
      ])
      const loads = {
        bare: bare(url),
        undici: untraced(load(undici, url)),
        lanes: untraced(load(HttpHedge.withHedge({ policy })(lanes), url))
      }
      return yield* Effect.promise(() => cpuOf(loads, { warmUp: 4, rounds: 21, runs: 4 }))
    })
    const cpu = await Effect.runPromise(Effect.scoped(measured))
    return [
      {
        name: "hedged client over lanes: CPU per request / unhedged undici client",
        ratios: ratios(cpu.lanes, cpu.undici),
        target: 0.6
      },
      {
        name: "hedged client over lanes: CPU per request / bare undici.request",
        ratios: ratios(cpu.lanes, cpu.bare),
        target: 1.6
      }
    ]
  })
