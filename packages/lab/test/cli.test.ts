import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const bin = fileURLToPath(new URL("../dist/bin.js", import.meta.url))

const hedgeLab = (...args: ReadonlyArray<string>) =>
  new Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>((resolve) => {
    const child = execFile(process.execPath, [bin, ...args], (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr })
    )
  })

const small = ["--requests", "100", "--fast", "1-5", "--slow", "50-100", "--delay", "20", "millis"]

describe("hedge-lab tail", { timeout: 60_000 }, () => {
  it("prints JSON and nothing else, in the shape that programs rely on", async () => {
    const { code, stderr, stdout } = await hedgeLab("tail", "--json", ...small)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const report = JSON.parse(stdout)
    const times = ["p50", "p95", "p98_5", "p99", "p999"]
    const side = ["count", "failures", ...times, "requestsPerCall", "connectionsPerCall"]
    expect(Object.keys(report)).toEqual(["workload", "plain", "hedged", "ratio"])
    expect(Object.keys(report.plain)).toEqual(side)
    expect(Object.keys(report.hedged)).toEqual([
      ...side,
      "hedgeRate",
      "hedgeWinShare",
      "loserMeanMs",
      "suppressed"
    ])
    expect(Object.keys(report.ratio)).toEqual(times)
    expect(report.plain).toMatchObject({ count: 100, failures: 0, requestsPerCall: 1 })
    expect(report.hedged).toMatchObject({ count: 100, failures: 0 })
  })

  it("prints a table", async () => {
    const { code, stdout } = await hedgeLab("tail", ...small)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^P98\.5 .* ms .* ms/m)
    expect(stdout).toMatch(/^server worked on after a cancel/m)
  })

  it.each([
    [["--rate", "0"], "hedge-lab: --rate 0: must be a number above 0 and at most 100,000\n"],
    [["--rate"], "hedge-lab: --rate: needs a value; --help says which\n"],
    [["--rat", "5"], "hedge-lab: --rat: there is no such option; --help lists them\n"],
    [
      ["--url", "http://127.0.0.1:1/"],
      "hedge-lab: --url http://127.0.0.1:1/: no answer (ECONNREFUSED); it must answer a GET with a status below 400\n"
    ]
  ])("refuses %j with a message and a failing exit code", async (args, message) => {
    expect(await hedgeLab("tail", ...args)).toEqual({ code: 1, stdout: "", stderr: message })
  })
})
