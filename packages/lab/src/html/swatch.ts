import type { Look } from "./looks.js"
import { html, type Markup } from "./markup.js"

/** What a thing of a chart looks like, for its legend. */
export const swatch = (look: Look): Markup =>
  html`<svg width="34" height="16" viewBox="0 0 34 16" aria-hidden="true" focusable="false">${kinds[look.kind](look)}</svg>`

const kinds: Readonly<Record<Look["kind"], (look: Look) => ReadonlyArray<Markup>>> = {
  line: ({ colour, dash, shape }) => [
    html`<path d="M1,8H33" stroke="${colour}" stroke-width="2" stroke-dasharray="${dash.join(" ")}"/>`,
    ...symbol(shape, colour, 17)
  ],
  point: ({ colour, shape }) => symbol(shape, colour, 17),
  "filled bar": (look) => bar(look, look.colour),
  "hollow bar": (look) => bar(look, "none")
}

const bar = ({ colour, shape }: Look, fill: string): ReadonlyArray<Markup> => [
  html`<rect x="1" y="4.5" width="26" height="7" stroke="${colour}" fill="${fill}"/>`,
  ...symbol(shape, colour, 27)
]

/** The shapes that Vega knows by these names. */
const paths: Readonly<Record<string, string>> = {
  circle: "M-1,0A1,1,0,1,1,1,0A1,1,0,1,1,-1,0",
  square: "M-.9,-.9H.9V.9H-.9Z",
  diamond: "M0,-1.2L1.2,0L0,1.2L-1.2,0Z",
  "triangle-up": "M0,-1L1,.9H-1Z",
  "triangle-down": "M0,1L1,-.9H-1Z",
  cross: "M-1,-.4H-.4V-1H.4V-.4H1V.4H.4V1H-.4V.4H-1Z"
}

const symbol = (shape: string, colour: string, x: number): ReadonlyArray<Markup> => {
  if (shape === "stroke") return []
  const path = paths[shape]
  return [
    path === undefined
      ? html`<path transform="translate(${x},8) scale(4)" d="${shape}" fill="none" stroke="${colour}" stroke-width=".45"/>`
      : html`<path transform="translate(${x},8) scale(4)" d="${path}" fill="${colour}"/>`
  ]
}
