import { gzipSync } from "node:zlib"
import { build } from "esbuild"
import { describe, expect, it } from "vitest"
import { root } from "./support/packages.js"

/** The bytes, minified and gzipped, of a program as a page would load it. */
const sizeOf = async (program: string, external: Array<string> = []): Promise<number> => {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: root },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    external,
    write: false
  })
  return gzipSync(outputFiles[0]!.contents, { level: 9 }).length
}

const plain = `
  import { Effect } from "effect"
  export const run = (effect) => Effect.runPromise(effect)`

// by its path: of a module that an index exports as a namespace, this bundler takes all
const hedged = `
  import { Effect } from "effect"
  import { hedge } from "effect-hedge/Hedge"
  export const run = (effect, schedule) => Effect.runPromise(hedge(effect, { schedule }))`

const most = 12_000

const print = (what: string, bytes: number): void =>
  console.log(`${what}: ${bytes.toLocaleString("en")} of at most ${most.toLocaleString("en")} bytes, gzipped`)

describe("Hedge.hedge, bundled", { timeout: 60_000 }, () => {
  it("is at most 12 kB of this package's own code", async () => {
    const bytes = await sizeOf(hedged, ["effect", "effect/*"])
    print("Hedge.hedge without effect", bytes)
    expect(bytes).toBeLessThanOrEqual(most)
  })

  it("adds at most 12 kB to a program of Effect, what it needs of effect itself included", async () => {
    const bytes = (await sizeOf(hedged)) - (await sizeOf(plain))
    print("Hedge.hedge over effect", bytes)
    expect(bytes).toBeLessThanOrEqual(most)
  })
})
