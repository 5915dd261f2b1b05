/** Headless Chromium, as a reader of pages. */
import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { type Browser, chromium, type Page } from "playwright-core"

const executablePath = "/usr/bin/chromium"

/** Where there is no browser these tests are skipped, except in CI, which has to have one. */
export const isMissing = !existsSync(executablePath) && process.env.CI === undefined

if (isMissing) process.stderr.write(`skipped: ${executablePath} is missing (Debian's package chromium)\n`)

export const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath,
    chromiumSandbox: false,
    args: [
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync"
    ]
  })

/** Everything that a page did besides showing itself. */
export interface Noise {
  readonly said: Array<string>
  readonly asked: Array<string>
}

export const openPage = async (
  browser: Browser,
  file: string,
  { scheme, width }: { readonly scheme: "light" | "dark"; readonly width: number }
): Promise<{ readonly page: Page; readonly noise: Noise }> => {
  const page = await browser.newPage({ colorScheme: scheme, viewport: { width, height: 800 } })
  const noise: Noise = { said: [], asked: [] }
  const url = new URL(`file://${file}`).href
  page.on("console", (message) => noise.said.push(message.text()))
  page.on("pageerror", (error) => noise.said.push(error.message))
  page.on("request", (request) => {
    if (request.url() !== url) noise.asked.push(request.url())
  })
  await page.goto(url)
  return { page, noise }
}

/** What axe finds wrong, rule by rule, with the elements. */
export const violations = async (page: Page): Promise<ReadonlyArray<string>> => {
  const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")
  await page.evaluate(source)
  return page.evaluate(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 200)).join(" | ")))`)
}

/** Cells of the tables, by caption. */
export type Tables = Readonly<Record<string, ReadonlyArray<ReadonlyArray<string>>>>

export const tablesOf = (page: Page): Promise<Tables> =>
  page.evaluate(`Object.fromEntries(Array.from(document.querySelectorAll("table"), (table) => [
    table.caption.textContent,
    Array.from(table.rows, (row) => Array.from(row.cells, (cell) => cell.textContent))
  ]))`)
