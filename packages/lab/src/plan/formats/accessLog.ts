/** Access logs in the common or combined format with the time that a request took after it: nginx and Apache. */
import type { Ask, Column, Format, Head, Row } from "../format.js"
import { mostLinesAre, NoLatency } from "../format.js"
import { instantOf } from "../instant.js"
import { statusOf } from "../outcome.js"
import { routeOf } from "../route.js"
import type { Unit } from "../unit.js"
import * as Columns from "./columns.js"

/** What comes before the address, the time, the request, status and size; the rest. */
const pattern = /^([^\s[]*)(?:\s[^[]*)?\[([^\]]+)\] "((?:[^"\\]|\\.)*)" (\d{3}|-) (\d+|-)(.*)$/

const word = /"((?:[^"\\]|\\.)*)"|\S+/g

interface Entry {
  readonly host: string
  readonly time: string
  readonly request: string
  readonly status: string
  readonly bytes: string
  /** What stands after these, without quotes: referer and agent first, in the combined format. */
  readonly rest: ReadonlyArray<string>
}

const read = (line: string): Entry | undefined => {
  const [, host = "", time = "", request = "", status = "", bytes = "", rest = ""] = pattern.exec(line) ?? []
  if (time === "") return undefined
  return {
    host,
    time,
    request,
    status,
    bytes,
    rest: Array.from(rest.replace(list, ",").matchAll(word), ([all, quoted]) => quoted ?? all)
  }
}

/** Several upstreams have several times, `0.010, 0.020` or `0.010 : 0.020`: one word, and no `$request_time`. */
const list = /(?<=[\d-])(?: :|,) (?=[\d-])/g

/** What stands after referer and agent, which may be anything: a number, too. */
const afterAgent = (rest: ReadonlyArray<string>): ReadonlyArray<string> =>
  rest.length > 2 && !rest.slice(0, 2).every((word) => seconds.test(word)) ? rest.slice(2) : rest

/** Names under which nginx logs `$request_time`. */
const names = ["request_time", "rt", "reqtime", "req_time", "request_duration", "duration"]

/** `name=value` and `name:value`, as people write them into a log format. */
const namedIn = (rest: ReadonlyArray<string>, name: string): string | undefined =>
  rest
    .find((word) => word.startsWith(`${name}=`) || word.startsWith(`${name}:`))
    ?.slice(name.length + 1)
    .replace(/^"|"$/g, "")

const seconds = /^\d+\.\d+$/
const micros = /^\*{0,2}(?:\d+\/)?(\d+)\*{0,2}$/

/** `$request_time` is the first number with a decimal point; `%D` the first whole one, also in `%T/%D`. */
const nginxTime = (rest: ReadonlyArray<string>): string | undefined =>
  names.map((name) => namedIn(rest, name)).find((value) => value !== undefined) ??
  afterAgent(rest).find((word) => seconds.test(word))

const apacheTime = (rest: ReadonlyArray<string>): string | undefined => {
  const found = afterAgent(rest)
    .map((word) => micros.exec(word)?.[1])
    .find((value) => value !== undefined)
  return found ?? namedIn(rest, "D") ?? namedIn(rest, "time")
}

const rowOf = (entry: Entry, latencyOf: (rest: ReadonlyArray<string>) => string | undefined): Row => {
  const [method = "", address = ""] = entry.request.split(" ")
  const field = (name: string): string | undefined => {
    switch (name) {
      case "latency":
        return latencyOf(entry.rest)
      case "method":
        return method
      case "path":
      case "uri":
        return address
      case "referer":
        return entry.rest[0]
      case "agent":
        return entry.rest[1]
      case "host":
      case "time":
      case "request":
      case "status":
      case "bytes":
        return entry[name]
      default:
        return namedIn(entry.rest, name)
    }
  }
  return {
    field,
    status: statusOf(entry.status),
    at: instantOf(entry.time),
    route: () => `${method} ${routeOf(address)}`
  }
}

const format = (
  name: string,
  title: string,
  unit: Unit,
  latencyOf: (rest: ReadonlyArray<string>) => string | undefined
): Format => {
  const isOne = (line: string) => {
    const entry = read(line)
    return entry !== undefined && latencyOf(entry.rest) !== undefined
  }
  return {
    name,
    recognise: (head) => mostLinesAre(head, isOne),
    open: (head, ask, sink) => {
      if (ask.column === undefined && !head.lines.some(isOne)) throw new NoLatency(withoutLatency)
      return {
        title,
        split: "lines",
        column: columnOf(ask, unit),
        take: (line, number) => {
          const entry = read(line)
          if (entry === undefined) sink.skip(`no line of an ${title}`, line, number)
          else sink.row(rowOf(entry, latencyOf), line, number)
        }
      }
    }
  }
}

/** Apache may log microseconds (`%D`), milliseconds (`%{ms}T`) and seconds (`%T`), and all look the same. */
const columnOf = (ask: Ask, unit: Unit): Column => ({
  ...Columns.named(ask, ask.column ?? "latency", unit),
  isAssumed: unit === "us" && ask.unit === undefined
})

const withoutLatency =
  "this access log does not say how long requests took: add $request_time (nginx) or %D (Apache) to its format"

const nginxLog = format("nginx", "nginx access log", "s", nginxTime)
export const apache: Format = format("apache", "Apache access log", "us", apacheTime)

/** An access log that holds no latency is still one, and its error says what it lacks. */
export const isAccessLog = (head: Head): boolean => mostLinesAre(head, (line) => read(line) !== undefined)

const ltsvTimes = [
  "reqtime",
  "request_time",
  "reqtime_microsec",
  "apptime",
  "taken_sec",
  "taken",
  "response_time",
  "duration"
]

const labels = (line: string): ReadonlyMap<string, string> =>
  new Map(
    line.split("\t").flatMap((part) => {
      const colon = part.indexOf(":")
      return colon === -1 ? [] : [[part.slice(0, colon), part.slice(colon + 1)] as const]
    })
  )

const isLtsv = (head: Head): boolean =>
  mostLinesAre(
    head,
    (line) => line.includes("\t") && line.split("\t").every((part) => /^[\w.-]+:/.test(part))
  )

/** Labelled tab-separated values, most often written by nginx. */
export const ltsv: Format = {
  name: "ltsv",
  recognise: isLtsv,
  open: (head, ask, sink) => {
    const present = new Set(head.lines.flatMap((line) => Array.from(labels(line).keys())))
    if (ask.column !== undefined) Columns.refuseUnless(present.has(ask.column), ask, Array.from(present))
    const [name, ...others] =
      ask.column === undefined ? ltsvTimes.filter((each) => present.has(each)) : [ask.column]
    if (name === undefined) throw new NoLatency(withoutLatency)
    return {
      title: "access log, LTSV",
      split: "lines",
      column: Columns.named(ask, name, "s", others),
      take: (line, number) => {
        const values = labels(line)
        if (values.size === 0) return sink.skip("no labelled values", line, number)
        const address = values.get("uri") ?? values.get("path")
        const [method = "", requested = ""] = (values.get("req") ?? "").split(" ")
        sink.row(
          {
            field: (label) => values.get(label),
            status: statusOf(values.get("status")),
            at: instantOf((values.get("time") ?? "").replace(/^\[|\]$/g, "")),
            route: () => `${values.get("method") ?? method} ${routeOf(address ?? requested)}`
          },
          line,
          number
        )
      }
    }
  }
}

/** In the combined format or in LTSV. */
export const nginx: Format = {
  name: "nginx",
  recognise: nginxLog.recognise,
  open: (head, ask, sink) => (isLtsv(head) ? ltsv : nginxLog).open(head, ask, sink)
}
