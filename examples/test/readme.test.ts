/**
 * Holds documentation to its word: each program of a README or a page compiles, runs, and prints what it says; each command of which a
 * page quotes what it prints prints that; each example of a source compiles; who says how fast something is says how to see it.
 */
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { format } from "node:util"
import { HttpHedge } from "@effect-hedge/platform"
import { NodeHedgeClient } from "@effect-hedge/platform-node"
import { Duration, Effect } from "effect"
import { HedgePolicy, HedgeSchedule } from "effect-hedge"
import { afterEach, describe, expect, it, vi } from "vitest"
import { errorsIn } from "./support/compile.js"
import { inComments, inMarkdown, quotedIn, type Snippet } from "./support/snippets.js"

const root = new URL("../../", import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), "utf8")

const modules = ["packages/hedge/src/", "packages/platform/src/", "packages/platform-node/src/"].flatMap(
  (folder) =>
    readdirSync(new URL(folder, root))
      .filter((name) => name.endsWith(".ts"))
      .map((name) => folder + name)
)

const readmes = [
  "README.md",
  "packages/hedge/README.md",
  "packages/platform/README.md",
  "packages/platform-node/README.md"
]
const site = readdirSync(new URL("packages/docs/", root), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".md") && !/^(dist|node_modules)\b/.test(path))
  .map((path) => `packages/docs/${path}`)
const pages = [...readmes, ...site]
/** What can be pasted into `node`, and so must be JavaScript. */
const pasted = readmes.flatMap((path) => inMarkdown(path, read(path)))
const programs = [...pasted, ...site.flatMap((path) => inMarkdown(path, read(path)))]
const quoted = pages.flatMap((path) => quotedIn(path, read(path)))
const comments = modules.flatMap((path) => inComments(path, read(path)))

/** Runs a snippet from a file of its own, where the packages are found by name, and returns the lines that it printed. */
const run = async (snippet: Snippet): Promise<ReadonlyArray<string>> => {
  const folder = new URL("../dist/snippets/", import.meta.url)
  const file = new URL(`${snippet.name.replaceAll(/\W/g, "-")}.ts`, folder)
  mkdirSync(folder, { recursive: true })
  writeFileSync(file, snippet.code)
  const lines: Array<string> = []
  vi.spyOn(console, "log").mockImplementation((...parts) => {
    lines.push(format(...parts))
  })
  await import(/* @vite-ignore */ file.pathname)
  return lines
}

afterEach(() => {
  vi.restoreAllMocks()
})

it("finds every program and every quotation of the pages, and examples in the sources", () => {
  const fences = (language: string) =>
    pages.reduce((sum, path) => sum + read(path).split(`\`\`\`${language}\n`).length - 1, 0)
  expect(programs).toHaveLength(fences("ts"))
  expect(quoted).toHaveLength(fences("text"))
  expect(comments.length).toBeGreaterThanOrEqual(modules.length)
})

it("every module that is public has an example", () => {
  const withExample = new Set(comments.map(({ name }) => name.split(":")[0]))
  expect(modules.filter((path) => !path.endsWith("/index.ts") && !withExample.has(path))).toEqual([])
})

it("every page of the site is in the list of pages", () => {
  const list = read("packages/docs/README.md")
  const missing = site.filter((path) => !list.includes(`](${path.replace("packages/docs/", "")})`))
  expect(missing).toEqual(["packages/docs/README.md"])
})

/** The parts of a page between its headings. */
const sectionsOf = (path: string): ReadonlyArray<string> => read(path).split(/^(?=#+ )/m)

it("a section that says how fast something is, or what it costs, has a command or a program that shows it", () => {
  const claim =
    /\bP\d\d[^|]* (?:ms|s)\b|\b\d[\d.]*(?:–[\d.]+)? ?(?:×|%|times) (?:as )?(?:faster|slower|cheaper|less|more)\b|µs/
  const shown = /`(?:npm (?:start|run)\b|hedge-lab )|^```(?:sh|ts)\n/m
  const bare = pages.flatMap((path) =>
    sectionsOf(path)
      .filter((section) => claim.test(section) && !shown.test(section))
      .map((section) => `${path}: ${section.split("\n")[0]}`)
  )
  expect(claim.test("P99 came down to 130 ms")).toBe(true)
  expect(bare).toEqual([])
})

/** A snippet that must not pass: it is no JavaScript, and as TypeScript it is wrong. */
const wrong: Snippet = { name: "wrong", code: 'export const n: number = "one"\n', prints: [] }

it("every program of a page, JavaScript as well in a README, and every example of a source compiles", {
  timeout: 120_000
}, () => {
  const errors = errorsIn(
    [...programs, ...comments, wrong],
    (snippet) => pasted.includes(snippet) || snippet === wrong
  )
  expect(errors).toEqual([
    "wrong, line 1: Type 'string' is not assignable to type 'number'.",
    "wrong, line 1: Type annotations can only be used in TypeScript files."
  ])
})

/** What stands as code in the first column of the table under a heading. */
const firstColumn = (heading: string, page = "README.md"): ReadonlyArray<string> => {
  const section = read(page).split(`\n## ${heading}\n`)[1]!.split("\n## ")[0]!
  return [...section.matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1]!)
}

/** The options that a constructor allows, as it says itself when it refuses another. */
const allowedBy = (construct: (unknown: { readonly unknown: 1 }) => unknown): ReadonlyArray<string> => {
  const refused = Effect.try({
    try: () => construct({ unknown: 1 }),
    catch: (error) => error as HedgePolicy.HedgePolicyError
  })
  return Effect.runSync(Effect.flip(refused)).allowed.replace("one of the options ", "").split(", ").sort()
}

it("the README's tables of options name every option, and the defaults of a policy are true", () => {
  const ofPolicies = allowedBy((unknown) =>
    HedgePolicy.make({ schedule: HedgeSchedule.onFailure, ...unknown })
  )
  expect([...firstColumn("Options of a policy")].sort()).toEqual(ofPolicies)
  const ofLearning = allowedBy((unknown) => HedgePolicy.layerAdaptive({ extraLoad: 0.1, ...unknown }))
  expect([...firstColumn("Options of a policy that learns"), ...ofPolicies].sort()).toEqual(ofLearning)
  expect([...firstColumn("Options of HttpHedge")].sort()).toEqual(
    allowedBy((unknown) => HttpHedge.withHedge(unknown as HttpHedge.Options))
  )

  const policy = HedgePolicy.make({ schedule: HedgeSchedule.onFailure })
  expect(policy).toMatchObject({ maxAttempts: 2, gates: [], awaitLosers: false, name: "inline" })
  expect(Duration.toMillis(policy.minTimeLeft)).toBe(0)
  expect(Duration.toMillis(policy.maxPushback)).toBe(1_000)
  expect(Duration.toMillis(policy.loserGrace)).toBe(10_000)
  for (const none of ["deadline", "attemptTimeout", "throttle", "classify", "onDiscard"] as const) {
    expect(policy[none]).toBeUndefined()
  }
})

it("the table of the options of lanes names every option, of all upstreams or of one", () => {
  const ofAll = allowedBy((unknown) => NodeHedgeClient.layer(unknown as NodeHedgeClient.Options))
  const ofOne = allowedBy((unknown) =>
    NodeHedgeClient.layer({
      upstreams: { "https://api.example.com": unknown as NodeHedgeClient.Upstream }
    })
  )
  const named = firstColumn("Options", "packages/platform-node/README.md")
  expect([...named].sort()).toEqual([...new Set([...ofAll, ...ofOne])].sort())
})

it("the README names every example", () => {
  const names = readdirSync(new URL("examples/src/", root))
    .map((name) => name.replace(".ts", ""))
    .filter((name) => name !== "loopback" && name !== "run")
  expect([...firstColumn("A tour of five minutes")].sort()).toEqual(names.sort())
})

describe("a program of a page prints what it says", () => {
  it.each(programs)("$name", async (snippet) => {
    expect(snippet.prints).not.toEqual([])
    expect(await run(snippet)).toEqual(snippet.prints)
  })
})

describe("hedge-lab says what a page quotes of it", () => {
  it.each(quoted)("$name", { timeout: 60_000 }, ({ command, lines }) => {
    expect(command).toMatch(/^npm run -s hedge-lab -- /)
    const words = command.split(" ").slice(5)
    const bin = fileURLToPath(new URL("packages/lab/dist/bin.js", root))
    const printed = execFileSync(process.execPath, [bin, ...words], {
      cwd: fileURLToPath(root),
      encoding: "utf8"
    })
    for (const line of lines) expect(printed).toContain(line)
  })
})

it("links of a page lead to files", () => {
  const broken = pages.flatMap((path) =>
    [...read(path).matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
      .map((match) => new URL(match[1]!, new URL(path, root)))
      .filter((url) => !existsSync(url))
      .map((url) => `${path}: ${url.pathname}`)
  )
  expect(broken).toEqual([])
})

describe("an example of a source that declares nothing can be loaded", () => {
  it.each(comments.filter(({ code }) => !code.includes("declare const")))("$name", async (snippet) => {
    await expect(run(snippet)).resolves.toBeInstanceOf(Array)
  })
})
