/** What is done with the words of a command line before `@effect/cli` reads them. */
import { Options } from "@effect/cli"
import { Either } from "effect"
import { OptionError } from "./optionError.js"

/** Lets a user type `--delay 80 millis` without quotes: a number and a unit of time that follows it become one word. */
export const joinDurations = (words: ReadonlyArray<string>): ReadonlyArray<string> => {
  const joined: Array<string> = []
  for (const word of words) {
    const last = joined[joined.length - 1] ?? ""
    if (/^(ms|s|min|millis|seconds?|minutes?)$/.test(word) && /^\d+(\.\d+)?$/.test(last)) {
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
    const declaration = declared[option]
    return value === undefined || declaration === undefined || Options.isBool(declaration)
      ? [word]
      : [`--${option}`, value]
  })

/** An option as its command declares it, by its name without the dashes. */
export type Declared = Readonly<Record<string, Options.Options<unknown>>>

/** Moves `-`, standard input, behind the options: the parser takes what follows it for more arguments. */
export const dashLast = (declared: Declared, words: ReadonlyArray<string>): ReadonlyArray<string> => {
  const isValue = (index: number) => {
    const declaration = declared[words[index - 1]?.replace(/^--/, "") ?? ""]
    return declaration !== undefined && !Options.isBool(declaration)
  }
  const at = words.findIndex((word, index) => word === "-" && !isValue(index))
  return at === -1 ? words : [...words.slice(0, at), ...words.slice(at + 1), "-"]
}

const builtIn = new Set(["help", "version", "wizard", "completions", "log-level"])

/** Refuses an option that does not exist or lacks its value: of either the parser would say only "unknown argument". */
export const check = (declared: Declared, words: ReadonlyArray<string>): Either.Either<void, OptionError> => {
  for (const [index, word] of words.entries()) {
    const [, option, value] = /^--([^=]+)(?:=(.*))?$/.exec(word) ?? []
    if (option === undefined || builtIn.has(option)) continue
    const declaration = declared[option]
    if (declaration === undefined) {
      return Either.left(
        new OptionError({ option, value: undefined, allowed: "there is no such option; --help lists them" })
      )
    }
    const isMissing = value === undefined ? index === words.length - 1 : value === ""
    if (isMissing && !Options.isBool(declaration)) {
      return Either.left(
        new OptionError({ option, value: undefined, allowed: "needs a value; --help says which" })
      )
    }
  }
  return Either.void
}
