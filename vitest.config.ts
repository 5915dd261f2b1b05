import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import type { Reporter } from "vitest/node"

const packages = fileURLToPath(new URL("packages/", import.meta.url))

/**
 * Says `N passed, N failed` after everything else, and writes the same line to the file that TEST_TALLY names.
 * A module that does not load and an error outside of any test count as one failure each.
 */
const tally: Reporter = {
  onTestRunEnd(modules, unhandledErrors) {
    let passed = 0
    let failed = unhandledErrors.length
    for (const module of modules) {
      failed += module.errors().length
      for (const suite of module.children.allSuites()) failed += suite.errors().length
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === "passed") passed++
        if (state === "failed") failed++
      }
    }
    const line = `${passed} passed, ${failed} failed\n`
    if (process.env.TEST_TALLY) writeFileSync(process.env.TEST_TALLY, line)
    process.once("exit", () => process.stdout.write(line))
  }
}

export default defineConfig({
  resolve: {
    // Tests import packages by name and get their sources, so that they need no build.
    alias: [
      { find: /^effect-hedge$/, replacement: `${packages}hedge/src/index.ts` },
      { find: /^effect-hedge\/testing$/, replacement: `${packages}hedge/src/HedgeTest.ts` },
      { find: /^effect-hedge\/(\w+)$/, replacement: `${packages}hedge/src/$1.ts` },
      { find: /^@effect-hedge\/([\w-]+)$/, replacement: `${packages}$1/src/index.ts` },
      { find: /^@effect-hedge\/([\w-]+)\/(\w+)$/, replacement: `${packages}$1/src/$2.ts` }
    ]
  },
  test: {
    include: ["packages/*/test/**/*.test.ts", "examples/{,service/}test/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    pool: "forks",
    // Leak tests collect garbage before they count.
    poolOptions: { forks: { execArgv: ["--expose-gc"] } },
    reporters: ["default", tally]
  }
})
