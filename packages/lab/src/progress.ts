/** A progress bar on stderr, if a person is there to see it. */
import { Effect, type Scope } from "effect"

const width = 30

/** Draws how far a labelled job has come; the line is gone when the scope closes. */
export const make: Effect.Effect<(label: string, done: number, total: number) => void, never, Scope.Scope> =
  Effect.suspend(() => {
    if (!process.stderr.isTTY) return Effect.succeed(() => {})
    return Effect.acquireRelease(
      Effect.succeed((label: string, done: number, total: number) => {
        process.stderr.write(`\r\u001b[K${bar(label, done, total)}`)
      }),
      () => Effect.sync(() => process.stderr.write("\r\u001b[K"))
    )
  })

export const bar = (label: string, done: number, total: number): string => {
  const full = Math.round((width * done) / total)
  return `${label.padEnd(6)} ${"█".repeat(full)}${"░".repeat(width - full)} ${count(done)} of ${count(total)} calls`
}

const count = (n: number): string => n.toLocaleString("en-US")
