import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { manifestOf, type Packed, root } from "./packages.js"
import { run } from "./shell.js"

export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), "effect-hedge-checks-"))

export const remove = (folder: string): void => rmSync(folder, { recursive: true, force: true })

/** What packages need that others publish, each with the range that they accept. */
const neededBy = (packages: ReadonlyArray<Packed>): ReadonlyArray<readonly [name: string, range: string]> => {
  const own = new Set(packages.map(({ name }) => name))
  return packages
    .flatMap(({ dependencies, peerDependencies }) => Object.entries({ ...dependencies, ...peerDependencies }))
    .filter(([name]) => !own.has(name))
}

/** The version that the workspace has, whatever has been released since. */
export const asInWorkspace = (name: string): string => manifestOf(join(root, "node_modules", name)).version

/** The least version that a package says it works with. */
export const least = (name: string, range: string): string => {
  const [, version] = /^\^(\d+\.\d+\.\d+)$/.exec(range) ?? []
  if (version === undefined) throw new Error(`${name} is wanted as ${range}, which is not ^ and a version`)
  return version
}

/** Installs the tarballs into a project that knows nothing of the workspace. */
export const install = async (
  project: string,
  packages: ReadonlyArray<Packed>,
  versionOf: (name: string, range: string) => string,
  flag = "--strict-peer-deps"
): Promise<void> => {
  const foreign = neededBy(packages).map(([name, range]) => [name, versionOf(name, range)])
  const tarballs = packages.map(({ name, tarball }) => [name, `file:${tarball}`])
  const dependencies = Object.fromEntries([...foreign, ...tarballs])
  const devDependencies = { "@types/node": asInWorkspace("@types/node") }
  writeFileSync(
    join(project, "package.json"),
    JSON.stringify({ name: "consumer", private: true, type: "module", dependencies, devDependencies })
  )
  const quietly = ["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"]
  await run("npm", ["install", flag, ...quietly], { cwd: project })
}

export const copyInto = (project: string, from: string, names: ReadonlyArray<string>): void => {
  for (const name of names) copyFileSync(join(from, name), join(project, name))
}
