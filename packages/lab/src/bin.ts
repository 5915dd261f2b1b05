#!/usr/bin/env node
import { constants } from "node:os"
import { stripVTControlCharacters } from "node:util"
import { HelpDoc, ValidationError } from "@effect/cli"
import type { Runtime } from "@effect/platform"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Effect, Exit } from "effect"
import { main } from "./cli.js"
import { OutputError } from "./output.js"

// nothing can be said where stderr cannot be written to
process.stderr.on("error", () => {})

let signal: "SIGINT" | "SIGTERM" = "SIGINT"
process.once("SIGTERM", () => {
  signal = "SIGTERM"
})

const isClosedPipe = (cause: Cause.Cause<unknown>): boolean => {
  const error = Cause.squash(cause)
  return error instanceof OutputError && error.isClosedPipe
}

/** Whatever went wrong is said once, on stderr, in the same form. */
const explain = (cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Effect.sync(() => {
    if (!Cause.isInterruptedOnly(cause) && !isClosedPipe(cause)) {
      process.stderr.write(`hedge-lab: ${words(Cause.squash(cause), cause)}\n`)
    }
  })

const words = (error: unknown, cause: Cause.Cause<unknown>): string => {
  if (ValidationError.isValidationError(error)) {
    return stripVTControlCharacters(HelpDoc.toAnsiText(error.error)).trim()
  }
  return error instanceof Error && error.message !== "" ? error.message : Cause.pretty(cause)
}

/** As a shell expects it of a program that a signal has ended. */
const teardown: Runtime.Teardown = (exit, onExit) => {
  if (Exit.isSuccess(exit)) return onExit(0)
  if (Cause.isInterruptedOnly(exit.cause)) return onExit(128 + constants.signals[signal])
  onExit(isClosedPipe(exit.cause) ? 128 + constants.signals.SIGPIPE : 1)
}

main(process.argv).pipe(
  Effect.tapErrorCause(explain),
  Effect.provide(NodeContext.layer),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown })
)
