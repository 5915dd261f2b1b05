/** What several charts draw alike. Data are points `x` and `y` of the scales of these names. */
import type { Mark } from "vega"
import type { Margins } from "./draw.js"
import type { Look } from "./looks.js"

const at = { x: { scale: "x", field: "x" }, y: { scale: "y", field: "y" } } as const

export const lineOf = (
  data: string,
  { colour, dash }: Look,
  interpolate: "linear" | "step-after" = "linear"
): Mark => ({
  type: "line",
  from: { data },
  encode: {
    enter: {
      ...at,
      interpolate: { value: interpolate },
      stroke: { value: colour },
      strokeDash: { value: [...dash] },
      strokeWidth: { value: 2 }
    }
  }
})

export const pointsOf = (data: string, { colour, shape }: Look): Mark => ({
  type: "symbol",
  from: { data },
  encode: { enter: { ...at, shape: { value: shape }, fill: { value: colour }, size: { value: 50 } } }
})

/** What an upward axis counts, above it: on its side it would be hard to read. */
export const titleOf = (text: string, { left }: Margins): Mark => ({
  type: "text",
  encode: {
    enter: {
      x: { value: -left },
      y: { value: -10 },
      text: { value: text },
      fill: { value: "var(--muted)" }
    }
  }
})
