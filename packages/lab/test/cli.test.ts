import { type ChildProcess, execFile, type IOType, spawn } from "node:child_process"
import { once } from "node:events"
import { closeSync, existsSync, openSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { stripVTControlCharacters } from "node:util"
import { describe, expect, it } from "vitest"

const bin = fileURLToPath(new URL("../dist/bin.js", import.meta.url))

interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const hedgeLab = (...args: ReadonlyArray<string>) =>
  new Promise<Ran>((resolve) => {
    const child = execFile(process.execPath, [bin, ...args], (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr })
    )
  })

const start = (stdout: IOType | number, ...args: ReadonlyArray<string>) =>
  spawn(process.execPath, [bin, ...args], { stdio: ["ignore", stdout, "pipe"] })

const ended = async (child: ChildProcess) => {
  let stderr = ""
  child.stderr?.on("data", (chunk) => {
    stderr += chunk
  })
  const [code] = await once(child, "close")
  return { code, stderr }
}

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
    [["extra"], "hedge-lab: Received unknown argument: 'extra'\n"],
    [
      ["--url", "http://127.0.0.1:1/"],
      "hedge-lab: --url http://127.0.0.1:1/: no answer (ECONNREFUSED); it must answer a GET with a status below 400\n"
    ]
  ])("refuses %j with a message and a failing exit code", async (args, message) => {
    expect(await hedgeLab("tail", ...args)).toEqual({ code: 1, stdout: "", stderr: message })
  })
})

describe("hedge-lab", { timeout: 60_000 }, () => {
  it("lists its commands, and of a command the options, without commonplaces or colours", async () => {
    const all = await hedgeLab()
    expect(all).toMatchObject({ code: 0, stderr: "" })
    expect(all.stdout).toContain("$ hedge-lab <command> [options]")
    expect(await hedgeLab("--help")).toEqual(all)
    const { stdout } = await hedgeLab("tail", "--help")
    expect(stdout).toMatch(/^\$ hedge-lab tail \[options\]$/m)
    expect(stdout).toMatch(/^--rate per-second\n\n {2}Calls a second/m)
    expect(stdout).not.toMatch(/user-defined|true or false|optional/)
    expect((await hedgeLab("plan", "--help")).stdout).not.toContain("repeated")
    expect(stdout).toBe(stripVTControlCharacters(stdout))
  })

  it("says in its own name that a command does not exist", async () => {
    const { code, stderr } = await hedgeLab("tial")
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^hedge-lab: Invalid subcommand .*\n$/)
    })
  })

  it("refuses, without a command as with one, an option that help does not list", async () => {
    const refused = {
      code: 1,
      stdout: "",
      stderr: "hedge-lab: --wizard: there is no such option; --help lists them\n"
    }
    expect(await hedgeLab("--wizard")).toEqual(refused)
    expect(await hedgeLab("plan", "--wizard")).toEqual(refused)
  })

  it.runIf(existsSync("/dev/full"))("fails when its output cannot be written", async () => {
    const full = openSync("/dev/full", "w")
    expect(await ended(start(full, "--help"))).toEqual({
      code: 1,
      stderr: "hedge-lab: cannot write to standard output (ENOSPC)\n"
    })
    closeSync(full)
  })

  it("ends as by SIGPIPE, silently, when nobody reads its output", async () => {
    const child = start("pipe", "--help")
    child.stdout?.destroy()
    expect(await ended(child)).toEqual({ code: 141, stderr: "" })
  })

  it.each([
    ["SIGTERM", 143],
    ["SIGINT", 130]
  ] as const)("ends by %s with the code %i", async (signal, code) => {
    const server = createServer().listen(0, "127.0.0.1")
    await once(server, "listening")
    const { port } = server.address() as AddressInfo
    const child = start("ignore", "tail", "--url", `http://127.0.0.1:${port}/`)
    await once(server, "request")
    child.kill(signal)
    expect(await ended(child)).toEqual({ code, stderr: "" })
    server.close()
  })
})
