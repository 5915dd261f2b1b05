/** How the things of a chart look, so that they can be told apart without colours, too. Colours are variables of the page's style. */

export interface Look {
  readonly colour: string
  /** Of a line: lengths of strokes and gaps; empty for one without gaps. */
  readonly dash: ReadonlyArray<number>
  /** Of a point, or of a bar's end: a name or an SVG path in a square from -1 to 1. */
  readonly shape: string
  readonly kind: "line" | "point" | "filled bar" | "hollow bar"
}

const line = (colour: string, dash: ReadonlyArray<number>, shape: string): Look => ({
  colour: `var(--${colour})`,
  dash,
  shape,
  kind: "line"
})

export const plain = line("plain", [7, 4], "square")
export const hedged = line("hedged", [], "circle")

/** For a third thing to compare, a fourth and so on. */
export const others: ReadonlyArray<Look> = [
  line("third", [2, 3], "diamond"),
  line("fourth", [9, 3, 2, 3], "triangle-up"),
  line("fifth", [4, 2], "cross"),
  line("sixth", [1, 4], "triangle-down")
]

/** A limit, or the least that is possible. */
export const bound = line("muted", [3, 3], "stroke")

const cross = "M-1,-1L1,1M1,-1L-1,1"

/** An attempt, by how it ended. */
export const won: Look = { ...hedged, shape: "circle", kind: "filled bar" }
export const cutOff: Look = { ...plain, shape: cross, kind: "hollow bar" }
export const failed: Look = { ...others[1]!, shape: "triangle-up", kind: "hollow bar" }
