/**
 * A page of results, as data. `document.ts` makes HTML of it, `file.ts` a file: a command takes `option` of it, asks it to `prepare` before it
 * measures anything, and hands the page to what it is given then.
 *
 * @example
 * const write = yield* HtmlFile.prepare(html)
 * const sorted = yield* measure
 * if (write !== undefined) {
 *   yield* write({
 *     title: "hedge-lab hol",
 *     lead: ["What was measured"],
 *     verdict: ["What to think of it"],
 *     warnings: [],
 *     sections: [
 *       { heading: "Figures", blocks: [table("What became of the calls", rows)] },
 *       {
 *         heading: "Latencies",
 *         blocks: Cdf.chart({
 *           caption: "Share of calls that were answered by a time",
 *           curves: [{ name: "plain", look: Looks.plain, n: sorted.length, quantile: Cdf.ofSorted(sorted) }],
 *           percentiles: [0.5, 0.95, 0.99]
 *         })
 *       }
 *     ]
 *   })
 * }
 */
import type { Spec } from "vega"
import type { Look } from "./looks.js"

export interface Page {
  readonly title: string
  /** What was measured, a line at a time. */
  readonly lead: ReadonlyArray<string>
  /** What to think of it, a paragraph at a time. */
  readonly verdict: ReadonlyArray<string>
  /** Why one might doubt it. */
  readonly warnings: ReadonlyArray<string>
  readonly sections: ReadonlyArray<Section>
}

/** One without blocks is left out. */
export interface Section {
  readonly heading: string
  readonly blocks: ReadonlyArray<Block>
}

export type Block = Table | Chart | Text | Code

export interface Table {
  readonly _tag: "Table"
  readonly caption: string
  /** The first row is the head. */
  readonly rows: ReadonlyArray<ReadonlyArray<string>>
  /** How many cells, from the left, say what the others of a row are of. */
  readonly rowHeaders: number
}

export interface Text {
  readonly _tag: "Text"
  readonly paragraphs: ReadonlyArray<string>
}

export interface Code {
  readonly _tag: "Code"
  readonly caption: string
  readonly text: string
}

/** Drawn twice, for wide and for narrow screens, with the figures in a table for whoever wants or needs them. */
export interface Chart {
  readonly _tag: "Chart"
  readonly caption: string
  /** What there is to see, for those who cannot. */
  readonly alternative: string
  readonly legend: ReadonlyArray<{ readonly label: string; readonly look: Look }>
  readonly notes: ReadonlyArray<string>
  readonly figures: Table
  /** @param width of the whole drawing, in pixels. */
  readonly spec: (width: number) => Spec
}

export const table = (
  caption: string,
  rows: ReadonlyArray<ReadonlyArray<string>>,
  rowHeaders = 1
): Table => ({ _tag: "Table", caption, rows, rowHeaders })

export const text = (...paragraphs: ReadonlyArray<string>): Text => ({ _tag: "Text", paragraphs })

export const code = (caption: string, lines: string): Code => ({ _tag: "Code", caption, text: lines })
