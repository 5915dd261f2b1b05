/**
 * `npm run mutation [-- [--package=hedge|platform] [--slow-tests] [FILE ...] [--OPTION=VALUE ...]]`: changes the sources, a little each time, and
 * counts the changes that no test notices. A file is named as `internal/gates.ts` or, a part of it, `internal/gates.ts:44-60`. With `--slow-tests`
 * also the tests look on that take seconds: for the few changes that the others have not noticed. Other options are Stryker's.
 */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { parts } from "./parts.js"

const root = fileURLToPath(new URL("../../../", import.meta.url))

const args = process.argv.slice(2)
const isOurs = (/** @type {string} */ arg) => !arg.startsWith("--") || /^--(package|slow-tests)\b/.test(arg)
const { positionals, values } = parseArgs({
  args: args.filter(isOurs),
  allowPositionals: true,
  options: { package: { type: "string" }, "slow-tests": { type: "boolean", default: false } }
})
const options = args.filter((arg) => !isOurs(arg))

const fail = (/** @type {string} */ message) => {
  console.error(message)
  process.exit(2)
}

const pathOf = (/** @type {string} */ file) => file.replace(/:.*/, "")

const packages = new Set(Object.values(parts).map((part) => part.package))
if (values.package !== undefined && !packages.has(values.package)) {
  fail(`--package=${values.package}: one of ${[...packages].join(", ")}`)
}

const chosen = Object.entries(parts).filter(([, part]) => (values.package ?? part.package) === part.package)
const runs = chosen.flatMap(([name, part]) => {
  if (positionals.length === 0) return [{ name, files: [] }]
  const files = positionals
    .map((file) => `packages/${part.package}/src/${file}`)
    .filter((file) => part.holds(pathOf(file)))
  return files.length === 0 ? [] : [{ name, files }]
})
const known = (/** @type {string} */ file) =>
  chosen.some(([, part]) => existsSync(`${root}packages/${part.package}/src/${pathOf(file)}`))
const unknown = positionals.filter((file) => !known(file))
if (unknown.length > 0) fail(`no such file in src: ${unknown.join(", ")}`)

const slowTests = values["slow-tests"] ? { MUTATION_SLOW_TESTS: "yes" } : {}

for (const { files, name } of runs) {
  const mutate = files.length === 0 ? [] : ["--mutate", files.join(",")]
  const { status } = spawnSync(
    "npx",
    ["--no-install", "stryker", "run", "packages/checks/mutation/stryker.config.js", ...mutate, ...options],
    { cwd: root, stdio: "inherit", env: { ...process.env, ...slowTests, MUTATION_PART: name } }
  )
  if (status !== 0) process.exitCode = status ?? 1
}
