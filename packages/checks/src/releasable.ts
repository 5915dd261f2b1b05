/** What keeps a package from being published, for `release.ts`. */

/** What is read of a package: its `package.json`, its folder in the repository, and its files by their paths within it. */
export interface Candidate {
  readonly manifest: {
    readonly name: string
    readonly version: string
    readonly repository?: { readonly url?: string; readonly directory?: string }
  }
  readonly folder: string
  readonly files: ReadonlyArray<string>
}

const isSourced = (file: string, files: ReadonlyArray<string>): boolean => {
  const [, module] = /^dist\/(.+?)\.(?:d\.ts|js)(?:\.map)?$/.exec(file) ?? []
  return module === undefined || files.includes(`src/${module}.ts`)
}

/** One sentence for each thing that is wrong, with what mends it. */
export const faultsOf = ({ files, folder, manifest }: Candidate): ReadonlyArray<string> => {
  const { name, repository, version } = manifest
  const faults: Array<string> = []
  if (!/^git\+https:\/\/.+\.git$/.test(repository?.url ?? "") || repository?.directory !== folder) {
    faults.push(
      `${name} has no repository, which provenance must name; run: npm pkg set --workspace ${name} repository.type=git ` +
        `repository.url=git+https://github.com/OWNER/REPOSITORY.git repository.directory=${folder}`
    )
  }
  if (version === "0.0.0") faults.push(`${name} has the version 0.0.0; run: npm run version`)
  const stale = files.filter((file) => !isSourced(file, files))
  if (stale.length > 0) {
    faults.push(`${name} holds ${stale.join(", ")} without a source; publish from a fresh clone`)
  }
  return faults
}
