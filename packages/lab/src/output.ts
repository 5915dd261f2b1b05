/** Standard output as a command should treat it: what cannot be written is an error, and colours are for terminals. */
import { stripVTControlCharacters } from "node:util"
import { Console, Data, Effect } from "effect"

/** What was printed has not arrived. */
export class OutputError extends Data.TaggedError("OutputError")<{ readonly code: string }> {
  override get message(): string {
    return `cannot write to standard output (${this.code})`
  }

  /** Whoever read it has had enough, like `head`. */
  get isClosedPipe(): boolean {
    return this.code === "EPIPE"
  }
}

const write = (text: string): Effect.Effect<void> =>
  Effect.async((resume) => {
    const { stdout } = process
    // without a listener a failed write would end the process before its callback is told
    if (stdout.listenerCount("error") === 0) stdout.on("error", () => {})
    stdout.write(stdout.isTTY ? text : stripVTControlCharacters(text), (error) =>
      resume(
        error
          ? Effect.die(new OutputError({ code: (error as NodeJS.ErrnoException).code ?? error.message }))
          : Effect.void
      )
    )
  })

/** Prints on standard output. The command-line parser's own complaints are left out, since they are errors as well, which `bin.ts` explains. */
export const withConsole = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.consoleWith((usual) =>
    Effect.withConsole(self, {
      ...usual,
      [Console.TypeId]: Console.TypeId,
      log: (...parts) => write(`${parts.join(" ")}\n`),
      error: () => Effect.void
    })
  )
