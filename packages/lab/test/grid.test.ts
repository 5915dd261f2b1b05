import { expect, it } from "vitest"
import { grid } from "../src/grid.js"

it("columns are as wide as their widest cell, the first to the left, the others to the right", () => {
  expect(
    grid([
      ["", "plain", "hedged"],
      ["P99", "950 ms", "130 ms"],
      ["failures", "0", "0"]
    ])
  ).toBe(["           plain  hedged", "P99       950 ms  130 ms", "failures       0       0"].join("\n"))
})
