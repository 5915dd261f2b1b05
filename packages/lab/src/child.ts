/** A process that an experiment starts, seen from the experiment. */

import { fork } from "node:child_process"
import { existsSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { Data, Effect, Exit, Mailbox, type Scope } from "effect"

/** A process of an experiment could not be started, or ended before it should. */
export class ChildError extends Data.TaggedError("ChildError")<{
  readonly entry: string
  readonly problem: string
}> {
  override get message(): string {
    return `the process ${this.entry} ${this.problem}`
  }
}

export interface Child<Request, Reply extends { readonly _tag: string }> {
  /** Waits for a reply of this kind; those of other kinds that come before it are handed to `onOther`. */
  readonly receive: <Tag extends Reply["_tag"]>(
    tag: Tag,
    onOther?: (reply: Reply) => void
  ) => Effect.Effect<Extract<Reply, { readonly _tag: Tag }>, ChildError>
  readonly send: (request: Request) => Effect.Effect<void>
}

/** Starts a module of a command as a process, which is killed when the scope closes. */
export const start = <Request, Reply extends { readonly _tag: string }>(
  entry: `${string}/${string}Main`,
  config: unknown
): Effect.Effect<Child<Request, Reply>, ChildError, Scope.Scope> =>
  Effect.gen(function* () {
    const path = compiled(entry)
    if (!existsSync(path)) {
      return yield* new ChildError({
        entry,
        problem: `needs ${path}: build the package first (npm run build)`
      })
    }
    const replies = yield* Mailbox.make<Reply, ChildError>()
    const end = (problem: string) => replies.unsafeDone(Exit.fail(new ChildError({ entry, problem })))
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        // what a child prints goes to stderr: stdout is the report's alone
        fork(path, [JSON.stringify(config)], { execArgv: [], stdio: ["ignore", 2, 2, "ipc"] })
          .on("message", (reply) => replies.unsafeOffer(reply as Reply))
          .on("error", (error) => end(error.message))
          .on("exit", (code, signal) => end(`ended early (${signal ?? `code ${code}`})`))
      ),
      (child) =>
        Effect.async<void>((resume) => {
          if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined)
            return resume(Effect.void)
          child.once("exit", () => resume(Effect.void))
          child.kill("SIGKILL")
        })
    )
    const receive = (
      tag: Reply["_tag"],
      onOther: (reply: Reply) => void = () => {}
    ): Effect.Effect<Reply, ChildError> =>
      Effect.flatMap(Effect.catchTag(replies.take, "NoSuchElementException", Effect.die), (reply) => {
        if (reply._tag === tag) return Effect.succeed(reply)
        onOther(reply)
        return receive(tag, onOther)
      })
    return {
      receive: receive as Child<Request, Reply>["receive"],
      send: (request) => Effect.sync(() => void child.send(request as object))
    }
  })

/** The JavaScript of a module in a folder beside this one: the last build's when this one runs as TypeScript, as in tests. */
const compiled = (entry: string): string => {
  const here = fileURLToPath(import.meta.url)
  const folder = here.endsWith(".ts") ? resolve(dirname(here), "../dist") : dirname(here)
  return join(folder, `${entry}.js`)
}
