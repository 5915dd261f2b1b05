import { relative } from "node:path"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import all from "../../../vitest.config.js"
import { excludedFiles, parts } from "./parts.js"

/** What killed the mutant before first, then the quickest: the first failure ends a mutant's run. */
class KillersFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const cost = ({ moduleId, project }: TestSpecification): number => {
      const known = this.ctx.cache.getFileTestResults(
        `${project.name}:${relative(this.ctx.config.root, moduleId)}`
      )
      return known === undefined ? 0 : known.failed ? -1 : known.duration
    }
    return [...files].sort((one, other) => cost(one) - cost(other))
  }
}

export default defineConfig({
  ...all,
  root: fileURLToPath(new URL("../../../", import.meta.url)),
  test: {
    include: parts[process.env.MUTATION_PART as keyof typeof parts].tests,
    exclude: excludedFiles,
    env: { MODEL_RUNS: "30", STREAM_RUNS: "20" },
    testTimeout: 5_000,
    hookTimeout: 5_000,
    // `freshModules.ts` isolates
    poolOptions: { threads: { isolate: false } },
    runner: fileURLToPath(new URL("freshModules.ts", import.meta.url)),
    sequence: { sequencer: KillersFirst }
  }
})
