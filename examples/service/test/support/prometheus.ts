/** A real Prometheus on a port and in a folder of its own. */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Effect, Schedule, type Scope, TestServices } from "effect"

interface Sample {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [time: number, value: string]
}

export class Prometheus {
  constructor(private readonly url: string) {}

  private get<A>(path: string): Effect.Effect<A, unknown> {
    return Effect.tryPromise(async () => {
      const response = await fetch(`${this.url}${path}`)
      const { data, error } = (await response.json()) as { readonly data: A; readonly error?: string }
      if (error !== undefined) throw new Error(`${path}: ${error}`)
      return data
    })
  }

  /** What an expression yields now: a value for each set of labels. */
  query(expr: string): Effect.Effect<ReadonlyArray<Sample>, unknown> {
    return Effect.map(
      this.get<{ readonly result: ReadonlyArray<Sample> }>(`/api/v1/query?query=${encodeURIComponent(expr)}`),
      ({ result }) => result
    )
  }

  /** The value of an expression that has one; `NaN` if it has none, or several. */
  value(expr: string): Effect.Effect<number, unknown> {
    return Effect.map(this.query(expr), (samples) =>
      samples.length === 1 ? Number(samples[0]!.value[1]) : Number.NaN
    )
  }

  /** Waits until an expression has a value: what was counted has to be fetched first. */
  reaches(expr: string, expected: number): Effect.Effect<void, unknown> {
    return this.value(expr).pipe(
      Effect.filterOrFail(
        (value) => value === expected,
        (value) => new Error(`${expr} is ${value}, not ${expected}`)
      ),
      Effect.retry(Schedule.intersect(Schedule.spaced("100 millis"), Schedule.recurs(200))),
      TestServices.provideLive,
      Effect.asVoid
    )
  }

  /** The rules that it evaluates, and the error of each that could not be. */
  get rules(): Effect.Effect<ReadonlyArray<{ readonly name: string; readonly health: string }>, unknown> {
    interface Groups {
      readonly groups: ReadonlyArray<{
        readonly rules: ReadonlyArray<{ readonly name: string; readonly health: string }>
      }>
    }
    return Effect.map(this.get<Groups>("/api/v1/rules"), ({ groups }) => groups.flatMap(({ rules }) => rules))
  }
}

/** It says on which port it listens. */
const listening = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    const said: Array<string> = []
    const lines = createInterface({ input: child.stderr! })
    lines.on("line", (line) => {
      said.push(line)
      const address = /msg="Listening on" address=(\S+)/.exec(line)?.[1]
      if (address !== undefined) resolve(`http://${address}`)
    })
    child.once("exit", (code) => reject(new Error(`prometheus ended with ${code}:\n${said.join("\n")}`)))
  })

const stop = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null) return resolve()
    child.once("exit", () => resolve())
    child.kill("SIGKILL")
  })

/** Fetches the metrics of `target` five times a second, and evaluates `rules` as often. */
export const prometheus = (options: {
  readonly target: string
  readonly rules: string
}): Effect.Effect<Prometheus, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "hedge-prometheus-"))),
      (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
    )
    const config = {
      global: { scrape_interval: "200ms", scrape_timeout: "200ms", evaluation_interval: "200ms" },
      rule_files: [options.rules],
      scrape_configs: [
        { job_name: "quotes", static_configs: [{ targets: [options.target.replace("http://", "")] }] }
      ]
    }
    const file = join(folder, "prometheus.yml")
    // YAML contains JSON
    yield* Effect.promise(() => writeFile(file, JSON.stringify(config)))
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(
          "prometheus",
          [
            `--config.file=${file}`,
            `--storage.tsdb.path=${join(folder, "data")}`,
            "--web.listen-address=127.0.0.1:0"
          ],
          { stdio: ["ignore", "ignore", "pipe"] }
        )
      ),
      (running) => Effect.promise(() => stop(running))
    )
    const asked = new Prometheus(yield* Effect.tryPromise(() => listening(child)))
    yield* asked.reaches("sum(up)", 1)
    return asked
  })
