import { describe, expect, it } from "vitest"
import { type Candidate, faultsOf } from "../src/releasable.js"

const ready: Candidate = {
  manifest: {
    name: "effect-hedge",
    version: "0.1.0",
    repository: { url: "git+https://example.org/somebody/effect-hedge.git", directory: "packages/hedge" }
  },
  folder: "packages/hedge",
  files: ["dist/Hedge.js", "dist/Hedge.d.ts.map", "dist/src.tsbuildinfo", "src/Hedge.ts"]
}

describe("a release", () => {
  it("goes ahead with a package that lacks nothing", () => {
    expect(faultsOf(ready)).toEqual([])
  })

  it("is refused without a repository, and says how to name it", () => {
    const { name, version } = ready.manifest
    expect(faultsOf({ ...ready, manifest: { name, version } })).toEqual([
      expect.stringMatching(/npm pkg set --workspace effect-hedge .* repository.directory=packages\/hedge$/)
    ])
  })

  it("is refused if the repository is said to lie elsewhere", () => {
    const repository = { ...ready.manifest.repository, directory: "packages/platform" }
    expect(faultsOf({ ...ready, manifest: { ...ready.manifest, repository } })).toHaveLength(1)
  })

  it("is refused before a version is given", () => {
    const manifest = { ...ready.manifest, version: "0.0.0" }
    expect(faultsOf({ ...ready, manifest })).toEqual([expect.stringMatching(/npm run version$/)])
  })

  it("is refused if something compiled has lost its source", () => {
    const files = [...ready.files, "dist/internal/old.d.ts"]
    expect(faultsOf({ ...ready, files })).toEqual([expect.stringMatching(/dist\/internal\/old\.d\.ts/)])
  })
})
