/** Charts are drawn by Vega, here and not in the browser: a page needs no script. */
import type { Axis, Config, Spec } from "vega"
import { type Markup, trusted } from "./markup.js"

const font = "inherit"

const config: Config = {
  axis: {
    domainColor: "var(--muted)",
    gridColor: "var(--grid)",
    labelColor: "var(--muted)",
    labelFont: font,
    labelFontSize: 12,
    tickColor: "var(--muted)",
    titleColor: "var(--muted)",
    titleFont: font,
    titleFontSize: 12,
    titleFontWeight: "normal"
  },
  text: { font, fontSize: 12, fill: "var(--text)" }
}

/** SVG; the library is loaded when the first chart is drawn. */
export const draw = async (spec: Spec): Promise<Markup> => {
  const vega = await import("vega")
  const view = new vega.View(vega.parse({ ...spec, config }), { renderer: "none", logLevel: vega.Error })
  try {
    // of a drawing only its picture counts: what it says stands beside it
    return trusted((await view.toSVG()).replace("<svg ", '<svg aria-hidden="true" focusable="false" '))
  } finally {
    view.finalize()
  }
}

/** Room around what is drawn, in pixels. */
export interface Margins {
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
}

/** Room for a title above, an axis and its title below, and labels on the left. */
export const margins: Margins = { left: 58, right: 24, top: 26, bottom: 44 }

/** A drawing of so many pixels in all. */
export const frame = (width: number, height: number, margins: Margins): Spec => ({
  width: width - margins.left - margins.right,
  height: height - margins.top - margins.bottom,
  padding: margins,
  autosize: "none"
})

export const gridded: Partial<Axis> = { grid: true, tickSize: 4 }
