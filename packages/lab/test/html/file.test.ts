/** Where `--html` writes, and where it does not. */
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Fiber, Option } from "effect"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { prepare } from "../../src/html/file.js"
import type { Page } from "../../src/html/page.js"

const page: Page = { title: "A page", lead: [], verdict: ["Worth it."], warnings: [], sections: [] }

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "hedge-lab-"))
})
afterEach(async () => {
  vi.restoreAllMocks()
  await rm(folder, { recursive: true, force: true })
})

const writeTo = (file: string) => {
  vi.spyOn(process.stderr, "write").mockReturnValue(true)
  return Effect.runPromise(
    Effect.scoped(Effect.flatMap(prepare(Option.some(file)), (write) => write?.(page) ?? Effect.void))
  )
}

/** What it says before anything runs. */
const refusal = async (file: string): Promise<string> => {
  const exit = await Effect.runPromiseExit(Effect.scoped(prepare(Option.some(file))))
  return Exit.match(exit, {
    onSuccess: () => "",
    onFailure: (cause) => (cause._tag === "Fail" ? cause.error.message : cause._tag)
  })
}

describe("a page's file", () => {
  it("is not made if none is asked for", async () => {
    expect(await Effect.runPromise(Effect.scoped(prepare(Option.none())))).toBeUndefined()
  })

  it("holds the page, and nothing is left beside it", async () => {
    const file = join(folder, "a.html")
    await writeTo(file)
    expect(await readFile(file, "utf8")).toMatch(/^<!doctype html>\n.*<\/html>\n$/s)
    expect(await readdir(folder)).toEqual(["a.html"])
    expect(process.stderr.write).toHaveBeenCalledExactlyOnceWith(`The page is in ${file}\n`)
  })

  it("is refused before the run where it cannot be", async () => {
    await mkdir(join(folder, "d"))
    await writeFile(join(folder, "f"), "")
    const at = (name: string) => join(folder, name)
    const because = (name: string, why: string) =>
      `--html ${name}: must be a file that can be written, but ${why}`
    expect(await refusal(at("no/a.html"))).toBe(because(at("no/a.html"), "there is no such folder"))
    expect(await refusal(at("f/a.html"))).toBe(because(at("f/a.html"), "its folder is a file"))
    expect(await refusal(at("d"))).toBe(because(at("d"), "it is a directory"))
    expect(await refusal(at("new/"))).toBe(because(at("new/"), "it is a directory"))
    expect(await refusal("/dev/null")).toBe(because("/dev/null", "it is no regular file"))
    expect(await refusal("")).toBe(because('""', "this is no name"))
    expect(await refusal(at("x".repeat(300)))).toBe(because(at("x".repeat(300)), "its name is too long"))
    expect(await readdir(folder)).toEqual(["d", "f"])
  })

  it("stays as it was, and alone, if the run fails or is interrupted", async () => {
    const file = join(folder, "a.html")
    await writeFile(file, "before")
    await Effect.runPromiseExit(
      Effect.scoped(Effect.zipRight(prepare(Option.some(file)), Effect.fail("the run")))
    )
    const fiber = Effect.runFork(Effect.scoped(Effect.zipRight(prepare(Option.some(file)), Effect.never)))
    await vi.waitUntil(async () => (await readdir(folder)).length === 2)
    await Effect.runPromise(Fiber.interrupt(fiber))
    expect(await readdir(folder)).toEqual(["a.html"])
    expect(await readFile(file, "utf8")).toBe("before")
  })

  it("keeps its permissions, and a link to it stays a link", async () => {
    await mkdir(join(folder, "to"))
    const file = join(folder, "to", "a.html")
    await writeFile(file, "before")
    await chmod(file, 0o640)
    await symlink(file, join(folder, "link.html"))
    await writeTo(join(folder, "link.html"))
    expect((await stat(file)).mode & 0o777).toBe(0o640)
    expect(await readFile(file, "utf8")).toContain("Worth it.")
    expect(await readdir(folder)).toEqual(["link.html", "to"])
  })
})
