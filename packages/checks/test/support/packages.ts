import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { run } from "./shell.js"

export const root = fileURLToPath(new URL("../../../../", import.meta.url))

/** What is read of a package.json. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly engines: { readonly node: string }
  readonly bin?: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, unknown>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** A package as it would be published. */
export interface Packed extends Manifest {
  readonly tarball: string
  /** Paths within the package. */
  readonly files: ReadonlyArray<string>
}

export const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))

/** The names of the packages that are published: all workspaces but the private ones. */
export const published = async (): Promise<ReadonlyArray<string>> => {
  const workspaces: ReadonlyArray<Manifest> = JSON.parse(
    await run("npm", ["query", ".workspace"], { cwd: root })
  )
  return workspaces.filter((workspace) => workspace.private !== true).map(({ name }) => name)
}

/** Packs workspaces into a folder. */
export const pack = async (folder: string, names: ReadonlyArray<string>): Promise<ReadonlyArray<Packed>> => {
  const workspaces = names.map((name) => `--workspace=${name}`)
  const report = await run("npm", ["pack", "--json", "--pack-destination", folder, ...workspaces], {
    cwd: root
  })
  const packed: ReadonlyArray<PackReport> = JSON.parse(report)
  return packed.map(({ filename, files, name }) => ({
    ...manifestOf(join(root, "node_modules", name)),
    tarball: join(folder, filename),
    files: files.map(({ path }) => path)
  }))
}

interface PackReport {
  readonly name: string
  readonly filename: string
  readonly files: ReadonlyArray<{ readonly path: string }>
}

/** What can be imported of a package, each by its full name. */
export const specifiersOf = ({ exports, files, name }: Packed): ReadonlyArray<string> =>
  Object.entries(exports)
    .filter(([path, target]) => target !== null && path !== "./package.json")
    .flatMap(([path, target]) => {
      if (!path.includes("*")) return [path]
      const [before, after] = (target as { readonly import: string }).import.slice(2).split("*") as [
        string,
        string
      ]
      return files
        .filter((file) => file.startsWith(before) && file.endsWith(after))
        .map((file) => path.replace("*", file.slice(before.length, -after.length)))
        .filter((module) => !module.slice(2).includes("/"))
    })
    .map((path) => name + path.slice(1))
