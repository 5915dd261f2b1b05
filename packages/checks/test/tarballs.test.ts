import { readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { publint } from "publint"
import { formatMessage } from "publint/utils"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Packed, pack, published, root } from "./support/packages.js"
import { remove, temporaryFolder } from "./support/project.js"
import { run } from "./support/shell.js"

/** The paths that a source map or a declaration map leads to, within the package. */
const sourcesOf = (folder: string, map: string): ReadonlyArray<string> => {
  const { sourceRoot = "", sources } = JSON.parse(readFileSync(join(folder, map), "utf8"))
  return sources.map((source: string) => normalize(join(dirname(map), sourceRoot, source)))
}

describe.each(await published())("the tarball of %s", { timeout: 60_000 }, (name) => {
  const folder = temporaryFolder()
  const unpacked = join(folder, "package")
  let packed: Packed

  const readText = (file: string) => readFileSync(join(unpacked, file), "utf8")

  beforeAll(async () => {
    const [only] = await pack(folder, [name])
    packed = only!
    await run("tar", ["-xzf", packed.tarball], { cwd: folder })
  }, 60_000)

  afterAll(() => remove(folder))

  it("pleases publint", async () => {
    const { messages, pkg } = await publint({ pkgDir: unpacked, pack: false, strict: true })
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([])
  })

  it("has types that fit its code, as attw sees it", async () => {
    const attw = join(root, "node_modules/@arethetypeswrong/cli/dist/index.js")
    const said = await run(process.execPath, [
      attw,
      packed.tarball,
      "--profile",
      "esm-only",
      "--format",
      "json"
    ])
    expect(JSON.parse(said).analysis.packageName).toBe(name)
  })

  it("holds the licence, the README and nothing but code beside them", () => {
    const others = packed.files.filter((file) => !/^(dist|src)\/[\w/]+(\.d)?\.[jt]s(\.map)?$/.test(file))
    expect(others.toSorted()).toEqual(["LICENSE", "README.md", "package.json"])
    expect(readText("LICENSE")).toBe(readFileSync(join(root, "LICENSE"), "utf8"))
    expect(readText("README.md")).toMatch(new RegExp(`^# ${name}\n`))
  })

  it("has code, types and maps of each source, and maps that lead to files within it", () => {
    const modules = packed.files.filter((file) => file.startsWith("src/")).map((file) => file.slice(4, -3))
    const made = modules.flatMap((module) =>
      [".js", ".js.map", ".d.ts", ".d.ts.map"].map((ending) => `dist/${module}${ending}`)
    )
    const sources = made
      .filter((file) => file.endsWith(".map") && packed.files.includes(file))
      .flatMap((map) => sourcesOf(unpacked, map))
    expect(made.length).toBeGreaterThan(0)
    expect([...made, ...sources].filter((file) => !packed.files.includes(file))).toEqual([])
  })

  it("names what a registry and its users ask for", () => {
    const manifest = JSON.parse(readText("package.json"))
    expect(manifest).toMatchObject({
      license: "MIT",
      type: "module",
      description: expect.stringMatching(/\.$/),
      keywords: expect.arrayContaining(["effect", "hedging"]),
      publishConfig: { access: "public", provenance: true }
    })
  })
})
