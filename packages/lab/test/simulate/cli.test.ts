import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const bin = fileURLToPath(new URL("../../dist/bin.js", import.meta.url))

const simulate = (...args: ReadonlyArray<string>) =>
  new Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>((resolve) => {
    const child = execFile(process.execPath, [bin, "simulate", ...args], (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr })
    )
  })

const small = ["--calls", "3000", "--utilisation", "0.6", "--utilisation", "0.8"]

describe("hedge-lab simulate", { timeout: 60_000 }, () => {
  it("prints JSON and nothing else, the same bytes for the same seed", async () => {
    const { code, stderr, stdout } = await simulate("--json", ...small)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const report = JSON.parse(stdout)
    expect(Object.keys(report)).toEqual(["workload", "cluster", "calls", "warmUp", "seed", "hedging", "rows"])
    expect(
      report.rows.map((row: { utilisation: number; side: string }) => [row.utilisation, row.side])
    ).toEqual([
      [0.6, "unhedged"],
      [0.6, "hedged"],
      [0.6, "idle"],
      [0.8, "unhedged"],
      [0.8, "hedged"],
      [0.8, "idle"]
    ])
    expect(Object.keys(report.rows[1])).toEqual([
      "utilisation",
      "rate",
      "side",
      "p50",
      "p95",
      "p99",
      "p999",
      "ratio",
      "requestsPerCall",
      "winShare",
      "suppressed",
      "status",
      "delayMs",
      "estimatedUnhedgedP99",
      "recoveredAfterMs"
    ])
    expect(report.rows[0]).toMatchObject({ ratio: 1, requestsPerCall: 1, winShare: null, delayMs: null })
    expect(report.rows[1].requestsPerCall).toBeGreaterThan(1)
    expect((await simulate("--json", ...small)).stdout).toBe(stdout)
    expect((await simulate("--json", "--seed", "2", ...small)).stdout).not.toBe(stdout)
  })

  it("prints a table", async () => {
    const { code, stdout } = await simulate(...small)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^load +calls +P50 +P95 +P99 +P99\.9 +P99 ratio/m)
    expect(stdout).toMatch(/^60 % +hedged, to idle servers .* ms .* ms/m)
  })

  it("says how long after a slowdown calls are back", async () => {
    const { code, stdout } = await simulate("--slowdown", "3", "--slow-servers", "4", "--utilisation", "0.5")
    expect(code).toBe(0)
    expect(stdout).toContain("4 of them 3 × slower from 20 s to 30 s")
    expect(stdout).toMatch(/back after$/m)
    expect(stdout).toMatch(/^50 % +hedged .* \d+(\.\d)? s$/m)
  })

  it.each([
    [["--servers", "0"], "hedge-lab: --servers 0: must be a whole number from 2 to 1,000, or unlimited\n"],
    [["--calls"], "hedge-lab: --calls: needs a value; --help says which\n"],
    [["--call", "5"], "hedge-lab: --call: there is no such option; --help lists them\n"],
    [
      ["--suite", "--json", "--delay", "5"],
      "hedge-lab: --delay 5: not with --suite, which says itself what it simulates\n"
    ]
  ])("refuses %j with a message and a failing exit code", async (args, message) => {
    expect(await simulate(...args)).toEqual({ code: 1, stdout: "", stderr: message })
  })
})
