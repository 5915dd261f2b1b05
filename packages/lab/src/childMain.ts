/** The inside of a process that an experiment starts. */
import { Effect, type Scope } from "effect"

/**
 * Sets up `main` with the configuration that the parent gave, and then answers the parent's requests one after the
 * other, until it ends the process or dies itself. Ctrl-C reaches parent and child alike; it is the parent's to act on.
 */
export const run = <Config, Request, Reply>(
  main: (
    config: Config,
    reply: (reply: Reply) => void
  ) => Effect.Effect<(request: Request) => Effect.Effect<void>, never, Scope.Scope>
): void => {
  process.on("SIGINT", () => {})
  process.on("disconnect", () => process.exit())
  const config = JSON.parse(process.argv[2] ?? "") as Config
  const program = Effect.scoped(
    Effect.gen(function* () {
      const handle = yield* main(config, (reply) => process.send?.(reply))
      while (true) yield* Effect.flatMap(nextRequest<Request>(), handle)
    })
  )
  Effect.runPromise(program).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`)
    process.exit(1)
  })
}

const nextRequest = <Request>() =>
  Effect.async<Request>((resume) => {
    process.once("message", (message) => resume(Effect.succeed(message as Request)))
  })
