import { Readable } from "node:stream"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { describe, expect, it } from "vitest"
import { fromBytes, open } from "../../src/plan/source.js"

const problem = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "",
    (error: Error) => error.message
  )

const read = async (...chunks: ReadonlyArray<Buffer>): Promise<string> => {
  const { chunks: texts } = await fromBytes("a.log", Readable.from(chunks))
  let all = ""
  for await (const text of texts) all += text
  return all
}

describe("a source", () => {
  it("that is missing, a directory or empty is named for it", async () => {
    expect(await problem(open("no/such.log"))).toBe("no/such.log: no such file")
    const directory = fileURLToPath(new URL("data", import.meta.url))
    expect(await problem(open(directory))).toBe(`${directory}: is a directory; give a file`)
    expect(await problem(read())).toBe("a.log: is empty")
    expect(await problem(read(gzipSync("")))).toBe("a.log: is empty")
  })

  it.each([
    ["\u0089PNG\r\n\u001a\n\0\0\0", "a PNG image"],
    ["PK\u0003\u0004\0\0", "a zip archive; unpack it first; of a spreadsheet, save one sheet as CSV"],
    ["PAR1\0\u0015", "a Parquet file; export the column as CSV"],
    ["\u007fELF\u0002\0", "an executable"],
    ["%PDF-1.7\n", "a PDF document"],
    [
      "\u007f\u00ff\u0081\u0003\u0001\u0001\u0006Result\u0001\u00ff\u0082\0\u0001\u000c\u0001\u0006Attack\u0001\u000c\0\u0001\u0003Seq",
      "vegeta's own binary; `vegeta encode --to csv` makes a record of it"
    ],
    ["\u0001\u0002\u0003\0\u0004", "binary data, of no kind that is known here"]
  ])("that is binary is named for what it is: %j", async (bytes, name) => {
    expect(await problem(read(Buffer.from(bytes, "latin1")))).toBe(`a.log: is ${name}`)
    expect(await problem(read(gzipSync(Buffer.from(bytes, "latin1"))))).toBe(`a.log: is ${name}`)
  })

  it("may be gzip of several members, cut anywhere, and characters too", async () => {
    const bytes = Buffer.concat([gzipSync("naïve\n"), gzipSync("£µ\n")])
    expect(await read(...Array.from(bytes, (byte) => Buffer.from([byte])))).toBe("naïve\n£µ\n")
    const text = Buffer.from("naïve £µ")
    expect(await read(...Array.from(text, (byte) => Buffer.from([byte])))).toBe("naïve £µ")
  })

  it("whose gzip ends early is said to", async () => {
    const bytes = gzipSync(Buffer.from(Array.from({ length: 50_000 }, (_, i) => `${i ** 3}\n`).join("")))
    expect(await problem(read(bytes.subarray(0, bytes.length - 200)))).toBe(
      "a.log: its gzip stream ends too early"
    )
  })
})
