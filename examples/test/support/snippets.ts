/** Finds the programs in documentation. */

export interface Snippet {
  /** Where it stands, as a reader would look it up. */
  readonly name: string
  /** As it stands, so that what can be pasted is what is tested. */
  readonly code: string
  /** What it says that it prints: the text of its comments that begin with `prints:`. */
  readonly prints: ReadonlyArray<string>
}

const snippet = (file: string, text: string, at: number, code: string): Snippet => ({
  name: `${file}:${text.slice(0, at).split("\n").length}`,
  code,
  prints: [...code.matchAll(/^\/\/ prints: (.*)$/gm)].map((match) => match[1]!)
})

/** The blocks that are fenced as `ts`. */
export const inMarkdown = (file: string, text: string): ReadonlyArray<Snippet> =>
  [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map((match) =>
    snippet(file, text, match.index + "```ts\n".length, match[1]!)
  )

/** A command, and lines of what it prints. */
export interface Quotation {
  readonly name: string
  readonly command: string
  readonly lines: ReadonlyArray<string>
}

/** The blocks that are fenced as `text`: each quotes the command of one line that is fenced as `sh` before it. */
export const quotedIn = (file: string, text: string): ReadonlyArray<Quotation> =>
  [...text.matchAll(/^```sh\n(.*)\n```\n\n```text\n([\s\S]*?)^```$/gm)].map((match) => ({
    name: `${file}: ${match[1]}`,
    command: match[1]!,
    lines: match[2]!.trimEnd().split("\n")
  }))

/** What follows an `@example` in a documentation comment, up to the next tag. */
export const inComments = (file: string, text: string): ReadonlyArray<Snippet> =>
  [...text.matchAll(/^ \* @example\n((?: \*(?: (?!@).*)?\n)+)/gm)].map((match) =>
    snippet(file, text, match.index + " * @example\n".length, match[1]!.replace(/^ \* ?/gm, ""))
  )
