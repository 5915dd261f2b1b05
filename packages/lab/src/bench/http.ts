import { fork } from "node:child_process"
import { once } from "node:events"
import { HttpClient, type HttpClientError } from "@effect/platform"
import { NodeHttpClient } from "@effect/platform-node"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect } from "effect"
import { HedgePolicy, HedgeSchedule } from "effect-hedge"
import { cpuOf, ratios } from "./measure.js"
import type { Row } from "./row.js"

export type Client = HttpClient.HttpClient.With<HttpClientError.HttpClientError>

export const requests = 250
export const atOnce = 50

const get = (client: Client, url: string): Effect.Effect<string, HttpClientError.HttpClientError> =>
  Effect.flatMap(client.get(url), (response) => response.text)

/** So many requests, and so many of them at once. */
export const load = (client: Client, url: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    let left = requests
    const worker = Effect.whileLoop({
      while: () => left-- > 0,
      body: () => get(client, url),
      step: () => {}
    })
    return Effect.all(
      Array.from({ length: atOnce }, () => worker),
      { concurrency: "unbounded", discard: true }
    )
  }).pipe(Effect.orDie)

/** A real loopback server, which runs in a process of its own: only the client's CPU counts. */
export const withServer = async <A>(use: (url: string) => Promise<A>): Promise<A> => {
  const server = fork(new URL("./server.js", import.meta.url), {
    stdio: ["ignore", "inherit", "inherit", "ipc"]
  })
  try {
    const [port] = (await once(server, "message")) as [number]
    return await use(`http://127.0.0.1:${port}/`)
  } finally {
    server.kill()
  }
}

/** What hedging adds to a request of a client. */
export const http = (): Promise<ReadonlyArray<Row>> =>
  withServer(async (url) => {
    const policy = HedgePolicy.make({ schedule: HedgeSchedule.fixed("1 second") })
    const measured = Effect.map(HttpClient.HttpClient, (client) => {
      const untraced = HttpClient.withTracerPropagation(client, false)
      return {
        plain: load(untraced, url),
        hedged: load(HttpHedge.withHedge({ policy })(untraced), url)
      }
    })
    const program = Effect.flatMap(measured, (loads) =>
      Effect.promise(() => cpuOf(loads, { warmUp: 4, rounds: 21, runs: 4 }))
    )
    const cpu = await Effect.runPromise(Effect.provide(program, NodeHttpClient.layerUndici))
    return [
      {
        name: "hedged client: CPU per request / unhedged",
        ratios: ratios(cpu.hedged, cpu.plain),
        target: 1.3
      }
    ]
  })
