/** The help of `hedge-lab` and of its subcommands. */
import { stripVTControlCharacters } from "node:util"
import { CliConfig, HelpDoc, Span } from "@effect/cli"
import { shells } from "./words.js"

/** Said by the parser of every option of a kind; ours say so themselves where it matters. */
const commonplace = new Set([
  "A user-defined piece of text.",
  "A true or false value.",
  "This setting is optional.",
  "This option may be repeated zero or more times."
])

const config = CliConfig.make({ showBuiltIns: false })

/** A command, as far as help has to know of it. */
export interface Described {
  readonly help: (config: CliConfig.CliConfig) => HelpDoc.HelpDoc
  /** What may follow its name. */
  readonly usage: string
}

export const ofSubcommand = (name: string, { help, usage }: Described): string =>
  HelpDoc.toAnsiText(HelpDoc.blocks([usageOf(`hedge-lab ${name} ${usage}`), concise(help(config))]))

export const ofAll = (summary: string, subcommands: Readonly<Record<string, Described>>): string => {
  const listed = Object.entries(subcommands).map(
    ([name, { help }]) => [Span.code(name), firstParagraph(help(config))] as const
  )
  return HelpDoc.toAnsiText(
    HelpDoc.blocks([
      usageOf("hedge-lab <command> [options]"),
      HelpDoc.p(summary),
      HelpDoc.h1("COMMANDS"),
      list(listed),
      HelpDoc.h1("OPTIONS"),
      list([
        [Span.code("-h, --help"), HelpDoc.p("This, or the options of a command.")],
        [Span.code("--version"), HelpDoc.p("The version.")],
        [
          Span.code(`--completions ${shells.join(" | ")}`),
          HelpDoc.p("A script that completes words in a shell.")
        ]
      ])
    ])
  )
}

const usageOf = (usage: string): HelpDoc.HelpDoc =>
  HelpDoc.blocks([HelpDoc.h1("USAGE"), HelpDoc.p(`$ ${usage}`)])

const list = (items: ReadonlyArray<readonly [Span.Span, HelpDoc.HelpDoc]>): HelpDoc.HelpDoc =>
  HelpDoc.descriptionList(items as never)

const concise = (doc: HelpDoc.HelpDoc): HelpDoc.HelpDoc => {
  switch (doc._tag) {
    case "Sequence":
      return HelpDoc.sequence(concise(doc.left), concise(doc.right))
    case "DescriptionList":
      return HelpDoc.mapDescriptionList(doc, (term, description) => [term, concise(description)])
    case "Paragraph":
      return commonplace.has(textOf(doc)) ? HelpDoc.empty : doc
    default:
      return doc
  }
}

const firstParagraph = (doc: HelpDoc.HelpDoc): HelpDoc.HelpDoc =>
  doc._tag !== "Sequence"
    ? doc._tag === "Paragraph"
      ? doc
      : HelpDoc.empty
    : HelpDoc.orElse(firstParagraph(doc.left), firstParagraph(doc.right))

const textOf = (doc: HelpDoc.HelpDoc): string => stripVTControlCharacters(HelpDoc.toAnsiText(doc)).trim()
