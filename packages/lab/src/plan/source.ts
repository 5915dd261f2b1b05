/** A record as text: from a file or standard input, gzipped or not, in UTF-8 or UTF-16. */
import { createReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import { pipeline, Readable } from "node:stream"
import { StringDecoder } from "node:string_decoder"
import { createGunzip } from "node:zlib"
import * as Binary from "./binary.js"
import { PlanError } from "./planError.js"

/** What standard input is called in messages. */
export const standardInput = "standard input"

/** This much is seen before it is decided what a record is. */
const headBytes = 65_536

export interface Source {
  readonly name: string
  /** The beginning, which `chunks` repeats. */
  readonly head: string
  readonly chunks: AsyncIterable<string>
}

/** Opens a file, or standard input for `-`. Rejects with `PlanError` what is missing, empty, a directory or binary. */
export const open = async (path: string, signal?: AbortSignal): Promise<Source> => {
  if (path === "-") return fromBytes(standardInput, process.stdin)
  try {
    const found = await stat(path)
    if (found.isDirectory()) throw new PlanError({ file: path, problem: "is a directory; give a file" })
  } catch (error) {
    throw explain(path, error)
  }
  return fromBytes(path, createReadStream(path, { highWaterMark: headBytes, signal }))
}

export const fromBytes = async (name: string, bytes: AsyncIterable<Uint8Array>): Promise<Source> => {
  const raw = await peek(name, bytes)
  const isGzip = raw.head[0] === 0x1f && raw.head[1] === 0x8b
  const { chunks, head } = isGzip ? await peek(name, gunzip(raw.chunks)) : raw
  if (head.length === 0) throw new PlanError({ file: name, problem: "is empty" })
  const encoding = encodingOf(head)
  if (encoding === "utf8") {
    const binary = Binary.nameOf(head)
    if (binary !== undefined) throw new PlanError({ file: name, problem: `is ${binary}` })
  }
  return {
    name,
    head: withoutMark(decoderOf(encoding).write(head)),
    chunks: decode(chunks, encoding)
  }
}

async function* gunzip(chunks: AsyncIterable<Buffer>): AsyncIterable<Uint8Array> {
  const unpacked = createGunzip()
  // what goes wrong on either side ends the other, and is thrown here
  pipeline(Readable.from(chunks), unpacked, () => {})
  yield* unpacked
}

/** Reads the head, and gives it out again before the rest. */
const peek = async (
  name: string,
  bytes: AsyncIterable<Uint8Array>
): Promise<{ readonly head: Buffer; readonly chunks: AsyncIterable<Buffer> }> => {
  const iterator = bytes[Symbol.asyncIterator]()
  const next = async () => {
    try {
      return await iterator.next()
    } catch (error) {
      throw explain(name, error)
    }
  }
  const seen: Array<Uint8Array> = []
  let length = 0
  while (length < headBytes) {
    const { done, value } = await next()
    if (done === true) break
    seen.push(value)
    length += value.length
  }
  const head = Buffer.concat(seen)
  const chunks = async function* () {
    yield head
    for (;;) {
      const { done, value } = await next()
      if (done === true) return
      yield Buffer.from(value.buffer, value.byteOffset, value.length)
    }
  }
  return { head, chunks: chunks() }
}

type Encoding = "utf8" | "utf-16le" | "utf-16be"

/** Excel and PowerShell write UTF-16, most often with a mark at the beginning; without one every other byte of plain text is 0. */
const encodingOf = (head: Buffer): Encoding => {
  if (head[0] === 0xff && head[1] === 0xfe) return "utf-16le"
  if (head[0] === 0xfe && head[1] === 0xff) return "utf-16be"
  const zeros = [0, 0]
  const pairs = Math.min(500, Math.floor(head.length / 2))
  for (let i = 0; i < 2 * pairs; i++) if (head[i] === 0) zeros[i % 2]!++
  const [even = 0, odd = 0] = zeros
  if (even + odd < 0.8 * pairs || (even > 0 && odd > 0)) return "utf8"
  return odd > 0 ? "utf-16le" : "utf-16be"
}

/** For UTF-8 the one of Node's streams: it is twice as fast. */
const decoderOf = (encoding: Encoding): Pick<StringDecoder, "write" | "end"> => {
  if (encoding === "utf8") return new StringDecoder(encoding)
  const decoder = new TextDecoder(encoding)
  return { write: (bytes) => decoder.decode(bytes as Buffer, { stream: true }), end: () => decoder.decode() }
}

const withoutMark = (text: string): string => (text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)

async function* decode(chunks: AsyncIterable<Buffer>, encoding: Encoding): AsyncIterable<string> {
  const decoder = decoderOf(encoding)
  let isFirst = true
  for await (const chunk of chunks) {
    const text = decoder.write(chunk)
    yield isFirst ? withoutMark(text) : text
    isFirst = false
  }
  yield decoder.end()
}

const problems: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  ENOTDIR: "no such file",
  EACCES: "may not be read (permission denied)",
  EISDIR: "is a directory; give a file",
  Z_BUF_ERROR: "its gzip stream ends too early",
  Z_DATA_ERROR: "its gzip stream is damaged"
}

const explain = (name: string, error: unknown): unknown => {
  const { code = "", message } = error as NodeJS.ErrnoException
  if (error instanceof PlanError || !(error instanceof Error) || error.name === "AbortError") return error
  return new PlanError({ file: name, problem: problems[code] ?? message })
}
