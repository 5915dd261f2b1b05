/** From a page to HTML that needs nothing else: no script, no network. */
import { draw } from "./draw.js"
import { type Content, html, type Markup, trusted } from "./markup.js"
import type { Block, Chart, Page, Table } from "./page.js"
import { style } from "./style.js"
import { swatch } from "./swatch.js"

/** A browser that obeys it runs nothing and asks for nothing, whatever stands in the page. */
const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

/** The page as a document. */
export const render = async (page: Page): Promise<string> => {
  let ids = 0
  const id = (prefix: string) => `${prefix}-${++ids}`
  const sections: Array<Content> = []
  const links: Array<Markup> = []
  for (const { blocks, heading } of page.sections) {
    if (blocks.length === 0) continue
    const anchor = id("section")
    links.push(html`<li><a href="#${anchor}">${heading}</a></li>`)
    const parts: Array<Markup> = []
    for (const block of blocks) parts.push(await blockOf(block, id))
    sections.push(html`<section aria-labelledby="${anchor}"><h2 id="${anchor}">${heading}</h2>${parts}</section>
`)
  }
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${page.title}</title>
<style>${trusted(style)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the results</a>
<header>
<h1>${page.title}</h1>
${page.lead.map((line) => html`<p class="lead">${line}</p>`)}
<nav aria-label="On this page"><ul>${links}</ul></nav>
</header>
<main id="main" tabindex="-1">
${titled("verdict", "Verdict", page.verdict)}
${titled("warnings", "Caution", page.warnings)}
${sections}</main>
<footer><p>Written by hedge-lab on ${new Date().toISOString().slice(0, 16).replace("T", " at ")} UTC.</p></footer>
</body>
</html>
`.text
}

const titled = (name: string, heading: string, paragraphs: ReadonlyArray<string>): Content =>
  paragraphs.length === 0
    ? undefined
    : html`<section class="${name}" aria-labelledby="${name}"><h2 id="${name}">${heading}</h2>
${paragraphs.map(paragraph)}</section>
`

const paragraph = (text: string): Markup => html`<p>${text}</p>
`

type Id = (prefix: string) => string

const blockOf = (block: Block, id: Id): Markup | Promise<Markup> => {
  switch (block._tag) {
    case "Table":
      return tableOf(block, id)
    case "Chart":
      return figureOf(block, id)
    case "Text":
      return html`<div class="notes">${block.paragraphs.map(paragraph)}</div>`
    case "Code":
      return html`<p>${block.caption}</p><pre tabindex="0" role="region" aria-label="${block.caption}"><code>${block.text}</code></pre>`
  }
}

/** It scrolls by itself where the screen is too narrow, by keyboard as well. */
const tableOf = ({ caption, rowHeaders, rows: [head = [], ...rows] }: Table, id: Id): Markup => {
  const name = id("table")
  const kinds = head.map((_, i) => {
    if (i < rowHeaders) return html` class="left"`
    return rows.some((row) => (row[i] ?? "").length > mostOnALine) ? html` class="words"` : undefined
  })
  return html`<div class="scroll" role="region" aria-labelledby="${name}" tabindex="0"><table>
<caption id="${name}">${caption}</caption>
<thead><tr>${head.map((cell, i) => (cell === "" ? html`<td></td>` : html`<th scope="col"${kinds[i]}>${cell}</th>`))}</tr></thead>
<tbody>${rows.map(
    (row) => html`<tr>${head.map((_, i) =>
      i < rowHeaders ? html`<th scope="row">${row[i]}</th>` : html`<td${kinds[i]}>${row[i]}</td>`
    )}</tr>
`
  )}</tbody></table></div>
`
}

/** More is a sentence, and is broken into lines. */
const mostOnALine = 40

const widths = { wide: 960, narrow: 328 } as const

const figureOf = async (chart: Chart, id: Id): Promise<Markup> => {
  const name = id("chart")
  const drawings = await Promise.all(
    (["wide", "narrow"] as const).map(async (size) => {
      const svg = await draw(chart.spec(widths[size]))
      return html`<div class="drawing ${size}" role="img" aria-label="${chart.alternative}">${svg}</div>
`
    })
  )
  return html`<figure aria-labelledby="${name}">
<figcaption id="${name}">${chart.caption}</figcaption>
<ul class="legend">${chart.legend.map(({ label, look }) => html`<li>${swatch(look)}${label}</li>`)}</ul>
${drawings}${chart.notes.length === 0 ? undefined : html`<div class="notes">${chart.notes.map(paragraph)}</div>`}
<details><summary>The figures of this chart: ${chart.caption}</summary>
${tableOf(chart.figures, id)}</details>
</figure>
`
}
