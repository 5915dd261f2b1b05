/** JMeter's results (JTL): CSV with or without a header, or XML. */
import { type Format, type Head, NoLatency, type Row, type Sink } from "../format.js"
import { instantOf } from "../instant.js"
import { statusOf } from "../outcome.js"
import type { Take } from "../split.js"
import * as Columns from "./columns.js"
import * as Table from "./table.js"

/** What JMeter writes when it writes no header. */
const defaults = [
  "timeStamp",
  "elapsed",
  "label",
  "responseCode",
  "responseMessage",
  "threadName",
  "dataType",
  "success"
]

const tableOf = (head: Head): Table.Table | undefined => {
  const table = Table.recognise(head)
  if (table?.hasHeader === true) {
    return table.names.includes("timeStamp") && table.names.includes("elapsed") ? table : undefined
  }
  const isDefault = /^\d{13},\d+,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,(true|false)(,|$)/.test(head.lines[0] ?? "")
  return isDefault ? { delimiter: ",", names: defaults, hasHeader: false } : undefined
}

const isXml = (head: Head): boolean => /<testResults\b/.test(head.text)

const rowOf = (field: (name: string) => string | undefined): Row => ({
  field: (name) => field(name === "status" ? "responseCode" : name),
  status: statusOf(field("responseCode")),
  failure: field("success") === "false" ? "success=false" : undefined,
  at: instantOf(field("timeStamp")),
  route: () => field("label")
})

/** What attributes of a sample in XML are called in CSV. */
const attributes: Readonly<Record<string, string>> = {
  timeStamp: "ts",
  elapsed: "t",
  label: "lb",
  responseCode: "rc",
  responseMessage: "rm",
  threadName: "tn",
  success: "s",
  Latency: "lt",
  Connect: "ct"
}

const tag = /<(\/?)(?:httpSample|sample)\b([^>]*)>/g
const attribute = /([\w:]+)="([^"]*)"/g

/** A tag may go on over several lines, and a line may hold several. A sample inside another is a part of it: a redirect, an image. */
const takeXml = (sink: Sink): Take => {
  let unfinished = ""
  let depth = 0
  const sample = (text: string, inside: string, number: number) => {
    const values = new Map(Array.from(inside.matchAll(attribute), ([, name = "", value]) => [name, value]))
    sink.row(
      rowOf((name) => values.get(attributes[name] ?? name)),
      text,
      number
    )
  }
  return (line, number) => {
    const text = unfinished + line
    const from = text.search(/<[^<>]*$/)
    unfinished = from === -1 ? "" : `${text.slice(from)} `
    for (const [whole, closes, inside = ""] of text.matchAll(tag)) {
      if (closes !== "") depth--
      else {
        if (depth === 0) sample(whole, inside, number)
        if (!inside.endsWith("/")) depth++
      }
    }
  }
}

export const jmeter: Format = {
  name: "jmeter",
  recognise: (head) => isXml(head) || tableOf(head) !== undefined,
  open: (head, ask, sink) => {
    if (isXml(head)) {
      const column = Columns.named(ask, ask.column ?? "elapsed", "ms", ["Latency", "Connect"])
      return { title: "JMeter results, XML", split: "lines", column, take: takeXml(sink) }
    }
    const table = tableOf(head)
    if (table === undefined) throw new NoLatency("is no JTL of JMeter")
    if (ask.column !== undefined) Columns.refuseUnless(Table.has(table, ask.column), ask, table.names)
    const others = ["Latency", "Connect"].filter((name) => table.names.includes(name))
    return {
      title: "JMeter results, CSV",
      split: "lines",
      column: Columns.named(ask, ask.column ?? "elapsed", "ms", ask.column === undefined ? others : []),
      ...Table.rows(table, sink, rowOf)
    }
  }
}
