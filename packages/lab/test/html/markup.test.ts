import { describe, expect, it } from "vitest"
import { html, trusted } from "../../src/html/markup.js"

describe("a template", () => {
  it("takes everything for text, in elements and in attributes", () => {
    expect(html`<p title="${`"><script>`}">${"a & b < c's"}</p>`.text).toBe(
      '<p title="&quot;&gt;&lt;script&gt;">a &amp; b &lt; c&#39;s</p>'
    )
  })

  it("takes markup for markup, also in lists, and nothing for nothing", () => {
    expect(html`<ul>${[1, 2].map((n) => html`<li>${n}</li>`)}</ul>${undefined}${trusted("<br>")}`.text).toBe(
      "<ul><li>1</li><li>2</li></ul><br>"
    )
  })

  it("shows what may not stand in a page, or turns the text after it, as a replacement", () => {
    expect(html`${"a\u0000b\u001bc\u202ed\u2066e\n\tf"}`.text).toBe("a\ufffdb\ufffdc\ufffdd\ufffde\n\tf")
  })
})
