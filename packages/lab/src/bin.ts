#!/usr/bin/env node
import { ValidationError } from "@effect/cli"
import type { Runtime } from "@effect/platform"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Effect, Exit, Option } from "effect"
import { main } from "./cli.js"

/** Wrong usage has been explained by the time it gets here; anything else is said once, on stderr. */
const explain = (cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Effect.sync(() => {
    if (Cause.isInterruptedOnly(cause)) return
    const failure = Option.getOrUndefined(Cause.failureOption(cause))
    if (ValidationError.isValidationError(failure)) return
    const words = failure instanceof Error ? failure.message : Cause.pretty(cause)
    process.stderr.write(`hedge-lab: ${words}\n`)
  })

/** As a shell expects it of a program that was interrupted. */
const teardown: Runtime.Teardown = (exit, onExit) =>
  onExit(Exit.isSuccess(exit) ? 0 : Cause.isInterruptedOnly(exit.cause) ? 130 : 1)

main(process.argv).pipe(
  Effect.tapErrorCause(explain),
  Effect.provide(NodeContext.layer),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown })
)
