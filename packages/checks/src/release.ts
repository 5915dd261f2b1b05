/** Ends with an error, and what mends it, if a package must not be published as it is. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { faultsOf } from "./releasable.js"

const root = fileURLToPath(new URL("../../../", import.meta.url))

const filesIn = (folder: string): ReadonlyArray<string> =>
  ["dist", "src"].flatMap((part) =>
    readdirSync(join(folder, part), { recursive: true, encoding: "utf8" }).map((file) => `${part}/${file}`)
  )

const folders = readdirSync(join(root, "packages")).map((name) => `packages/${name}`)
const faults = folders.flatMap((folder) => {
  const manifest = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"))
  return manifest.private === true ? [] : faultsOf({ manifest, folder, files: filesIn(join(root, folder)) })
})

for (const fault of faults) console.error(fault)
process.exitCode = faults.length === 0 ? 0 : 1
