import { expect, it } from "vitest"
import { memo } from "../src/internal/memo.js"

it("what was made is kept for so many texts, and made anew when they are more", () => {
  const made: Array<string> = []
  const length = memo(2, (text) => {
    made.push(text)
    return text.length
  })
  expect(["a", "bb", "a", "bb"].map(length)).toEqual([1, 2, 1, 2])
  expect(made).toEqual(["a", "bb"])
  expect(["ccc", "ccc", "bb"].map(length)).toEqual([3, 3, 2])
  expect(made).toEqual(["a", "bb", "ccc", "bb"])
})

it("nothing is kept, too, if that is what was made", () => {
  let made = 0
  const nothing = memo(2, () => {
    made += 1
    return undefined
  })
  expect([nothing("a"), nothing("a")]).toEqual([undefined, undefined])
  expect(made).toBe(1)
})
