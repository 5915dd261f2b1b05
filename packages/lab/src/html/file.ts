/** The option `--html`, and the file that it names: written whole, or not at all. */
import { constants } from "node:fs"
import { access, open, realpath, rename, rm, stat } from "node:fs/promises"
import { basename, dirname, join, resolve } from "node:path"
import { Options } from "@effect/cli"
import { Data, Effect, Option, type Scope } from "effect"
import { OptionError } from "../optionError.js"
import type { Page } from "./page.js"

/** For a command's options. */
export const option = Options.text("html").pipe(
  Options.withPseudoName("file"),
  Options.withDescription(
    "Also write the results to this file as one page with charts, which needs no network."
  ),
  Options.optional
)

/** The page could not be written after all. */
export class PageError extends Data.TaggedError("PageError")<{
  readonly file: string
  readonly problem: string
}> {
  override get message(): string {
    return `cannot write ${this.file} (${this.problem})`
  }
}

/** Writes a page, and says on stderr where it is. */
export type Write = (page: Page) => Effect.Effect<void, PageError>

/**
 * Opens a file beside the one that is asked for before anything is measured, and fails if that cannot be done. What was there before stays
 * until the page is complete; if it is never written nothing is left when the scope closes. Undefined if no page is asked for.
 */
export const prepare = (
  typed: Option.Option<string>
): Effect.Effect<Write | undefined, OptionError, Scope.Scope> =>
  Option.match(typed, {
    onNone: () => Effect.succeed(undefined),
    onSome: (file) => Effect.map(beside(file), (draft) => (page) => write(file, draft, page))
  })

interface Draft {
  readonly path: string
  /** What it becomes. */
  readonly target: string
  /** The permissions of the file that it replaces. */
  readonly mode: number | undefined
}

const beside = (file: string): Effect.Effect<Draft, OptionError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: () => claim(file),
      catch: (error) =>
        new OptionError({
          option: "html",
          value: file,
          allowed: `must be a file that can be written, but ${problemOf(error)}`
        })
    }),
    ({ path }) => Effect.promise(() => rm(path, { force: true }))
  )

const claim = async (file: string): Promise<Draft> => {
  if (file.trim() === "") throw new Error("this is no name")
  if (/[/\\]$/.test(file)) throw new Error("it is a directory")
  const there = await statOf(file)
  if (there?.isDirectory() === true) throw new Error("it is a directory")
  if (there !== undefined && !there.isFile()) throw new Error("it is no regular file")
  if (there !== undefined) await access(file, constants.W_OK)
  // a link stays one
  const target = there === undefined ? resolve(file) : await realpath(file)
  const path = join(dirname(target), `.${basename(target).slice(0, 100)}.${process.pid}.tmp`)
  const handle = await open(path, "wx")
  await handle.close()
  return { path, target, mode: there?.mode }
}

const statOf = async (file: string) => {
  try {
    return await stat(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
}

const write = (file: string, { mode, path, target }: Draft, page: Page): Effect.Effect<void, PageError> =>
  Effect.tryPromise({
    try: async () => {
      const { render } = await import("./document.js")
      const handle = await open(path, "w")
      try {
        await handle.writeFile(await render(page))
        if (mode !== undefined) await handle.chmod(mode)
        await handle.sync()
      } finally {
        await handle.close()
      }
      await rename(path, target)
    },
    catch: (error) => new PageError({ file, problem: problemOf(error) })
  }).pipe(
    Effect.uninterruptible,
    Effect.zipRight(Effect.sync(() => process.stderr.write(`The page is in ${file}\n`)))
  )

const problems: Readonly<Record<string, string>> = {
  ENOENT: "there is no such folder",
  ENOTDIR: "its folder is a file",
  EACCES: "permission is denied",
  EPERM: "permission is denied",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  ENAMETOOLONG: "its name is too long",
  EISDIR: "it is a directory"
}

const problemOf = (error: unknown): string => {
  const { code = "", message } = error as NodeJS.ErrnoException
  return problems[code] ?? message
}
