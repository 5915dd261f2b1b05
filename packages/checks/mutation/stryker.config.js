import { parts, withSlowTests } from "./parts.js"

const name = /** @type {keyof typeof parts} */ (process.env.MUTATION_PART)
const folder = "packages/checks/.mutation"
const results = `${folder}/${name}${withSlowTests ? "-slow" : ""}`

/** @type {import("@stryker-mutator/api/core").PartialStrykerOptions} */
export default {
  plugins: ["@stryker-mutator/vitest-runner"],
  testRunner: "vitest",
  vitest: { configFile: "packages/checks/mutation/vitest.config.ts", related: false },
  mutate: parts[name].mutate,
  coverageAnalysis: "perTest",
  // those that run only while a module loads: each would ask for every test, and a thread of its own
  ignoreStatic: true,
  incremental: true,
  incrementalFile: `${results}-incremental.json`,
  concurrency: 1,
  timeoutMS: 5_000,
  timeoutFactor: 1.5,
  dryRunTimeoutMinutes: 10,
  // esbuild drops types unread
  disableTypeChecks: false,
  tempDirName: `${folder}/sandbox-${name}`,
  cleanTempDir: "always",
  ignorePatterns: [
    folder,
    "dist",
    "*.tsbuildinfo",
    "examples",
    ".ci",
    ".github",
    "packages/{docs,lab,platform-node}"
  ],
  reporters: ["clear-text", "progress-append-only", "html", "json"],
  clearTextReporter: { allowColor: false, allowEmojis: false, logTests: false },
  htmlReporter: { fileName: `${results}.html` },
  jsonReporter: { fileName: `${results}.json` },
  thresholds: { high: 90, low: 85, break: 85 }
}
