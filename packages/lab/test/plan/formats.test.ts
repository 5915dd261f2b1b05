import { gzipSync } from "node:zlib"
import { describe, expect, it } from "vitest"
import { type Asked, latenciesOf, percentilesOf, readText, refusal } from "./support.js"

const lines = (...all: ReadonlyArray<string>) => `${all.join("\n")}\n`

/** What a text is recognised as, and the latencies in it, in milliseconds. */
const expectLatencies = async (
  text: string | Buffer,
  format: string,
  expected: ReadonlyArray<number>,
  asked: Asked = {}
) => {
  const measured = await readText(text, asked)
  expect(measured.format).toBe(format)
  const found = latenciesOf(measured)
  expect(found).toHaveLength(expected.length)
  found.forEach((ms, i) => {
    expect(ms).toBeCloseTo(expected[i]!, 9)
  })
  return measured
}

describe("text", () => {
  it("may be a number on each line, in milliseconds if nothing says otherwise", async () => {
    const measured = await expectLatencies("12\n3.5\n", "text", [12, 3.5])
    expect(measured.column).toMatchObject({ unit: "ms", isAssumed: true })
  })

  it("may have the unit with the number, as Go and others print it", async () => {
    const text = lines("12.5ms", "1.5s", "350µs", "1m2.5s", "2 s")
    const measured = await expectLatencies(text, "text", [12.5, 1_500, 0.35, 62_500, 2_000])
    expect(measured.column.isAssumed).toBe(false)
  })

  it("counts lines that are no latency, and keeps the first", async () => {
    const measured = await expectLatencies("# from the lab\n1\n-2\nNaN\n3\n4\n5\n", "text", [1, 3, 4, 5])
    expect(measured.skipped).toEqual([{ what: "no line", count: 3, line: 1, text: "# from the lab" }])
  })

  it("may have a column of words, by its number, or the only one with numbers", async () => {
    const text = lines("a 1 x 10", "b 1 y 20", "c 1 z 30")
    await expectLatencies(text, "text", [10, 20, 30])
    await expectLatencies(text, "text", [1_000, 1_000, 1_000], { column: "2", unit: "s" })
  })

  it("may have names with the values, of which the likeliest is taken", async () => {
    const text = lines(
      'level=info path="/a b" status=200 size=512 duration=12ms',
      "level=info path=/b status=503 size=512 duration=900ms",
      "level=info path=/b status=404 size=512 duration=7ms"
    )
    const measured = await expectLatencies(text, "text", [12, 7])
    expect(measured.leftOut).toEqual({ "5xx": 1 })
  })

  it("may be what ping prints", async () => {
    const text = lines(
      "64 bytes from 10.0.0.1: icmp_seq=1 ttl=57 time=12.3 ms",
      "64 bytes from 10.0.0.1: icmp_seq=2 ttl=57 time=9.8 ms"
    )
    await expectLatencies(text, "text", [12.3, 9.8])
  })

  it("does not guess between two columns", async () => {
    expect(await refusal(lines("1 10 a", "2 20 b"))).toBe(
      "--column: must be given, nothing says which is the latency: 1 (1 at first), 2 (10 at first)"
    )
  })
})

describe("CSV and TSV", () => {
  it("take the column that its header names as a latency, and its unit", async () => {
    const text = lines(
      "ts,path,status,latency_us,bytes",
      "3,/a,200,1500,7",
      "1,/b,502,9,7",
      "2,/b,200,2500,7"
    )
    const measured = await expectLatencies(text, "csv", [2.5, 1.5], { where: ["bytes=7"] })
    expect(measured.leftOut).toEqual({ "5xx": 1 })
  })

  it("take a column by its header or its number", async () => {
    const text = lines("a;b", "1;2", "3;4")
    await expectLatencies(text, "csv", [2, 4], { column: "b" })
    await expectLatencies(text, "csv", [1, 3], { column: "1" })
    expect(await refusal(text, { column: "c" })).toBe("--column c: must be one of a, b")
  })

  it("have quotes around what has a delimiter or an end of line in it", async () => {
    const text = lines("message,took_ms", '"one, ""two""\nand three",5', "four,6")
    await expectLatencies(text, "csv", [5, 6])
  })

  it("may have tabs, and no header", async () => {
    await expectLatencies(lines("a\t1", "b\t2", "c\t3"), "tsv", [1, 2, 3])
  })

  it("may be one column with a name", async () => {
    await expectLatencies(lines("duration_seconds", "0.5", "0.25"), "csv", [500, 250])
  })

  it("are read by the order of their times", async () => {
    const text = lines("timestamp,latency_ms", "2024-01-01T00:00:02Z,2", "2024-01-01T00:00:01Z,1")
    await expectLatencies(text, "csv", [1, 2])
  })
})

describe("JSON", () => {
  it("may be lines, of which a broken one costs no other", async () => {
    const text = lines('{"latency_ms":1}', '{"latency_ms":', '{"latency_ms":"2"}', '{"latency_ms":null}')
    const measured = await expectLatencies(text, "json", [1, 2])
    expect(measured.skipped.map(({ count, what }) => [what, count])).toEqual([
      ["not JSON", 1],
      ["no latency_ms", 1]
    ])
  })

  it("may be an array over several lines, and the latency at a path", async () => {
    const text = JSON.stringify([{ http: { duration_ms: 3 } }, { http: { duration_ms: 4 } }], undefined, 2)
    await expectLatencies(text, "json", [3, 4])
    await expectLatencies(text, "json", [3_000, 4_000], { column: "http.duration_ms", unit: "s" })
  })

  it("may be an array of numbers", async () => {
    await expectLatencies("[1, 2.5,3]", "json", [1, 2.5, 3])
  })

  it("may hold the calls in an array inside", async () => {
    const text = JSON.stringify({
      run: "a",
      results: [
        { ms: 1, ok: true },
        { ms: 2, ok: false }
      ]
    })
    await expectLatencies(text, "json", [1, 2], { column: "results.ms" })
    await expectLatencies(text, "json", [2], { column: "results[].ms", where: ["ok=false", "run=a"] })
    await expectLatencies('{"latencies":[5,6]}', "json", [5, 6])
  })

  it("leaves out an error code without a status, and keeps any other 4xx", async () => {
    const text = lines(
      '{"latency_ms":0,"error_code":1050}',
      '{"latency_ms":3,"error_code":null}',
      '{"latency_ms":4,"error_code":"E1","status":404}',
      '{"latency_ms":5,"status":429}',
      '{"latency_ms":6,"status":0}',
      '{"latency_ms":7,"status":408}',
      '{"latency_ms":8,"status":499}',
      '{"latency_ms":9,"status":101}'
    )
    const measured = await expectLatencies(text, "json", [3, 4, 5])
    expect(measured.leftOut).toEqual({
      "an error code without a status": 1,
      "no answer (status 0)": 1,
      "101": 1,
      "408": 1,
      "499": 1
    })
  })
})

describe("nginx", () => {
  const combined = (status: number, rest: string) =>
    `10.0.0.1 - - [10/Oct/2023:13:55:36 +0000] "GET /users/42?x=1 HTTP/1.1" ${status} 1234 "-" "curl/8.0 (a \\"b\\")" ${rest}`

  it("has $request_time after the combined format", async () => {
    const text = lines(
      combined(200, "0.123 0.120 ."),
      combined(499, "30.000"),
      combined(404, "0.004"),
      "garbage"
    )
    const measured = await expectLatencies(text, "nginx", [123, 4])
    expect(measured.leftOut).toEqual({ "499": 1 })
    expect(measured.skipped).toMatchObject([{ count: 1, line: 4, text: "garbage" }])
    expect(measured.byKey.map(({ key }) => key)).toEqual(["GET /users/:id"])
  })

  it("may have it under a name", async () => {
    await expectLatencies(lines(combined(200, 'uct="0.001" rt=0.250 urt="0.249"')), "nginx", [250])
    await expectLatencies(lines(combined(200, 'rt="0.250" urt=0.249')), "nginx", [249], { column: "urt" })
  })

  it("may have it in LTSV, forced or recognised", async () => {
    const text = lines("time:[10/Oct/2023:13:55:36 +0000]\tstatus:200\trequest_time:0.5\turi:/a")
    await expectLatencies(text, "ltsv", [500])
    await expectLatencies(text, "nginx", [500], { format: "nginx" })
  })

  it("without it says what is missing", async () => {
    expect(await refusal(lines(combined(200, "")))).toMatch(
      /^a\.log: this access log does not say how long requests took: add \$request_time \(nginx\) or %D \(Apache\)/
    )
  })
})

describe("Apache", () => {
  const common = (rest: string) => `h - u [10/Oct/2023:13:55:36 -0700] "POST /a HTTP/1.1" 200 12 ${rest}`

  it("has %D in microseconds, or %T/%D", async () => {
    await expectLatencies(lines(common('"-" "curl" 1500'), common('"-" "curl" 2500')), "apache", [1.5, 2.5])
    await expectLatencies(lines(common('"-" "curl" 1/1500000')), "apache", [1_500])
    await expectLatencies(lines(common("2500")), "apache", [2.5])
  })

  it("has %T in seconds with --unit s", async () => {
    await expectLatencies(lines(common('"-" "curl" 3')), "apache", [3_000], { unit: "s" })
  })
})

describe("Envoy", () => {
  it("has the duration in its default format", async () => {
    const text = lines(
      '[2016-04-15T20:17:00.310Z] "POST /api/v1/locations HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "nsq2http" "cc21d9b0" "locations" "tcp://10.0.2.1:80"',
      '[2016-04-15T20:17:01.310Z] "GET /a HTTP/1.1" 0 DC 0 0 9000 - "-" "-" "-" "-" "-"'
    )
    const measured = await expectLatencies(text, "envoy", [226])
    expect(measured.leftOut).toEqual({ "no answer (status 0)": 1 })
  })

  it("has it in Istio's, and the upstream's with --column", async () => {
    const text = lines(
      '[2024-01-15T10:30:45.123Z] "GET /api/users HTTP/1.1" 200 - via_upstream - "-" 0 1234 15 14 "-" "curl/7.68.0" "abc" "my-service:8080" "10.0.0.5:8080" inbound|8080|| 10.0.0.10:45678 10.0.0.5:8080 - default'
    )
    await expectLatencies(text, "envoy", [15])
    await expectLatencies(text, "envoy", [14], { column: "upstream_service_time" })
  })

  it("has it in JSON", async () => {
    const text = lines(
      '{"start_time":"2024-01-15T10:30:45.123Z","response_code":200,"duration":17,"path":"/a"}'
    )
    await expectLatencies(text, "envoy", [17])
  })
})

describe("k6", () => {
  const header =
    "metric_name,timestamp,metric_value,check,error,error_code,expected_response,group,method,name,proto,scenario,service,status,subproto,tls_version,url,extra_tags,metadata"

  it("writes CSV, one metric a line", async () => {
    const text = lines(
      header,
      "http_reqs,1641298536,1.000000,,,,true,,POST,/post,HTTP/1.1,default,,200,,tls1.2,/post,,",
      'http_req_duration,1641298536,114.365000,,,,true,,POST,"/a,b",HTTP/1.1,default,,200,,tls1.2,/post,,',
      "http_req_duration,1641298537,50,,,1400,false,,POST,/post,HTTP/1.1,default,,400,,tls1.2,/post,,",
      "http_req_duration,1641298538,0,,dial,1212,false,,GET,/x,,default,,0,,,/x,,"
    )
    const measured = await expectLatencies(text, "k6", [114.365, 50])
    expect(measured.leftOut).toEqual({ "no answer (status 0)": 1 })
    expect(measured.skipped).toMatchObject([{ what: "another metric", count: 1, line: 2 }])
  })

  it("says how to get latencies, of a summary", async () => {
    expect(await refusal('{"metrics":{"http_req_duration":{"avg":3.1,"p(95)":5}}}')).toMatch(
      /^a\.log: a summary of k6 holds no latencies; --out json=FILE writes them; its first line is /
    )
  })

  it("has other metrics with --column, of gRPC with a status of its own", async () => {
    const text = lines(
      '{"metric":"grpc_req_duration","type":"Point","data":{"time":"2025-10-15T00:33:08Z","value":7,"tags":{"status":"0"}}}'
    )
    await expectLatencies(text, "k6", [7], { column: "grpc_req_duration" })
    expect(await refusal(text, { column: "x" })).toBe("--column x: must be one of grpc_req_duration")
  })
})

it("vegeta writes JSON lines, in nanoseconds", async () => {
  const line = (code: number, latency: number, error: string) =>
    `{"attack":"","seq":0,"code":${code},"timestamp":"2018-10-30T20:57:${latency}Z","latency":${latency}000000,"error":"${error}","method":"GET","url":"http://h/a"}`
  const measured = await expectLatencies(
    lines(line(200, 12, ""), line(404, 13, "404 Not Found"), line(0, 14, "timeout"), line(503, 15, "503")),
    "vegeta",
    [12, 13]
  )
  expect(measured.leftOut).toEqual({ "no answer (status 0)": 1, "5xx": 1 })
})

describe("JMeter", () => {
  it("marks a 404 as failed, which is an answer all the same", async () => {
    const text = lines(
      "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes",
      '1,10,a,404,Not Found,t 1-1,text,false,"Test failed: code, and text",5',
      "2,20,a,200,OK,t 1-1,text,false,an assertion,5",
      "3,30,a,Non HTTP response code: java.net.SocketTimeoutException,Read timed out,t 1-1,,false,,5",
      "4,40,a,200,OK,t 1-1,text,true,,5"
    )
    const measured = await expectLatencies(text, "jmeter", [10, 40])
    expect(measured.leftOut).toEqual({ "success=false": 2 })
  })

  it("may write no header", async () => {
    const text = lines(
      "1532376558110,1623,AccountDetails,200,OK,Group 1-15,text,true,,8735,112,112,1622,0,767"
    )
    await expectLatencies(text, "jmeter", [1_623])
  })

  it("may write XML, with samples inside of samples", async () => {
    const text = lines(
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<testResults version="1.2">',
      '<httpSample t="30" lt="9" ts="2" s="true" lb="a" rc="200" rm="OK" tn="g 1-1">',
      '  <httpSample t="10" lt="5" ts="2" s="true" lb="a-0" rc="302" rm="Found" tn="g 1-1"/>',
      "</httpSample>",
      '<httpSample t="50" lt="9" ts="3" s="false" lb="b" rc="500" rm="E" tn="g 1-1"/>',
      '<sample t="20" lt="9" ts="1" s="true" lb="c" rc="" rm="" tn="g 1-1"/>',
      "</testResults>"
    )
    const measured = await expectLatencies(text, "jmeter", [20, 30])
    expect(measured.leftOut).toEqual({ "5xx": 1 })
    await expectLatencies(text, "jmeter", [9, 9], { column: "Latency" })
  })
})

describe("Locust", () => {
  it("prints JSON, with counts by milliseconds", async () => {
    const text = JSON.stringify(
      [{ name: "/", method: "GET", num_requests: 4, num_failures: 0, response_times: { "5": 3, "100": 1 } }],
      undefined,
      4
    )
    expect(percentilesOf(await readText(text))).toEqual([4, 5, 100, 100])
  })

  it("writes CSV, with percentiles, and the sum as a row", async () => {
    const text = lines(
      "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,Max Response Time,Average Content Size,Requests/s,Failures/s,50%,66%,75%,80%,90%,95%,98%,99%,99.9%,99.99%,100%",
      "GET,/a,1000,0,40,50,10,300,1200,30.0,0.0,40,50,60,70,90,110,180,220,290,300,300",
      ",Aggregated,1000,0,40,50,10,300,1200,30.0,0.0,40,50,60,70,90,110,180,220,290,300,300"
    )
    const measured = await readText(text)
    expect(measured.format).toBe("locust")
    const [n, ...found] = percentilesOf(measured)
    expect([n, ...found.map(Math.round)]).toEqual([1_000, 40, 110, 220])
  })
})

describe("HdrHistogram and wrk2", () => {
  const spectrum = lines(
    "       Value   Percentile   TotalCount 1/(1-Percentile)",
    "",
    "       0.677     0.000000            1         1.00",
    "       9.671     0.500000         5000         2.00",
    "      20.111     0.950000         9500        20.00",
    "      30.222     0.990625         9910       106.67",
    "      44.224     1.000000        10000          inf",
    "#[Mean    =        9.747, StdDeviation   =        5.024]"
  )

  it(".hgrm has cumulative counts at values", async () => {
    const measured = await readText(spectrum)
    expect(measured.format).toBe("hgrm")
    expect(percentilesOf(measured)).toEqual([10_000, 9.671, 20.111, 30.222])
    expect(measured.column.isAssumed).toBe(true)
  })

  it("wrk2 prints the same, in milliseconds", async () => {
    const text = `Running 30s test @ http://127.0.0.1:80/index.html\n  Detailed Percentile spectrum:\n${spectrum}----\n  10000 requests in 30.00s, 19.81MB read\n`
    const measured = await readText(text)
    expect(measured.format).toBe("wrk2")
    expect(percentilesOf(measured)).toEqual([10_000, 9.671, 20.111, 30.222])
  })

  it("wrk prints a few percentiles, and the greatest latency", async () => {
    const text = (spread: string) =>
      lines(
        "Running 30s test @ http://127.0.0.1:8080/index.html",
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev",
        spread,
        "  Latency Distribution",
        "     50%  635.91us",
        "     75%    1.50ms",
        "     99%    3.00ms",
        "  10001 requests in 30.10s, 1.60GB read"
      )
    const measured = await readText(text("    Latency   635.91us    0.89ms  12.92ms   93.69%"))
    expect(percentilesOf(measured)).toEqual([
      10_001,
      expect.closeTo(0.6359, 3),
      expect.any(Number),
      expect.closeTo(3, 2)
    ])
    expect(measured.all.distribution.max).toBe(12.92)
    // without it, what is beyond the last percentile is not known
    const { distribution } = (await readText(text(""))).all
    expect([distribution.quantile(0.999), distribution.beyond, distribution.max]).toEqual([Infinity, 100, 3])
  })
})

describe("Prometheus", () => {
  it("answers a query with buckets, by which labels are told apart", async () => {
    const bucket = (le: string, count: string) => ({
      metric: { le, path: "/a" },
      value: [1_435_781_451.781, count]
    })
    const text = JSON.stringify({
      status: "success",
      data: {
        resultType: "vector",
        result: [bucket("0.1", "50"), bucket("0.2", "100"), bucket("+Inf", "100")]
      }
    })
    const measured = await readText(text, { where: ["path=/a"] })
    expect(measured.format).toBe("prometheus")
    expect(percentilesOf(measured)).toEqual([100, 100, expect.closeTo(190, 9), expect.closeTo(198, 9)])
  })

  it("answers with a range, of which the increase counts, over a reset", async () => {
    const bucket = (le: string, ...counts: ReadonlyArray<number>) => ({
      metric: { __name__: "rpc_ms_bucket", le },
      values: counts.map((count, i) => [i, String(count)])
    })
    const text = JSON.stringify({
      status: "success",
      data: { result: [bucket("10", 100, 110, 5), bucket("+Inf", 100, 120, 10)] }
    })
    const { distribution } = (await readText(text)).all
    expect([distribution.n, distribution.beyond, distribution.max]).toEqual([30, 15, 10])
  })

  it("without a histogram says so", async () => {
    expect(await refusal('# TYPE a summary\na{quantile="0.99"} 3\na_count 5\n')).toMatch(
      /^a\.log: it holds no histogram buckets/
    )
  })
})

describe("traces", () => {
  const span = (kind: string, duration: number, tags = {}) => ({
    traceId: "5982fe77008310cc80f1da5e10147519",
    id: "bd7a977555f6b982",
    name: "get /",
    kind,
    timestamp: 1_458_702_548_467_000 + duration,
    duration,
    localEndpoint: { serviceName: "frontend" },
    tags
  })

  it("of Zipkin are read by their client spans, in microseconds", async () => {
    const text = JSON.stringify([
      [span("SERVER", 9_000), span("CLIENT", 4_000)],
      [span("CLIENT", 5_000, { "http.status_code": "503" }), span("CLIENT", 6_000, { error: "timeout" })]
    ])
    const measured = await expectLatencies(text, "zipkin", [4])
    expect(measured.leftOut).toEqual({ "5xx": 1, "an error code without a status": 1 })
    expect(measured.otherSeries).toEqual(["SERVER"])
    await expectLatencies(text, "zipkin", [9], { where: ["kind=SERVER"] })
  })

  it("of OTLP have times that do not fit a double", async () => {
    const text = lines(
      JSON.stringify({
        resourceSpans: [
          {
            resource: { attributes: [{ key: "service.name", value: { stringValue: "web" } }] },
            scopeSpans: [
              {
                spans: [
                  {
                    name: "GET /a",
                    kind: 3,
                    startTimeUnixNano: "1689969302000000001",
                    endTimeUnixNano: "1689969302001500001",
                    attributes: [{ key: "http.response.status_code", value: { intValue: "200" } }],
                    status: { code: 1 }
                  },
                  {
                    name: "GET /a",
                    kind: "SPAN_KIND_CLIENT",
                    startTimeUnixNano: "1689969303000000000",
                    endTimeUnixNano: "1689969304000000000",
                    status: { code: 2 }
                  }
                ]
              }
            ]
          }
        ]
      })
    )
    const measured = await expectLatencies(text, "otlp", [1.5], { where: ["service.name=web"] })
    expect(measured.byKey.map(({ key }) => key)).toEqual(["web GET /a"])
    expect(measured.leftOut).toEqual({ "an error code without a status": 1 })
  })
})

describe("any of them", () => {
  it("may be gzipped", async () => {
    await expectLatencies(gzipSync("12\n13\n"), "text", [12, 13])
  })

  it("may be UTF-16, or have a mark at the beginning", async () => {
    await expectLatencies(Buffer.from("\ufefflatency_ms\n12\n13\n", "utf16le"), "csv", [12, 13])
    await expectLatencies("\ufefflatency_ms\n12\n13\n", "csv", [12, 13])
  })

  it("may be forced", async () => {
    await expectLatencies(lines("1,2", "3,4"), "csv", [2, 4], { format: "csv", column: "2" })
    expect(await refusal("1\n2\n", { format: "har" })).toBe(
      'a.log: is no HAR: its JSON is cut off or broken; its first line is "1"'
    )
  })
})
