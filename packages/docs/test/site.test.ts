/** Builds the site and looks at what a reader would meet. */
import { execFile } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { promisify } from "node:util"
import { inflateSync } from "node:zlib"
import { afterAll, beforeAll, expect, it } from "vitest"

const root = fileURLToPath(new URL("../", import.meta.url))
const typedoc = fileURLToPath(
  new URL("../bin/typedoc", pathToFileURL(createRequire(root).resolve("typedoc")))
)
const out = mkdtempSync(join(tmpdir(), "site-"))

const textOf = (path: string) => readFileSync(join(out, path), "utf8")

let files: ReadonlyArray<string> = []
let log = ""

beforeAll(async () => {
  const built = promisify(execFile)(process.execPath, [typedoc, "--out", out], { cwd: root })
  const { stdout, stderr } = await built.catch((failure: Awaited<typeof built>) => failure)
  log = stdout + stderr
  files = readdirSync(out, { recursive: true, encoding: "utf8" })
}, 300_000)

afterAll(() => rmSync(out, { recursive: true, force: true }))

interface Entry {
  readonly text: string
  readonly path?: string
  readonly children?: ReadonlyArray<Entry>
}

/** The navigation, as the pages load it: JSON, deflated, in base 64. */
const navigation = (): ReadonlyArray<Entry> => {
  const [, data = ""] = /"(.*)"/.exec(textOf("assets/navigation.js")) ?? []
  return JSON.parse(inflateSync(Buffer.from(data, "base64")).toString())
}

const flat = (entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> =>
  entries.flatMap((entry) => [entry, ...flat(entry.children ?? [])])

/** The titles of the pages of this folder: of all but the list of them. */
const titles = () =>
  readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((path) => /^(guides\/)?[\w-]+\.md$/.test(path) && path !== "README.md")
    .map((path) => /^# (.*)$/m.exec(readFileSync(join(root, path), "utf8"))?.[1]?.replaceAll("`", ""))

it("builds without a warning", () => {
  expect(log).toContain("html generated")
  expect(log).not.toMatch(/warning|error/i)
})

it("every page has a place in the navigation, under the title that it begins with", () => {
  const entries = flat(navigation()).filter(({ path }) => path?.startsWith("documents/"))
  expect(entries.map(({ text }) => text).sort()).toEqual(titles().sort())
  expect(entries.map(({ path }) => path).sort()).toEqual(
    files.filter((path) => path.startsWith("documents/")).sort()
  )
})

it("every entry point of the packages is in the reference, by the name under which it is imported", () => {
  const names = flat(navigation()).map(({ text }) => text)
  expect(names).toEqual(
    expect.arrayContaining([
      "effect-hedge",
      "effect-hedge/testing",
      "@effect-hedge/platform",
      "@effect-hedge/platform-node"
    ])
  )
})

it("every public module in the reference has an example", () => {
  const modules = flat(navigation()).filter(
    ({ path = "", text }) => /^modules\/[\w-]+\.\w+\.html$/.test(path) || text === "effect-hedge/testing"
  )
  expect(modules.map(({ text }) => text)).toEqual(
    expect.arrayContaining(["Hedge", "HttpHedge", "NodeHedgeClient", "effect-hedge/testing"])
  )
  const bare = modules.filter(
    ({ path = "" }) => !textOf(path).split("tsd-index-group")[0]!.includes(">Example<")
  )
  expect(bare.map(({ text }) => text)).toEqual([])
})

it("no link within the site is dead, its anchor included", () => {
  const known = new Set(files)
  const html = files.filter((path) => path.endsWith(".html"))
  expect(html).toContain("index.html")
  const idsOf = new Map(
    html.map((path) => [path, new Set([...textOf(path).matchAll(/ id="([^"]+)"/g)].map((match) => match[1]))])
  )
  const dead = html.flatMap((path) =>
    [...textOf(path).matchAll(/ href="([^"]*)"/g)].flatMap(([, href = ""]) => {
      if (/^(?:[a-z]+:|$)/.test(href)) return []
      const { pathname, hash } = new URL(href, `http://site/${path}`)
      const target = decodeURIComponent(pathname.slice(1))
      const anchor = decodeURIComponent(hash.slice(1))
      const found = known.has(target) && (anchor === "" || (idsOf.get(target)?.has(anchor) ?? true))
      return found ? [] : [`${path}: ${href}`]
    })
  )
  expect([...new Set(dead)]).toEqual([])
})
