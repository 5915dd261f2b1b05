import { describe, expect, it } from "vitest"
import { jsonValues, lines, type Splitter, type Take, whole } from "../../src/plan/split.js"

/** What a splitter makes of a text that arrives in chunks of this size. */
const pieces = (make: (take: Take) => Splitter, text: string, size = text.length) => {
  const found: Array<string> = []
  const splitter = make((piece) => found.push(piece))
  for (let at = 0; at < text.length; at += size) splitter.push(text.slice(at, at + size))
  splitter.end()
  return found
}

/** A chunk may end anywhere, so every size is tried. */
const inEverySize = (make: (take: Take) => Splitter, text: string, expected: ReadonlyArray<string>) => {
  for (let size = 1; size <= text.length; size++) expect(pieces(make, text, size)).toEqual(expected)
}

describe("lines", () => {
  it("are cut at line feeds, with or without a carriage return, blank ones left out", () => {
    inEverySize(lines, "a\r\n\n b\n \nc", ["a", " b", "c"])
  })

  it("are numbered as an editor numbers them", () => {
    const numbers: Array<number> = []
    const splitter = lines((_, number) => numbers.push(number))
    splitter.push("a\n\nb\nc")
    splitter.end()
    expect(numbers).toEqual([1, 3, 4])
  })
})

describe("JSON values", () => {
  it("are the elements of an array at the top", () => {
    inEverySize(jsonValues, '[{"a":[1,"]"]} , 2,\n"x\\\\\\"y",[3],true]', [
      '{"a":[1,"]"]}',
      "2",
      '"x\\\\\\"y"',
      "[3]",
      "true"
    ])
  })

  it("may follow each other, over any number of lines", () => {
    inEverySize(jsonValues, '{\n"a": "}"\n}\n{"b":\n{}}', ['{\n"a": "}"\n}', '{"b":\n{}}'])
  })

  it("may be bare numbers", () => {
    inEverySize(jsonValues, "1 2.5\n3", ["1", "2.5", "3"])
  })
})

it("a whole text is one piece", () => {
  inEverySize(whole, "a\nb", ["a\nb"])
})
