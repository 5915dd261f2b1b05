/** k6's points, one of many metrics each: `--out json` and `--out csv`. */
import { type Format, type Head, mostLinesAre, NoLatency, type Row } from "../format.js"
import { instantOf } from "../instant.js"
import * as Json from "../json.js"
import { failureOf, statusOf } from "../outcome.js"
import { routeOf } from "../route.js"
import * as Where from "../where.js"
import * as Columns from "./columns.js"
import * as Table from "./table.js"

const isPoint = (value: unknown): boolean =>
  Json.isObject(value) &&
  typeof value.metric === "string" &&
  (value.type === "Point" || value.type === "Metric")

const isJson = (head: Head): boolean =>
  mostLinesAre(head, (line) => line.startsWith("{") && isPoint(Json.parse(line)))

const isCsv = ({ lines }: Head): boolean => /^metric_name,timestamp,metric_value/.test(lines[0] ?? "")

/** What k6 prints in the end, `--summary-export`. */
const isSummary = ({ text }: Head): boolean => /"metrics"\s*:/.test(text) && /"p\(\d+\)"\s*:/.test(text)

const rowOf = (
  metric: string,
  value: unknown,
  time: unknown,
  tag: (name: string) => unknown,
  field: (name: string) => unknown
): Row => ({
  field: (name) => (name === metric ? value : (field(name) ?? tag(name))),
  // of gRPC, 0 is success
  status: metric.startsWith("http_") ? statusOf(tag("status")) : undefined,
  failure: failureOf(tag("error_code")),
  at: instantOf(time),
  route: () => {
    const name = tag("name")
    return typeof name === "string" ? routeOf(name) : undefined
  }
})

/** The metrics that the beginning of a record has points of. */
const metricsOf = ({ lines }: Head): ReadonlyArray<string> => {
  const names = lines.map((line) => Where.textOf(Json.at(Json.parse(line), "metric") ?? line.split(",")[0]))
  return Array.from(new Set(names.filter((name) => name !== "metric_name")))
}

export const k6: Format = {
  name: "k6",
  recognise: (head) => isJson(head) || isCsv(head) || isSummary(head),
  open: (head, ask, sink) => {
    if (isSummary(head))
      throw new NoLatency("a summary of k6 holds no latencies; --out json=FILE writes them")
    const column = Columns.named(ask, ask.column ?? "http_req_duration", "ms")
    const metric = column.name
    let found = 0
    /** Refuses a metric that the record has no point of. */
    const end = () => Columns.refuseUnless(found > 0 || ask.column === undefined, ask, metricsOf(head))
    const table = isCsv(head) ? Table.recognise(head) : undefined
    if (table !== undefined) {
      const { end: endOfRows, take: takeRow } = Table.rows(table, sink, (cells) =>
        rowOf(metric, cells("metric_value"), cells("timestamp"), cells, cells)
      )
      return {
        title: "k6 points, CSV",
        split: "lines",
        column,
        take: (line, number) => {
          const isOne = line.startsWith(`${metric},`)
          if (isOne) found++
          if (isOne || number === 1) takeRow(line, number)
          else sink.skip("another metric", line, number)
        },
        end: () => {
          endOfRows()
          end()
        }
      }
    }
    if (!isJson(head)) throw new NoLatency("is no output of k6 (--out json or --out csv)")
    return {
      title: "k6 points, JSON",
      split: "lines",
      column,
      take: (line, number) => {
        // most lines are of other metrics: reading those costs more than looking
        if (!line.includes(metric)) return sink.skip("another metric", line, number)
        const point = Json.parse(line)
        if (!Json.isObject(point)) return sink.skip("not JSON", line, number)
        if (point.metric !== metric || point.type !== "Point")
          return sink.skip("another metric", line, number)
        found++
        const at = (path: string) => Json.at(point, path)
        const tags = at("data.tags")
        sink.row(
          rowOf(metric, at("data.value"), at("data.time"), (name) => Json.at(tags, name), at),
          line,
          number
        )
      },
      end
    }
  }
}
