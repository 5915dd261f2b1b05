/** HTML from templates in which everything is text unless it is markup itself. */

/** Text that is HTML already. */
export interface Markup {
  readonly _tag: "Markup"
  readonly text: string
}

export type Content = Markup | string | number | undefined | ReadonlyArray<Content>

export const html = (parts: TemplateStringsArray, ...contents: ReadonlyArray<Content>): Markup =>
  trusted(parts.reduce((text, part, i) => text + textOf(contents[i - 1]) + part))

/** For what another program has written as markup. */
export const trusted = (text: string): Markup => ({ _tag: "Markup", text })

const textOf = (content: Content): string => {
  if (content === undefined) return ""
  if (typeof content === "string" || typeof content === "number") return escape(String(content))
  return "_tag" in content ? content.text : content.map(textOf).join("")
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

/**
 * For elements and quoted attributes. Characters that HTML does not allow, and those that turn the direction of the text after them, are shown
 * as the replacement character.
 */
const escape = (text: string): string =>
  text
    .replace(/(?![\n\r\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, "\ufffd")
    .replace(/[&<>"']/g, (character) => entities[character]!)
