/** Whether Prometheus is there, and what is to be done if it is not. */
import { spawnSync } from "node:child_process"
import { beforeAll, describe } from "vitest"

const missing = ["prometheus", "promtool"].filter(
  (command) => spawnSync(command, ["--version"], { stdio: "ignore" }).error !== undefined
)
const advice = `Prometheus is missing (${missing.join(", ")}): apt-get install prometheus, or brew install prometheus`
/** A developer's machine may do without; CI may not. */
const isSkipped = missing.length > 0 && process.env.CI === undefined

if (isSkipped) console.warn(`Tests are skipped. ${advice}`)

/** Tests that need Prometheus: without it they fail in CI, and are skipped elsewhere. */
export const describeWithPrometheus = (name: string, tests: () => void): void => {
  describe.skipIf(isSkipped)(name, () => {
    beforeAll(() => {
      if (missing.length > 0) throw new Error(advice)
    })
    tests()
  })
}
