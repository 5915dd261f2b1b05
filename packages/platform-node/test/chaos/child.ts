/** A server of its own process, as the program that is tried holds it. */
import { type ChildProcess, fork } from "node:child_process"
import { Effect, type Scope } from "effect"
import type { Command, ServerSettings, Told } from "./protocol.js"

export class ChaosServer {
  private child: ChildProcess | undefined = undefined
  private port = 0
  private readonly counts: Array<(count: Extract<Told, { _tag: "Count" }>) => void> = []

  private constructor(
    /** The program that it runs. */
    private readonly program: URL,
    private readonly settings: Omit<ServerSettings, "port">,
    private readonly onTold: (told: Told) => void
  ) {}

  static make(
    program: URL,
    settings: Omit<ServerSettings, "port">,
    onTold: (told: Told) => void
  ): Effect.Effect<ChaosServer, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.suspend(() => {
        const server = new ChaosServer(program, settings, onTold)
        return Effect.as(server.start, server)
      }),
      (server) => server.kill
    )
  }

  get protocol(): ServerSettings["protocol"] {
    return this.settings.protocol
  }

  get url(): string {
    return `${this.protocol === "http/1.1" ? "http" : "https"}://127.0.0.1:${this.port}`
  }

  /** On the port that it had before, if it had one. */
  readonly start: Effect.Effect<void> = Effect.async<void>((resume) => {
    const settings: ServerSettings = { ...this.settings, port: this.port }
    const child = fork(this.program, {
      env: { ...process.env, CHAOS_SERVER: JSON.stringify(settings) },
      execArgv: []
    })
    this.child = child
    child.on("message", (told: Told) => {
      if (told._tag === "Listening") {
        this.port = told.port
        resume(Effect.void)
      } else if (told._tag === "Count") this.counts.shift()?.(told)
      else this.onTold(told)
    })
  })

  readonly kill: Effect.Effect<void> = Effect.async<void>((resume) => {
    const { child } = this
    if (child === undefined) return resume(Effect.void)
    this.child = undefined
    child.once("exit", () => resume(Effect.void))
    child.kill("SIGKILL")
  })

  readonly stop: Effect.Effect<void> = Effect.sync(() => void this.child?.kill("SIGSTOP"))
  readonly proceed: Effect.Effect<void> = Effect.sync(() => void this.child?.kill("SIGCONT"))

  readonly count: Effect.Effect<Extract<Told, { _tag: "Count" }>> = Effect.async((resume) => {
    this.counts.push((count) => resume(Effect.succeed(count)))
    this.send({ _tag: "Count" })
  })

  send(command: Command): void {
    this.child?.send(command)
  }
}
