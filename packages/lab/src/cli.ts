/** The command `hedge-lab` and its subcommands. */

import { createRequire } from "node:module"
import { Command, HelpDoc } from "@effect/cli"
import { Console, Effect } from "effect"
import * as Help from "./help.js"
import * as Hol from "./hol/command.js"
import { withConsole } from "./output.js"
import * as Plan from "./plan/command.js"
import * as Probe from "./probe/command.js"
import * as Simulate from "./simulate/command.js"
import * as Tail from "./tail/command.js"
import * as Words from "./words.js"

const { version } = createRequire(import.meta.url)("../package.json") as { readonly version: string }

const summary = "Measures what request hedging does to a tail, and plans it."

const hedgeLab = Command.make("hedge-lab").pipe(
  Command.withDescription(HelpDoc.p(summary)),
  Command.withSubcommands([Tail.command, Plan.command, Simulate.command, Hol.command, Probe.command])
)

interface Subcommand extends Help.Described {
  readonly declared: Words.Declared
}

const subcommands: Readonly<Record<string, Subcommand>> = {
  tail: {
    declared: Tail.declared,
    usage: "[options]",
    help: (config) => Command.getHelp(Tail.command, config)
  },
  plan: {
    declared: Plan.declared,
    usage: "[options] [file]",
    help: (config) => Command.getHelp(Plan.command, config)
  },
  simulate: {
    declared: Simulate.declared,
    usage: "[options]",
    help: (config) => Command.getHelp(Simulate.command, config)
  },
  hol: {
    declared: Hol.declared,
    usage: "[options]",
    help: (config) => Command.getHelp(Hol.command, config)
  },
  probe: {
    declared: Probe.declared,
    usage: "[options] <url>",
    help: (config) => Command.getHelp(Probe.command, config)
  }
}

const run = Command.run(hedgeLab, { name: "hedge-lab", version })

/** @param argv as `process.argv`. */
export const main = (argv: ReadonlyArray<string>) => withConsole(Effect.suspend(() => dispatch(argv)))

const dispatch = (argv: ReadonlyArray<string>) => {
  const [name = "", ...words] = argv.slice(2)
  const subcommand = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined
  if (subcommand === undefined) return withoutSubcommand(argv)
  const { declared } = subcommand
  if (Words.asksForHelp(declared, words)) return Console.log(Help.ofSubcommand(name, subcommand))
  return Effect.zipRight(
    Words.check(declared, words),
    run([
      ...argv.slice(0, 3),
      ...Words.joinDurations(Words.dashLast(declared, Words.splitValues(declared, words)))
    ])
  )
}

const withoutSubcommand = (argv: ReadonlyArray<string>) => {
  const words = argv.slice(2)
  if (words.length === 0 || Words.asksForHelp({}, words)) {
    return Console.log(Help.ofAll(summary, subcommands))
  }
  return Effect.zipRight(Words.check({}, words), run([...argv.slice(0, 2), ...Words.splitValues({}, words)]))
}
