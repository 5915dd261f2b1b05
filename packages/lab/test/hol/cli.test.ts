import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const bin = fileURLToPath(new URL("../../dist/bin.js", import.meta.url))

const hol = (...args: ReadonlyArray<string>) =>
  new Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>(
    (resolve) => {
      const child = execFile(process.execPath, [bin, "hol", ...args], (_, stdout, stderr) =>
        resolve({ code: child.exitCode, stdout, stderr })
      )
    }
  )

const small = ["--mode", "own", "--streams", "3", "--duration", "1s"]

describe("hedge-lab hol", { timeout: 120_000 }, () => {
  it("prints JSON and nothing else, in the shape that programs rely on", async () => {
    const { code, stderr, stdout } = await hol(...small, "--json", "--every", "100ms")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const rows = JSON.parse(stdout)
    expect(rows).toHaveLength(1)
    expect(Object.keys(rows[0])).toEqual([
      "mode",
      "started",
      "ok",
      "failed",
      "cancelledAtEnd",
      "meanMs",
      "p95Ms",
      "sharedConnection",
      "activeStreamsAtStart",
      "hedgesSent",
      "hedgesWon",
      "connectionsOpened",
      "connectionsOpen",
      "streamsOver30s"
    ])
    expect(rows[0]).toMatchObject({
      mode: "own",
      started: 10,
      cancelledAtEnd: 0,
      sharedConnection: 0,
      hedgesSent: 0,
      streamsOver30s: 0
    })
    expect(rows[0].ok + rows[0].failed).toBe(10)
  })

  it("prints a table", async () => {
    const { code, stdout } = await hol(...small, "--hedge-after", "20ms")
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^a probe every 100 ms for 1 s, time-out 2000 ms, beside 3 event streams of 25 KB\/s$/m
    )
    expect(stdout).toMatch(/^own-hedged +\d+\/10 .* ms .* ms/m)
  })

  it("names a wrong option, and fails", async () => {
    expect(await hol("--window", "1")).toEqual({
      code: 1,
      stdout: "",
      stderr: "hedge-lab: --window 1: must be bytes from 64K to 1024M, such as 64K or 1M\n"
    })
  })
})
