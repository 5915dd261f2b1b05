/** Colours by the contrast that WCAG 2.2 defines: axe sees that of text, but not that of what a chart draws. */
import { describe, expect, it } from "vitest"
import { style } from "../../src/html/style.js"

type Colours = ReadonlyMap<string, string>

const coloursIn = (css: string): Colours =>
  new Map(Array.from(css.matchAll(/--([\w-]+): (#[0-9a-f]{6})/g), ([, name, colour]) => [name!, colour!]))

const luminance = (colour: string): number => {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!
}

const contrast = (colours: Colours, one: string, other: string): number => {
  const [low, high] = [one, other].map((name) => luminance(colours.get(name)!)).sort((a, b) => a - b)
  return (high! + 0.05) / (low! + 0.05)
}

const [light = "", dark = ""] = style.split("prefers-color-scheme: dark")

describe.each([
  ["light", coloursIn(light)],
  ["dark", coloursIn(dark)]
])("in the %s", (_, colours) => {
  it.each([
    ["text", "back"],
    ["text", "raised"],
    ["text", "warn-back"],
    ["muted", "back"],
    ["link", "back"]
  ])("%s on %s can be read", (text, back) => {
    expect(contrast(colours, text, back)).toBeGreaterThanOrEqual(4.5)
  })

  it.each(["plain", "hedged", "third", "fourth", "fifth", "sixth", "muted"])(
    "%s can be seen in a chart",
    (line) => {
      expect(contrast(colours, line, "back")).toBeGreaterThanOrEqual(3)
    }
  )
})
