import { readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { binaryOf, nodesFor } from "./support/nodes.js"
import { manifestOf, type Packed, pack, published, root, specifiersOf } from "./support/packages.js"
import { asInWorkspace, copyInto, install, least, remove, temporaryFolder } from "./support/project.js"
import { run } from "./support/shell.js"

const consumer = fileURLToPath(new URL("../consumer", import.meta.url))
const programs = readdirSync(consumer)
const typed = programs.filter((name) => name.endsWith(".ts")).map((name) => name.slice(0, -".ts".length))

const nodes = nodesFor(manifestOf(join(root, "packages/hedge")))

/** Imports all that packages export, and tries what they do not. */
const importsOf = (specifiers: ReadonlyArray<string>): string => `
  ${specifiers.map((specifier, i) => `import * as module${i} from "${specifier}"`).join("\n")}
  void [${specifiers.map((_, i) => `module${i}`)}]
  // @ts-expect-error: it is not exported
  await import("effect-hedge/internal/call").catch((error) => console.log(error.code))
`

describe("the tarballs, installed into an empty project", { timeout: 120_000 }, () => {
  const project = temporaryFolder()
  let packages: ReadonlyArray<Packed>

  const libraries = () => packages.filter((one) => specifiersOf(one).length > 0)

  const tsc = async (resolution: string) => {
    const compiler = join(root, "node_modules/typescript/bin/tsc")
    await run(process.execPath, [compiler, "-p", `tsconfig.${resolution}.json`], { cwd: project })
  }

  beforeAll(async () => {
    packages = await pack(project, await published())
    copyInto(project, consumer, programs)
    writeFileSync(join(project, "imports.ts"), importsOf(packages.flatMap(specifiersOf)))
    await install(project, packages, asInWorkspace)
    await tsc("nodenext")
    await tsc("bundler")
    await build({
      absWorkingDir: project,
      entryPoints: typed.map((name) => `${name}.ts`),
      outdir: "bundled",
      bundle: true,
      format: "esm",
      platform: "node",
      // for what is CommonJS among the dependencies
      banner: {
        js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url)'
      },
      logLevel: "silent"
    })
  }, 300_000)

  afterAll(() => remove(project))

  it("have a program that uses each library", () => {
    const names = libraries().map(({ name }) => name.replace("@effect-hedge/", ""))
    expect(typed.toSorted()).toEqual(names.toSorted())
  })

  describe.each(nodes)("on Node %s", (version) => {
    let node: string
    const runs = (file: string, ...args: ReadonlyArray<string>) =>
      run(node, [file, ...args], { cwd: project })

    beforeAll(async () => {
      node = await binaryOf(version)
      expect(await run(node, ["--version"])).toBe(`v${version}\n`)
    }, 120_000)

    it.each(typed)("run what TypeScript made of %s.ts under nodenext", async (name) => {
      await runs(`nodenext/${name}.js`)
    })

    it.each(typed)("run what a bundler made of %s.ts", async (name) => {
      await runs(`bundled/${name}.js`)
    })

    it("run plain JavaScript", async () => {
      await runs("javascript.js")
    })

    it("export what they say, and no internal module", async () => {
      expect(await runs("nodenext/imports.js")).toBe("ERR_PACKAGE_PATH_NOT_EXPORTED\n")
    })

    it("bring the command hedge-lab", async () => {
      const bin = join("node_modules", ".bin", "hedge-lab")
      expect(await runs(bin, "--help")).toMatch(/plan/)
      const latencies = Array.from({ length: 2000 }, (_, i) => (i % 50 === 0 ? 900 : 10 + (i % 37)))
      writeFileSync(join(project, "latencies.txt"), latencies.join("\n"))
      const plan = JSON.parse(await runs(bin, "plan", "latencies.txt", "--unit", "ms", "--json"))
      expect(plan).toMatchObject({ unhedged: { n: 2000, p50: 28, p99: 900 } })
    })
  })

  it("run with the least versions of what they need", async () => {
    const old = temporaryFolder()
    try {
      // the other packages of Effect, which these bring along, ask for each other's newest
      await install(old, libraries(), least, "--force")
      const compiled = typed.map((name) => `${name}.js`)
      copyInto(old, join(project, "nodenext"), compiled)
      for (const file of compiled) await run(process.execPath, [file], { cwd: old })
    } finally {
      remove(old)
    }
  })

  it("bring a command that npx finds", async () => {
    const version = await run("npx", ["--no-install", "hedge-lab", "--version"], { cwd: project })
    expect(version.trim()).toBe(manifestOf(join(root, "packages/lab")).version)
  })
})
