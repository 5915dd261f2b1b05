/** What is done with the words of a command line before `@effect/cli` reads them. */
import { Options, type Usage } from "@effect/cli"
import { Either } from "effect"
import { OptionError } from "./optionError.js"

/** Lets a user type `--delay 80 millis` without quotes: a number and a unit of time that follows it become one word. */
export const joinDurations = (words: ReadonlyArray<string>): ReadonlyArray<string> => {
  const joined: Array<string> = []
  for (const word of words) {
    const last = joined[joined.length - 1] ?? ""
    if (/^(ms|s|m|min|h|millis|seconds?|minutes?|hours?)$/.test(word) && /^\d+(\.\d+)?$/.test(last)) {
      joined[joined.length - 1] = `${last} ${word}`
    } else {
      joined.push(word)
    }
  }
  return joined
}

/** Makes `--where=status=200` two words: the parser takes a value with an equals sign in it only so. */
export const splitValues = (declared: Declared, words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.flatMap((word) => {
    const [, option = "", value] = /^--([^=]+)=(.*)$/s.exec(word) ?? []
    return value === undefined || !takesValue(declared, option) ? [word] : [`--${option}`, value]
  })

/** An option as its command declares it, by its name without the dashes. */
export type Declared = Readonly<Record<string, Options.Options<unknown>>>

/** The name under which an option is typed that a program calls `likeThis`. */
export const typedAs = (key: string): string => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

export const declare = (options: Declared): Declared =>
  Object.fromEntries(Object.entries(options).map(([key, option]) => [typedAs(key), option]))

/** For which the parser writes a script that completes words. */
export const shells = ["sh", "bash", "fish", "zsh"]

/**
 * What the parser gives to every command, and help lists. Its wizard and its log level are refused: all options
 * have defaults, and nothing is logged.
 */
const builtIn: Declared = { version: Options.boolean("version"), completions: Options.text("completions") }

const declarationOf = (declared: Declared, option: string): Options.Options<unknown> | undefined =>
  Object.hasOwn(declared, option)
    ? declared[option]
    : Object.hasOwn(builtIn, option)
      ? builtIn[option]
      : undefined

const takesValue = (declared: Declared, option: string): boolean => {
  const declaration = declarationOf(declared, option)
  return declaration !== undefined && !Options.isBool(declaration)
}

/** Whether a word is the value of the option before it. */
const isValue = (declared: Declared, words: ReadonlyArray<string>, index: number): boolean =>
  words[index - 1]?.startsWith("--") === true &&
  takesValue(declared, words[index - 1]!.slice(2)) &&
  !isValue(declared, words, index - 1)

/** Moves `-`, standard input, behind the options: the parser takes what follows it for more arguments. */
export const dashLast = (declared: Declared, words: ReadonlyArray<string>): ReadonlyArray<string> => {
  const at = words.findIndex((word, index) => word === "-" && !isValue(declared, words, index))
  return at === -1 ? words : [...words.slice(0, at), ...words.slice(at + 1), "-"]
}

/** Whether the words ask for help, anywhere but as an option's value. */
export const asksForHelp = (declared: Declared, words: ReadonlyArray<string>): boolean =>
  words.some((word, index) => (word === "--help" || word === "-h") && !isValue(declared, words, index))

/**
 * Refuses what the parser would call an "unknown argument" and no more: an option that does not exist, lacks its value, has one too many, or
 * comes twice.
 */
export const check = (declared: Declared, words: ReadonlyArray<string>): Either.Either<void, OptionError> => {
  const seen = new Set<string>()
  for (const [index, word] of words.entries()) {
    const [, option, value] = /^(--?[^-=][^=]*)(?:=(.*))?$/s.exec(word) ?? []
    if (option === undefined || isValue(declared, words, index)) continue
    const problem = problemOf(declared, { option, value, next: words[index + 1], isSeen: seen.has(option) })
    if (problem !== undefined)
      return Either.left(new OptionError({ option, value: undefined, allowed: problem }))
    seen.add(option)
  }
  return Either.void
}

interface Typed {
  /** With its dashes. */
  readonly option: string
  readonly value: string | undefined
  readonly next: string | undefined
  readonly isSeen: boolean
}

const problemOf = (declared: Declared, { isSeen, next, option, value }: Typed): string | undefined => {
  const declaration = option.startsWith("--") ? declarationOf(declared, option.slice(2)) : undefined
  if (declaration === undefined) return "there is no such option; --help lists them"
  if (isSeen && !isRepeated(Options.getUsage(declaration))) return "may be given only once"
  if (Options.isBool(declaration)) {
    return value === undefined || /^(true|false)$/.test(value) ? undefined : "takes no value"
  }
  const isOption = next?.startsWith("--") === true && declarationOf(declared, next.slice(2)) !== undefined
  const isMissing = value === "" || (value === undefined && (next === undefined || isOption))
  if (isMissing) return "needs a value; --help says which"
  const typed = value ?? next ?? ""
  return option === "--completions" && !shells.includes(typed)
    ? `must be one of ${shells.join(", ")}, not ${typed}`
    : undefined
}

const isRepeated = (usage: Usage.Usage): boolean =>
  usage._tag === "Repeated" || (usage._tag === "Optional" && isRepeated(usage.usage))
