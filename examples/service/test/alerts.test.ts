/** Has promtool, which comes with Prometheus, check the alerts and try what makes them fire. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"
import { describeWithPrometheus } from "./support/installed.js"

const folder = fileURLToPath(new URL("../dashboards/", import.meta.url))

const promtool = (...words: ReadonlyArray<string>): string =>
  execFileSync("promtool", words, { cwd: folder, encoding: "utf8" })

describeWithPrometheus("promtool", () => {
  it("accepts the alerts, and the configuration that loads them", () => {
    expect(promtool("check", "rules", "alerts.yml")).toContain("SUCCESS: 3 rules found")
    expect(promtool("check", "config", "prometheus.yml")).toContain("SUCCESS: 1 rule files found")
  })

  it("sees each alert fire, and not fire, when it should", () => {
    expect(promtool("test", "rules", "alerts.test.yml")).toContain("SUCCESS")
    const alerts = readFileSync(`${folder}alerts.yml`, "utf8").matchAll(/- alert: (\w+)/g)
    const tried = readFileSync(`${folder}alerts.test.yml`, "utf8")
    for (const [, name] of alerts) {
      expect(tried).toMatch(new RegExp(`alertname: ${name}\n *exp_alerts:\n`))
      expect(tried).toContain(`alertname: ${name}\n        exp_alerts: []\n`)
    }
  })
})
