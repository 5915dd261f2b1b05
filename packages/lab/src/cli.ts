/** The command `hedge-lab` and its subcommands. */

import { createRequire } from "node:module"
import { Command, HelpDoc } from "@effect/cli"
import { Effect } from "effect"
import * as Plan from "./plan/command.js"
import * as Simulate from "./simulate/command.js"
import * as Tail from "./tail/command.js"
import * as Words from "./words.js"

const { version } = createRequire(import.meta.url)("../package.json") as { readonly version: string }

const hedgeLab = Command.make("hedge-lab").pipe(
  Command.withDescription(HelpDoc.p("Measures what request hedging does to a tail, and plans it.")),
  Command.withSubcommands([Tail.command, Plan.command, Simulate.command])
)

const declared: Readonly<Record<string, Words.Declared>> = {
  tail: Tail.declared,
  plan: Plan.declared,
  simulate: Simulate.declared
}

const run = Command.run(hedgeLab, { name: "hedge-lab", version })

/** @param argv as `process.argv`. */
export const main = (argv: ReadonlyArray<string>) =>
  Effect.suspend(() => {
    const [subcommand = "", ...words] = argv.slice(2)
    const options = declared[subcommand]
    if (options === undefined) return run(argv)
    return Effect.zipRight(
      Words.check(options, words),
      run([
        ...argv.slice(0, 3),
        ...Words.joinDurations(Words.dashLast(options, Words.splitValues(options, words)))
      ])
    )
  })
