/** Cuts a stream of text into the pieces that a format is made of. */

/** Takes a stream in chunks and hands on each piece with its number, from 1. */
export interface Splitter {
  readonly push: (chunk: string) => void
  readonly end: () => void
}

export type Take = (piece: string, number: number) => void

/** A piece that is longer is not one: the text has no end of line, or its brackets do not close. */
export const mostCharacters = 256 * 2 ** 20

/** Thrown when a piece is longer than can be held. */
export class TooLong extends Error {}

/** Every line that is not blank, by its line number. */
export const lines = (take: Take): Splitter => {
  let rest = ""
  let number = 0
  const line = (text: string) => {
    number++
    const piece = text.endsWith("\r") ? text.slice(0, -1) : text
    if (piece.trim() !== "") take(piece, number)
  }
  return {
    push: (chunk) => {
      let from = 0
      for (;;) {
        const end = chunk.indexOf("\n", from)
        if (end === -1) break
        line(from === 0 ? rest + chunk.slice(0, end) : chunk.slice(from, end))
        if (from === 0) rest = ""
        from = end + 1
      }
      rest += chunk.slice(from)
      if (rest.length > mostCharacters) throw new TooLong()
    },
    end: () => line(rest)
  }
}

/** The whole text as one piece. */
export const whole = (take: Take): Splitter => {
  const chunks: Array<string> = []
  let length = 0
  return {
    push: (chunk) => {
      chunks.push(chunk)
      length += chunk.length
      if (length > mostCharacters) throw new TooLong()
    },
    end: () => take(chunks.join(""), 1)
  }
}

/** What matters next, by where the reader stands. */
const stops = {
  /** Before a value: whatever begins one. */
  between: /[^\s,\]}]/g,
  /** In a number or literal: whatever ends it. */
  scalar: /[\s,\]}]/g,
  /** In an object or array. */
  nested: /["{}[\]]/g,
  string: /["\\]/g
}

/**
 * The JSON values of a text: those of an array at the top, or several one after the other, over any number of lines. What is
 * in a value is not looked at but for its brackets and quotes.
 */
export const jsonValues = (take: Take): Splitter => {
  let number = 0
  let piece = ""
  let state: keyof typeof stops = "between"
  let depth = 0
  let isEscaped = false
  let isFirst = true

  const hand = (text: string) => {
    piece = ""
    state = "between"
    take(text, ++number)
  }
  return {
    push: (chunk) => {
      /** Where in this chunk the piece that is being read begins or goes on. */
      let from = 0
      let at = 0
      const handUntil = (end: number) => hand(piece + chunk.slice(from, end))
      if (isEscaped) {
        isEscaped = false
        at = 1
      }
      for (;;) {
        const stop = stops[state]
        stop.lastIndex = at
        const found = stop.exec(chunk)
        if (found === null) break
        const mark = found[0]
        at = found.index + 1
        if (state === "scalar") handUntil(found.index)
        else if (state === "string") {
          if (mark === "\\") {
            if (at === chunk.length) isEscaped = true
            at++
          } else if (depth > 0) state = "nested"
          else handUntil(at)
        } else if (state === "nested") {
          if (mark === '"') state = "string"
          else if (mark === "{" || mark === "[") depth++
          else if (--depth === 0) handUntil(at)
        } else if (isFirst && mark === "[") isFirst = false
        else {
          isFirst = false
          from = found.index
          if (mark === '"') state = "string"
          else if (mark === "{" || mark === "[") {
            state = "nested"
            depth = 1
          } else state = "scalar"
        }
      }
      if (state !== "between") piece += chunk.slice(from)
      if (piece.length > mostCharacters) throw new TooLong()
    },
    end: () => {
      if (piece !== "") hand(piece)
    }
  }
}
