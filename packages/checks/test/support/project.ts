import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { manifestOf, type Packed, root } from "./packages.js"
import { run } from "./shell.js"

export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), "effect-hedge-checks-"))

export const remove = (folder: string): void => rmSync(folder, { recursive: true, force: true })

/** What packages need that others publish, each in the version that the workspace has. */
const neededBy = (packages: ReadonlyArray<Packed>): Record<string, string> => {
  const own = new Set(packages.map(({ name }) => name))
  const names = packages.flatMap(({ dependencies, peerDependencies }) =>
    Object.keys({ ...dependencies, ...peerDependencies })
  )
  const foreign = names.filter((name) => !own.has(name))
  return Object.fromEntries(
    ["@types/node", ...foreign].map((name) => [name, manifestOf(join(root, "node_modules", name)).version])
  )
}

/** Installs the tarballs into a project that knows nothing of the workspace. */
export const install = async (project: string, packages: ReadonlyArray<Packed>): Promise<void> => {
  const tarballs = packages.map(({ name, tarball }) => [name, `file:${tarball}`])
  const dependencies = { ...neededBy(packages), ...Object.fromEntries(tarballs) }
  writeFileSync(
    join(project, "package.json"),
    JSON.stringify({ name: "consumer", private: true, type: "module", dependencies })
  )
  const quietly = ["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"]
  await run("npm", ["install", "--strict-peer-deps", ...quietly], { cwd: project })
}

export const copyInto = (project: string, from: string, names: ReadonlyArray<string>): void => {
  mkdirSync(project, { recursive: true })
  for (const name of names) copyFileSync(join(from, name), join(project, name))
}
