/** Which of a record's columns is likely to be the latency, by their names. */
import { wordsOf } from "./unit.js"

/** What a name is worth; the higher, the more likely. Matched against its words, joined by underscores. */
const worth: ReadonlyArray<readonly [RegExp, number]> = [
  [/latenc/, 10],
  [
    /duration|elapsed|(response|request|req|resp|service)_?times?(_|$)|time_?taken|(^|_)(taken|took|rtt|runtime)(_|$)|round_trip/,
    9
  ],
  [/(^|_)(ttfb|ttft|wait|waiting)(_|$)|time_to_first/, 6],
  [/(^|_)times?(_[a-z]+)?$/, 4],
  [/(^|_)(ns|us|ms|msec|micros|millis|milliseconds|secs|seconds)$/, 3],
  [/(^|_)(total|overall|e2e|end_to_end|request|req|response)(_|$)/, 2],
  [
    /(^|_)(upstream|backend|connect|connecting|dns|tls|ssl|blocked|send|sending|receive|receiving|queue|queued|inter|per|lock|first)(_|$)/,
    -4
  ],
  [/(^|_)(avg|average|mean|min|max|std|stdev|stddev|med|median|p_?\d+|percentile|sum)(_|$)/, -30]
]

/** Names of what is no time that something took. */
const never =
  /(^|_)(time_?stamp|ts|date|datetime|epoch|created|updated|expires|timeout|deadline|interval|uptime|timezone|throughput|rate|bytes|size|counts?|num|number|tokens?|id|port|status|code)(_|$)|(^|_)(start|end|begin|finish|stop)(ed)?(_time|_at)?(_[a-z]+)?$/

/** Above 0 if a column of this name may be the latency. */
const likelihood = (name: string): number => {
  const words = wordsOf(name).join("_")
  if (never.test(words.replace("end_to_end", "total"))) return 0
  return worth.reduce((sum, [pattern, points]) => (pattern.test(words) ? sum + points : sum), 0)
}

/** The likeliest first; of equals, the first of the record. */
export const likeliest = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names
    .map((name) => [name, likelihood(name)] as const)
    .filter(([, points]) => points > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([name]) => name)

/** What columns are called that say something about a call; the first that a record has is taken. */
export const known = {
  status: [
    "status",
    "status_code",
    "statusCode",
    "response_code",
    "responseCode",
    "http.response.status_code",
    "http.status_code",
    "http_status",
    "response.status",
    "response.status_code",
    "res.statusCode",
    "OriginStatus",
    "DownstreamStatus",
    "code"
  ],
  at: [
    "timestamp",
    "timeStamp",
    "@timestamp",
    "start_time",
    "startTime",
    "startedDateTime",
    "started_at",
    "time",
    "ts",
    "date",
    "datetime",
    "start"
  ],
  route: [
    "route",
    "http.route",
    "path",
    "uri",
    "url",
    "request.uri",
    "req.url",
    "endpoint",
    "operation",
    "label",
    "name"
  ],
  method: ["method", "request.method", "req.method", "http.request.method", "http.method"],
  error: ["error_code", "errorCode", "error"]
} as const
