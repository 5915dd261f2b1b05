/** What `vegeta encode` makes of an attack: CSV without a header, or a JSON object a line. */
import { type Format, type Head, mostLinesAre, NoLatency, type Row } from "../format.js"
import { instantOf } from "../instant.js"
import * as Json from "../json.js"
import { statusOf } from "../outcome.js"
import { routeOf } from "../route.js"
import * as Columns from "./columns.js"
import * as Table from "./table.js"

const names = [
  "timestamp",
  "code",
  "latency",
  "bytes_out",
  "bytes_in",
  "error",
  "body",
  "attack",
  "seq",
  "method",
  "url",
  "headers"
]

const table: Table.Table = { delimiter: ",", names, hasHeader: false }

const isCsv = (head: Head): boolean => mostLinesAre(head, (line) => /^\d{19},\d{1,3},\d+,\d+,\d+,/.test(line))

const isJson = (head: Head): boolean =>
  mostLinesAre(head, (line) => {
    const value = line.startsWith("{") ? Json.parse(line) : undefined
    return Json.isObject(value) && "attack" in value && "latency" in value && "code" in value
  })

const isReport = ({ text }: Head): boolean =>
  /^Latencies\s+\[/m.test(text) || /"latencies"\s*:\s*\{[^}]*"99th"/.test(text)

const rowOf = (field: (name: string) => unknown): Row => ({
  field: (name) => field(name === "status" ? "code" : name),
  status: statusOf(field("code")),
  at: instantOf(field("timestamp")),
  route: () => {
    const url = field("url")
    return typeof url === "string" && url !== "" ? `${field("method")} ${routeOf(url)}` : undefined
  }
})

export const vegeta: Format = {
  name: "vegeta",
  recognise: (head) => isCsv(head) || isJson(head) || isReport(head),
  open: (head, ask, sink) => {
    if (isReport(head))
      throw new NoLatency("a report of vegeta holds no latencies; `vegeta encode --to csv` writes them")
    if (ask.column !== undefined) Columns.refuseUnless(Table.has(table, ask.column), ask, names)
    const column = Columns.named(ask, names[Number(ask.column) - 1] ?? ask.column ?? "latency", "ns")
    if (isCsv(head)) {
      return { title: "vegeta results, CSV", split: "lines", column, ...Table.rows(table, sink, rowOf) }
    }
    if (!isJson(head)) throw new NoLatency("is no result of vegeta (vegeta encode --to csv, or --to json)")
    return {
      title: "vegeta results, JSON",
      split: "lines",
      column,
      take: (line, number) => {
        const value = Json.parse(line)
        if (Json.isObject(value))
          sink.row(
            rowOf((name) => Json.at(value, name)),
            line,
            number
          )
        else sink.skip("not JSON", line, number)
      }
    }
  }
}
