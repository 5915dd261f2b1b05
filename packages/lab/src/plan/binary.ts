/** What a file is that is no text, by its first bytes. */

interface Kind {
  readonly name: string
  readonly magic: string
  readonly at?: number
  /** What would make a record of it. */
  readonly hint?: string
}

const unpack = "unpack it first"

const kinds: ReadonlyArray<Kind> = [
  { name: "gzip-compressed twice", magic: "\u001f\u008b", hint: unpack },
  {
    name: "a zip archive",
    magic: "PK\u0003\u0004",
    hint: `${unpack}; of a spreadsheet, save one sheet as CSV`
  },
  { name: "zstd-compressed", magic: "\u0028\u00b5\u002f\u00fd", hint: unpack },
  { name: "bzip2-compressed", magic: "BZh", hint: unpack },
  { name: "xz-compressed", magic: "\u00fd7zXZ\u0000", hint: unpack },
  { name: "lz4-compressed", magic: "\u0004\u0022\u004d\u0018", hint: unpack },
  { name: "a tar archive", magic: "ustar", at: 257, hint: unpack },
  { name: "a 7-Zip archive", magic: "7z\u00bc\u00af\u0027\u001c", hint: unpack },
  { name: "a PNG image", magic: "\u0089PNG" },
  { name: "a JPEG image", magic: "\u00ff\u00d8\u00ff" },
  { name: "a GIF image", magic: "GIF8" },
  { name: "a PDF document", magic: "%PDF-" },
  { name: "an SQLite database", magic: "SQLite format 3\u0000", hint: "export the column as CSV" },
  { name: "a Parquet file", magic: "PAR1", hint: "export the column as CSV" },
  { name: "an Arrow file", magic: "ARROW1", hint: "export the column as CSV" },
  { name: "an Avro file", magic: "Obj\u0001", hint: "export the column as CSV" },
  { name: "a Java flight recording", magic: "FLR\u0000" },
  { name: "a packet capture", magic: "\u00d4\u00c3\u00b2\u00a1" },
  { name: "a packet capture", magic: "\u00a1\u00b2\u00c3\u00d4" },
  { name: "a packet capture", magic: "\u000a\u000d\u000d\u000a" },
  { name: "an executable", magic: "\u007fELF" },
  { name: "a WebAssembly module", magic: "\u0000asm" },
  { name: "an executable", magic: "MZ" }
]

/** Beyond this share of control characters, text is no text. */
const mostControls = 0.1

/** The name of what these first bytes begin, with a hint; undefined for text. */
export const nameOf = (head: Buffer): string | undefined => {
  const text = head.toString("latin1")
  const controls = countControls(head)
  if (!head.includes(0) && controls <= head.length * mostControls) {
    return text.startsWith("%PDF-") ? "a PDF document" : undefined
  }
  if (/Result[\s\S]{0,200}Attack[\s\S]{0,60}Seq/.test(text)) {
    return "vegeta's own binary; `vegeta encode --to csv` makes a record of it"
  }
  if (head[0] === 0x0a && /service\.name|telemetry\.sdk/.test(text)) {
    return "OTLP as protobuf; let the collector write JSON"
  }
  const kind = kinds.find(({ at = 0, magic }) => text.startsWith(magic, at))
  if (kind === undefined) return "binary data, of no kind that is known here"
  return kind.hint === undefined ? kind.name : `${kind.name}; ${kind.hint}`
}

/** Control characters that no text has; tab, line feed, form feed, carriage return and escape are text. */
const countControls = (head: Buffer): number => {
  let count = 0
  for (const byte of head) {
    if (byte < 32 && byte !== 9 && byte !== 10 && byte !== 12 && byte !== 13 && byte !== 27) count++
  }
  return count
}
