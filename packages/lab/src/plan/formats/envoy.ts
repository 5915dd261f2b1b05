/** Envoy's and Istio's access logs, as text or as JSON. */
import { type Format, type Head, mostLinesAre, NoLatency, type Row } from "../format.js"
import { instantOf } from "../instant.js"
import * as Json from "../json.js"
import { statusOf } from "../outcome.js"
import { routeOf } from "../route.js"
import * as Columns from "./columns.js"
import { rowOf as jsonRow } from "./json.js"

const pattern = /^\[([^\]]+)\] "(\S+) (\S+) ([^"]*)" (\d{1,3}|-) (\S+) (.*)$/

const word = /"((?:[^"\\]|\\.)*)"|\S+/g

/**
 * The latency is the last of the first three numbers in a row, bytes received, bytes sent, duration: Istio writes more
 * between the flags and these than Envoy does.
 */
const timesOf = (rest: ReadonlyArray<string>): number => {
  const isCount = (i: number) => /^\d+$/.test(rest[i] ?? "")
  return rest.findIndex((_, i) => isCount(i) && isCount(i + 1) && isCount(i + 2)) + 2
}

const read = (line: string): Row | undefined => {
  const [, time, method = "", path = "", protocol, status, flags, rest = ""] = pattern.exec(line) ?? []
  if (time === undefined) return undefined
  const words = Array.from(rest.matchAll(word), ([all, quoted]) => quoted ?? all)
  const duration = timesOf(words)
  if (duration < 2) return undefined
  const fields: Readonly<Record<string, string | undefined>> = {
    start_time: time,
    method,
    path,
    protocol,
    response_code: status,
    status,
    response_flags: flags,
    bytes_received: words[duration - 2],
    bytes_sent: words[duration - 1],
    duration: words[duration],
    upstream_service_time: words[duration + 1],
    x_forwarded_for: words[duration + 2],
    user_agent: words[duration + 3],
    request_id: words[duration + 4],
    authority: words[duration + 5],
    upstream_host: words[duration + 6],
    upstream_cluster: words[duration + 7]
  }
  return {
    field: (name) => fields[name],
    status: statusOf(status),
    at: instantOf(time),
    route: () => `${method} ${routeOf(path)}`
  }
}

const readJson = (line: string): Row | undefined => {
  const entry = Json.parse(line)
  return Json.isObject(entry) && "response_code" in entry && "duration" in entry
    ? jsonRow((name) => Json.at(entry, name), "duration")
    : undefined
}

const isJson = (head: Head): boolean => mostLinesAre(head, (line) => readJson(line) !== undefined)
const isText = (head: Head): boolean => mostLinesAre(head, (line) => read(line) !== undefined)

export const envoy: Format = {
  name: "envoy",
  recognise: (head) => isText(head) || isJson(head),
  open: (head, ask, sink) => {
    const readLine = isJson(head) ? readJson : read
    if (!head.lines.some((line) => readLine(line) !== undefined))
      throw new NoLatency("is no Envoy access log")
    return {
      title: "Envoy access log",
      split: "lines",
      column: Columns.named(ask, ask.column ?? "duration", "ms"),
      take: (line, number) => {
        const row = readLine(line)
        if (row === undefined) sink.skip("no line of an Envoy access log", line, number)
        else sink.row(row, line, number)
      }
    }
  }
}
