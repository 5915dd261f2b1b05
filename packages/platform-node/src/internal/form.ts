import { randomUUID } from "node:crypto"
import { Readable } from "node:stream"
import type { ReadableStream } from "node:stream/web"

/** A form as `multipart/form-data` (RFC 7578), and how long it is. */
export interface EncodedForm {
  readonly contentType: string
  readonly length: number
  readonly body: Readable
}

/** As the HTML standard escapes names, section 4.10.21.8. */
const escaped = (name: string): string => name.replace(/\r\n|\r|\n/g, "%0D%0A").replaceAll('"', "%22")

const newline = Buffer.from("\r\n")

const partsOf = (form: FormData, boundary: string): Array<Uint8Array | Blob> => {
  const parts: Array<Uint8Array | Blob> = []
  for (const [name, value] of form) {
    const disposition = `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(name)}"`
    if (typeof value === "string") {
      parts.push(Buffer.from(`${disposition}\r\n\r\n${value.replace(/\r\n|\r|\n/g, "\r\n")}\r\n`))
    } else {
      const type = value.type === "" ? "application/octet-stream" : value.type
      const head = `${disposition}; filename="${escaped(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`
      parts.push(Buffer.from(head), value, newline)
    }
  }
  parts.push(Buffer.from(`--${boundary}--\r\n`))
  return parts
}

async function* bytesOf(parts: ReadonlyArray<Uint8Array | Blob>): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    if (part instanceof Uint8Array) yield part
    else yield* part.stream() as ReadableStream<Uint8Array>
  }
}

/** Files are read as they are sent. */
export const encodeForm = (form: FormData): EncodedForm => {
  const boundary = `effect-hedge-${randomUUID()}`
  const parts = partsOf(form, boundary)
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    length: parts.reduce((sum, part) => sum + (part instanceof Uint8Array ? part.length : part.size), 0),
    body: Readable.from(bytesOf(parts), { objectMode: false })
  }
}
