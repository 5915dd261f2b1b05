/** The pages as their readers see them: in a real browser, wide and narrow, light and dark, by keyboard, and to axe. */
import { execFile } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Row } from "../../src/hol/row.js"
import type * as Plan from "../../src/plan/reportJson.js"
import type * as Tail from "../../src/tail/json.js"
import { isMissing, launch, openPage, type Tables, tablesOf, violations } from "./browser.js"

const bin = fileURLToPath(new URL("../../dist/bin.js", import.meta.url))

/** What a command printed as JSON, and the page of the same run. */
interface Ran<Json> {
  readonly file: string
  readonly json: Json
}

let browser: Browser
let folder: string
let tail: Ran<ReturnType<typeof Tail.report>>
let hol: Ran<ReadonlyArray<Row>>
let simulate: Ran<SimulateJson>
let plan: Ran<ReturnType<typeof Plan.render>>

interface SimulateJson {
  readonly rows: ReadonlyArray<
    Readonly<Record<"utilisation" | "p50" | "p95" | "p99" | "p999" | "ratio" | "requestsPerCall", number>>
  >
}

const run = async <Json>(name: string, ...args: ReadonlyArray<string>): Promise<Ran<Json>> => {
  const file = join(folder, `${name}.html`)
  const { stderr, stdout } = await promisify(execFile)(process.execPath, [
    bin,
    ...args,
    "--json",
    "--html",
    file
  ])
  expect(stderr).toBe(`The page is in ${file}\n`)
  return { file, json: JSON.parse(stdout) as Json }
}

const hostile = "<script>document.title='owned'</script>"

/** Most latencies are short, some long; a third is of a route that is no friend. */
const record = (): string =>
  [
    "route,ms",
    ...Array.from(
      { length: 3_000 },
      (_, i) => `${i % 3 === 0 ? hostile : "/users"},${i % 20 === 7 ? 500 + (i % 97) : 10 + (i % 31)}`
    )
  ].join("\n")

const small = ["--fast", "1-5", "--slow", "50-100", "--delay", "20"]

describe.skipIf(isMissing)("a page in a browser", { timeout: 240_000 }, () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "hedge-lab-"))
    const recorded = join(folder, "<img src=x onerror=\"document.title='owned'\">.csv")
    await writeFile(recorded, record())
    tail = await run("tail", "tail", "--requests", "300", ...small)
    // the streams take far more than all lanes let through, so that each probe is late
    const congested = ["--mode", "lanes", "--bandwidth", "64K"]
    hol = await run("hol", "hol", ...congested, "--hedge-after", "1ms", "--duration", "1s")
    simulate = await run(
      "simulate",
      "simulate",
      "--calls",
      "4000",
      "--utilisation",
      "0.5",
      "--utilisation",
      "0.7"
    )
    plan = await run("plan", "plan", recorded, "--column", "ms", "--unit", "ms", "--key", "route")
    browser = await launch()
  }, 240_000)

  afterAll(async () => {
    await browser?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const files = () => [tail.file, hol.file, simulate.file, plan.file]

  const tables = async (file: string): Promise<Tables> => {
    const { page } = await openPage(browser, file, { scheme: "light", width: 1_280 })
    const found = await tablesOf(page)
    await page.close()
    return found
  }

  it.each([
    { scheme: "light", width: 1_280 },
    { scheme: "dark", width: 1_280 },
    { scheme: "light", width: 360 },
    { scheme: "dark", width: 360 }
  ] as const)("is quiet, fits and is accessible, $scheme and $width px wide", async (screen) => {
    for (const file of files()) {
      const { noise, page } = await openPage(browser, file, screen)
      expect(noise).toEqual({ said: [], asked: [] })
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(screen.width)
      // also what is folded away
      await page.evaluate(
        'document.querySelectorAll("details").forEach((details) => { details.open = true })'
      )
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(screen.width)
      // colours and widths are what axe could find different on the others
      if ((screen.scheme === "light") === (screen.width === 1_280)) expect(await violations(page)).toEqual([])
      await page.close()
    }
  })

  it("draws each chart once for a screen, light in the dark and dark in the light", async () => {
    for (const scheme of ["light", "dark"] as const) {
      for (const width of [1_280, 360]) {
        const { page } = await openPage(browser, tail.file, { scheme, width })
        const drawings = await page.locator("figure [role=img]:visible").count()
        expect(drawings).toBe(await page.locator("figure").count())
        const [text, back] = (await page.evaluate(
          "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
        )) as ReadonlyArray<string>
        const light = (colour = "") => Number(/\d+/.exec(colour)?.[0])
        expect(light(text) > light(back)).toBe(scheme === "dark")
        await page.close()
      }
    }
  })

  it("is reached by keyboard, all of it, and unfolded by it", async () => {
    const { page } = await openPage(browser, tail.file, { scheme: "light", width: 360 })
    const focusable = 'a[href], summary, [tabindex="0"]'
    const expected = await page.locator(`:is(${focusable}):visible`).count()
    const reached = new Set<string>()
    for (let i = 0; i < expected; i++) {
      await page.keyboard.press("Tab")
      reached.add(await page.evaluate("document.activeElement.outerHTML.slice(0, 300)"))
    }
    expect(reached.size).toBe(expected)
    await page.locator("summary").first().focus()
    await page.keyboard.press("Enter")
    expect(await page.locator("details").first().getAttribute("open")).not.toBeNull()
  })

  it("shows the figures of `tail --json`", async () => {
    const found = await tables(tail.file)
    const [, ...curve] = found["Share of calls that were answered by a time"]!
    const rows = new Map(
      found["What became of the calls, plain and hedged"]!.map(([name, ...cells]) => [name, cells])
    )
    const names = { p50: "P50", p95: "P95", p98_5: "P98.5", p99: "P99", p999: "P99.9" }
    for (const name of ["p50", "p95", "p98_5", "p99", "p999"] as const) {
      const [plain, hedged, ratio] = rows.get(names[name])!
      near(plain!, tail.json.plain[name]!, 0.05)
      near(hedged!, tail.json.hedged[name]!, 0.05)
      near(ratio!, tail.json.ratio[name]!, 0.0005)
      const drawn = curve.find(([label]) => label === names[name])
      // 300 calls say nothing of one in a thousand
      expect(drawn === undefined).toBe(name === "p999")
      if (drawn === undefined) continue
      near(drawn[1]!, tail.json.plain[name]!)
      near(drawn[2]!, tail.json.hedged[name]!)
    }
    near(rows.get("requests per call")![1]!, tail.json.hedged.requestsPerCall!, 0.005)
  })

  it("shows the figures of `hol --json`, and some probes attempt by attempt", async () => {
    const found = await tables(hol.file)
    const [head, cells] = found["What became of the probes, by mode"]!
    const [row] = hol.json
    const shown = (name: string) => cells![head!.indexOf(name)]!
    near(shown("P95"), row!.p95Ms!, 0.5)
    expect(shown("ok/started")).toBe(`${row!.ok}/${row!.started}`)
    const [, ...probes] = found["Some probes attempt by attempt, lanes-hedged"]!
    expect(probes.some((probe) => probe.at(-1)!.includes("hedge 1"))).toBe(row!.hedgesSent > 0)
    expect(row!.hedgesSent).toBeGreaterThan(0)
  })

  it("shows the figures of `simulate --json`", async () => {
    const found = await tables(simulate.file)
    const [, ...rows] = found["What became of the calls at each load"]!
    expect(rows).toHaveLength(simulate.json.rows.length)
    for (const [i, { p50, p95, p99, p999, ratio, requestsPerCall }] of simulate.json.rows.entries()) {
      const [, , ...cells] = rows[i]!
      for (const [j, known] of [p50, p95, p99, p999].entries()) near(cells[j]!, known, 0.05)
      near(cells[4]!, ratio, 0.0005)
      near(cells[5]!, requestsPerCall, 0.0005)
    }
    const half = found["Share of calls that were answered by a time, at 50 %"]!
    const sides = simulate.json.rows.filter(({ utilisation }) => utilisation === 0.5)
    const [, ...drawn] = half.find(([label]) => label === "P99")!
    expect(drawn).toHaveLength(sides.length)
    for (const [i, { p99 }] of sides.entries()) near(drawn[i]!, p99)
  })

  it("shows the figures of `plan --json`, of all calls and of each key", async () => {
    const found = await tables(plan.file)
    const parts = [
      { whose: "of all calls", part: plan.json },
      ...plan.json.keys!.map((part) => ({ whose: `of route ${part.key}`, part }))
    ]
    expect(parts).toHaveLength(3)
    for (const { part, whose } of parts) {
      const [, none, ...rows] =
        found[`What the best policy under each budget should do for the latencies ${whose}`]!
      near(none![6]!, part.unhedged.p99!)
      part.rows.forEach((row, i) => {
        if (row.p99 !== null) near(rows[i]![6]!, row.p99)
      })
      const curve = found[`Share of calls answered by a time, ${whose}`]!
      near(curve.find(([name]) => name === "P99")![1]!, part.unhedged.p99!)
    }
  })

  it("takes the names in a record for text", async () => {
    const { noise, page } = await openPage(browser, plan.file, { scheme: "light", width: 1_280 })
    expect(await page.title()).toContain("<img src=x onerror=")
    expect(await page.locator("h1").textContent()).toContain("<img src=x onerror=")
    expect(await page.locator("h2", { hasText: hostile }).count()).toBe(1)
    expect(await page.locator("script, img").count()).toBe(0)
    expect(noise).toEqual({ said: [], asked: [] })
  })
})

const numberIn = (cell: string): number => Number(/-?[\d,.]+/.exec(cell)?.[0].replaceAll(",", ""))

/** @param error what rounding may change: if nothing is said, what four digits leave out. */
const near = (cell: string, known: number, error = known * 0.0005): void => {
  // JSON has four decimals
  expect(Math.abs(numberIn(cell) - known), `${cell} is shown of ${known}`).toBeLessThanOrEqual(error + 1e-4)
}
