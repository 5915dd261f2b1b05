/** Runs the service as a user would: a process of its own, with the upstream that it simulates. */
import { type ChildProcess, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { collector } from "./support/collector.js"

const main = fileURLToPath(new URL("../../dist/service/src/main.js", import.meta.url))

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once("exit", () => resolve())
  })

/** It says where it serves. */
const serving = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    const said: Array<string> = []
    createInterface({ input: child.stdout! }).on("line", (line) => {
      said.push(line)
      const url = /(http:\S+)\/quotes/.exec(line)?.[1]
      if (url !== undefined) resolve(url)
    })
    child.once("exit", (code) => reject(new Error(`the service ended with ${code}: ${said.join("\n")}`)))
  })

it.scopedLive("serves quotes and its metrics, and sends its last spans when it is stopped", () =>
  Effect.gen(function* () {
    const collected = yield* collector
    const env = { ...process.env, PORT: "0", OTEL_EXPORTER_OTLP_ENDPOINT: collected.url }
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => spawn(process.execPath, [main], { env, stdio: ["ignore", "pipe", "inherit"] })),
      (running) =>
        Effect.promise(() => {
          running.kill("SIGKILL")
          return ended(running)
        })
    )
    const url = yield* Effect.tryPromise(() => serving(child))
    const get = (path: string) => Effect.promise(async () => (await fetch(`${url}${path}`)).text())
    const quotes = yield* Effect.all(
      Array.from({ length: 5 }, () => get("/quotes/ACME")),
      {
        concurrency: "unbounded"
      }
    )
    expect(new Set(quotes)).toEqual(new Set(['{"symbol":"ACME","price":42}']))
    expect(yield* get("/metrics")).toMatch(/^hedge_calls_total\{.*policy="quotes",outcome="Win"\} 5$/m)

    child.kill("SIGTERM")
    yield* Effect.promise(() => ended(child))
    const spans = yield* collected.spans("hedge.call", 5)
    expect(spans.filter(({ name }) => name === "hedge.call")).toHaveLength(5)
    expect(collected.metrics().map(({ name }) => name)).toContain("hedge.calls")
  })
)
