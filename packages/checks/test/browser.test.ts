import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { isMissing, launch } from "../../lab/test/html/browser.js"

const page = fileURLToPath(new URL("support/page.ts", import.meta.url))

/** What a server has seen of a request. */
interface Seen {
  readonly url: string
  readonly end: Promise<"answered" | "aborted">
}

/** Serves the page, and two resources: `/late` leaves each odd request without an answer, `/price` none. */
const serve = async (script: string) => {
  const seen: Array<Seen> = []
  const server = createServer((request, response) => {
    const url = request.url!
    if (url === "/")
      return response.setHeader("content-type", "text/html").end(`<script type="module">${script}</script>`)
    if (url !== "/late" && url !== "/price") return response.writeHead(404).end()
    const end = new Promise<"answered" | "aborted">((resolve) => {
      response.on("close", () => resolve(response.writableFinished ? "answered" : "aborted"))
    })
    seen.push({ url, end })
    if (url !== "/late" || seen.length % 2 === 0) response.end(`answer ${seen.length}`)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return { seen, server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

describe.skipIf(isMissing)("effect-hedge in a browser", { timeout: 60_000 }, () => {
  let browser: Browser
  let tab: Page
  let server: Server
  let seen: Array<Seen>
  const errors: Array<string> = []

  beforeAll(async () => {
    const { outputFiles } = await build({
      entryPoints: [page],
      bundle: true,
      format: "esm",
      platform: "browser",
      write: false
    })
    const served = await serve(outputFiles[0]!.text)
    server = served.server
    seen = served.seen
    browser = await launch()
    tab = await browser.newPage()
    tab.on("pageerror", (error) => errors.push(error.message))
    await tab.goto(served.origin)
  }, 60_000)

  afterAll(async () => {
    await browser?.close()
    server?.close()
    server?.closeAllConnections()
  })

  beforeEach(() => {
    seen.length = 0
  })

  const ends = () => Promise.all(seen.map(async ({ end }) => await end))

  it("hedges a fetch that is late, and aborts the one that lost", async () => {
    expect(await tab.evaluate(() => hedgedFetch("/late", 20))).toBe("answer 2")
    expect(await ends()).toEqual(["aborted", "answered"])
  })

  it("sends one request if the answer is not late", async () => {
    expect(await tab.evaluate(() => hedgedFetch("/price", 60_000))).toBe("answer 1")
    expect(await ends()).toEqual(["answered"])
  })

  it("leaves no error behind", () => {
    expect(errors).toEqual([])
  })
})
