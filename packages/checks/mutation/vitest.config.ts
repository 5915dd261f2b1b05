import { relative } from "node:path"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import all from "../../../vitest.config.js"
import { excludedFiles, parts, withSlowTests } from "./parts.js"

/** The files whose tests have killed a mutant, the latest first, and how long each file has taken when it was run to its end. */
const killers: Array<string> = []
const durations = new Map<string, number>()

/** Killers of other mutants first, then the quickest: the first failure ends a mutant's run. */
class KillersFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    for (const { moduleId, project } of files) {
      const key = `${project.name}:${relative(this.ctx.config.root, moduleId)}`
      const known = this.ctx.cache.getFileTestResults(key)
      durations.set(moduleId, Math.max(known?.duration ?? 0, durations.get(moduleId) ?? 0))
      if (known?.failed) killers.unshift(moduleId)
    }
    killers.splice(0, Infinity, ...new Set(killers))
    const rank = ({ moduleId }: TestSpecification): number => {
      const kills = killers.indexOf(moduleId)
      return kills >= 0 ? kills - killers.length : durations.get(moduleId)!
    }
    return [...files].sort((one, other) => rank(one) - rank(other))
  }
}

const { slowestTest, tests } = parts[process.env.MUTATION_PART as keyof typeof parts]
const patience = withSlowTests ? 60_000 : slowestTest

export default defineConfig({
  ...all,
  root: fileURLToPath(new URL("../../../", import.meta.url)),
  test: {
    include: tests,
    exclude: excludedFiles,
    env: { MODEL_RUNS: "30", STREAM_RUNS: "20" },
    testTimeout: patience,
    hookTimeout: patience,
    // `freshModules.ts` isolates
    poolOptions: { threads: { isolate: false } },
    runner: fileURLToPath(new URL("freshModules.ts", import.meta.url)),
    sequence: { sequencer: KillersFirst }
  }
})
