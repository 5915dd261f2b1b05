import { execFile } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { describe, expect, it } from "vitest"
import { dataFile } from "./support.js"

const bin = fileURLToPath(new URL("../../dist/bin.js", import.meta.url))

interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command on what is written to its standard input. */
const plan = (
  args: ReadonlyArray<string>,
  input: Iterable<string | Buffer> = [],
  flags: ReadonlyArray<string> = []
) =>
  new Promise<Ran>((resolve, reject) => {
    const child = execFile(process.execPath, [...flags, bin, "plan", ...args], (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr })
    )
    // a command that refuses its options does not read on
    child.stdin!.on("error", () => {})
    const write = async () => {
      for (const chunk of input) if (!child.stdin!.write(chunk)) await once(child.stdin!, "drain")
      child.stdin!.end()
    }
    write().catch(reject)
  })

const vegeta = dataFile("vegeta.csv")

describe("hedge-lab plan", { timeout: 60_000 }, () => {
  it("prints JSON and nothing else", async () => {
    const { code, stderr, stdout } = await plan([vegeta, "--json", "--extra-load", "0.03", "--fan-out", "5"])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const report = JSON.parse(stdout)
    expect(report.rows).toHaveLength(12)
    expect(Object.keys(report.rows[0])).toEqual([
      "extraLoad",
      "delayMs",
      "probability",
      "attempts",
      "p50",
      "p95",
      "p99",
      "p999",
      "ci",
      "hedges",
      "expectedLoad",
      "fanOut"
    ])
    expect(report.unhedged).toMatchObject({ n: 2_500, p50: 1.135311, p95: 203.633575, p99: 1_262.01324 })
  })

  it("prints a table, wherever the options stand", async () => {
    const { code, stdout } = await plan(["--column=3", vegeta, "--where=code=404", "--unit", "ns"])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^none .* 1\.135 ms +203\.6 ms +1,262 ms/m)
  })

  it.each([[[]], [["-"]]])("reads standard input, gzipped or not, with %j", async (args) => {
    const lines = Array.from({ length: 200 }, (_, i) => `${i}\n`).join("")
    for (const input of [lines, gzipSync(lines)]) {
      const { code, stdout } = await plan([...args, "--json"], [input])
      expect(code).toBe(0)
      expect(JSON.parse(stdout).unhedged).toMatchObject({ n: 200, p50: 99 })
    }
  })

  it("holds no more of a million lines than it counts", async () => {
    const chunk = Array.from({ length: 2_000 }, (_, i) => `${i % 100}.${i} and some words to carry\n`).join(
      ""
    )
    const { code, stdout } = await plan(
      ["--column", "1", "--json"],
      Array.from({ length: 600 }, () => chunk),
      ["--max-old-space-size=64"]
    )
    expect(code).toBe(0)
    expect(JSON.parse(stdout).unhedged.n).toBe(1_200_000)
  })

  it.each([
    [["no/such.log"], "no/such.log: no such file"],
    [["-"], "standard input: is empty"],
    [[vegeta, "--format", "xml"], "--format xml: must be one of har, k6,"],
    [[vegeta, "--column", "13"], "--column 13: must be one of timestamp, code, latency,"],
    [[vegeta, "--where", "code=200"], "--where code=200: must hold for some row; it holds for none of 2500"],
    [[vegeta, "--key", "nothing"], "--key nothing: must be a field, and no row has it"],
    [[vegeta, "--extra-load"], "--extra-load: needs a value; --help says which"],
    [[vegeta, "--colum", "3"], "--colum: there is no such option; --help lists them"]
  ])("refuses %j with a message and a failing exit code", async (args, message) => {
    const { code, stderr, stdout } = await plan(args)
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toContain(`hedge-lab: ${message}`)
    expect(stderr.trimEnd().split("\n")).toHaveLength(1)
  })
})
