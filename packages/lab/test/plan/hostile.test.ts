/** Records that are broken, odd, or meant to be: never a crash, never a wrong number in silence. */
import { gzipSync } from "node:zlib"
import { describe, expect, it } from "vitest"
import { type Asked, latenciesOf, readText, refusal } from "./support.js"

const lines = (...all: ReadonlyArray<string>) => `${all.join("\n")}\n`

/** The latencies, and what was skipped with how often. */
const read = async (text: string | Buffer, asked: Asked = {}) => {
  const measured = await readText(text, asked)
  return [latenciesOf(measured), measured.skipped.map(({ count, what }) => [what, count])]
}

describe("encodings", () => {
  const swapped = (text: string) => Buffer.from(text, "utf16le").swap16()

  it.each([
    ["UTF-16, little end first", Buffer.from("\ufeff12\n13\n", "utf16le")],
    ["UTF-16, big end first", swapped("\ufeff12\n13\n")],
    ["UTF-16 without a mark", Buffer.from("12\n13\n", "utf16le")],
    ["UTF-16 without a mark, big end first", swapped("12\n13\n")],
    ["UTF-8 with a mark and CRLF", "\ufeff12\r\n13\r\n"],
    ["two gzip members", Buffer.concat([gzipSync("12\n"), gzipSync("13\n")])],
    ["gzip padded with zeros", Buffer.concat([gzipSync("12\n13\n"), Buffer.alloc(512)])]
  ])("may be %s", async (_, bytes) => {
    expect(await read(bytes)).toEqual([[12, 13], []])
  })

  const long = gzipSync(Array.from({ length: 60_000 }, (_, i) => `${(i * 7_919) % 99_991}\n`).join(""))

  it.each([
    [long.subarray(0, long.length / 2), "its gzip stream ends too early"],
    [Buffer.concat([gzipSync("1\n"), Buffer.from("hello")]), "its gzip stream is damaged"],
    [gzipSync(gzipSync("1\n")), "is gzip-compressed twice; unpack it first"],
    [
      Buffer.from("\n\u0089\u0001\n\u001a\n\fservice.name\u0012\n\n\bfrontend\u0000"),
      "is OTLP as protobuf; let the collector write JSON"
    ]
  ])("are refused by name: %#", async (bytes, problem) => {
    expect(await refusal(bytes)).toBe(`a.log: ${problem}`)
  })
})

describe("numbers", () => {
  it("are decimal, finite and not negative", async () => {
    expect(
      await read(
        lines("0x10", "0b11", "1e999", "NaN", "Infinity", "-1", "+2", "1.5e2", ".5", "7.", "8", "9", "10")
      )
    ).toEqual([[2, 150, 0.5, 7, 8, 9, 10], [["no line", 6]]])
  })

  it("that have a comma are not guessed at", async () => {
    expect(await read(lines("1,234", "2,345.5", "999"))).toEqual([
      [999],
      [["line has a comma in its number", 2]]
    ])
    expect(await refusal(lines("path;latency_ms", "/a;12,5", "/b;13,5"))).toContain(
      "holds no latency: latency_ms has a comma in its number; its first line is"
    )
    expect(await refusal(lines("12,5", "13,7"))).toContain(
      "a number that has a comma is to be written with a point"
    )
  })
})

describe("tables", () => {
  it("may have a comment or Excel's delimiter above the header", async () => {
    expect(await read(lines("# of Tuesday", "path,latency_ms", "/a,12"))).toEqual([[12], [["a comment", 1]]])
    expect(await read(lines("sep=;", "path;latency_ms", "/a;12"))).toEqual([[12], [["a comment", 1]]])
  })

  it("may have their header again, and two columns of one name", async () => {
    expect(await read(lines("latency_ms,a", "1,x", "latency_ms,a", "2,x"))).toEqual([
      [1, 2],
      [["no latency_ms", 1]]
    ])
    const twice = await readText(lines("latency_ms,latency_ms", "1,2", "3,4"))
    expect(latenciesOf(twice)).toEqual([1, 3])
    expect(twice.column.others).toEqual(["latency_ms (column 2)"])
  })

  it("lose one line to a quote that nothing closes", async () => {
    const rest = Array.from({ length: 250 }, (_, i) => `/b,${i}`)
    const [latencies, skipped] = await read(lines("path,latency_ms", '/a 5",1', '"/a,12', ...rest))
    expect(latencies).toHaveLength(251)
    expect(skipped).toEqual([["no latency_ms", 1]])
  })
})

describe("JSON", () => {
  const deep = (n: number) => `${"[".repeat(n)}1${"]".repeat(n)}`

  it("that is nested too deeply is skipped, or refused", async () => {
    expect(
      await read(lines('{"latency_ms":1}', `{"latency_ms":${deep(20_000)}}`, '{"latency_ms":2}'))
    ).toEqual([[1, 2], [["nested too deeply", 1]]])
    expect(await refusal(deep(100_000))).toContain("holds no latency; its first line is")
  })

  it("may be an array of texts, but no latency is guessed among rows of numbers", async () => {
    expect(await read('["1ms","2s"]')).toEqual([[1, 2_000], []])
    const rows = "[[1700000000,12],[1700000001,13]]"
    expect(await refusal(rows)).toContain(
      "--column: must be given, nothing says which is the latency: 1 (1700000000"
    )
    expect(await read(rows, { column: "2" })).toEqual([[12, 13], []])
  })

  it("that is cut off is named so", async () => {
    expect(await refusal('{"log":{"entries":[{"time":5},')).toContain("its JSON is cut off or broken")
  })
})

describe("access logs", () => {
  const line = (after: string, agent = "curl/8") =>
    `1.2.3.4 - - [10/Oct/2023:13:55:36 +0000] "GET /a HTTP/1.1" 200 512 "-" "${agent}" ${after}`

  it("have their time after the agent, whatever that looks like", async () => {
    expect(await read(lines(line("0.010", "9.81"), line("0.020", "1.5 2.5")))).toEqual([[10, 20], []])
  })

  it("have no request time among those of several upstreams", async () => {
    expect(await read(lines(line("0.010, 0.020 0.030"), line("0.010 : 0.020 0.040")))).toEqual([[30, 40], []])
  })

  it("of Apache do not say their unit", async () => {
    expect((await readText(lines(line("1500"), line("2500")))).column).toMatchObject({
      unit: "us",
      isAssumed: true
    })
  })
})

describe("results of load tests", () => {
  it("of JMeter in XML may have several samples on a line, and one over several lines", async () => {
    const sample = (t: number) => `<httpSample t="${t}" ts="1" s="true" lb="a" rc="200"/>`
    const text = lines(
      "<testResults>",
      sample(1) + sample(2),
      '<httpSample t="3"',
      ' s="true" rc="200"/>',
      "</testResults>"
    )
    expect(await read(text)).toEqual([[1, 2, 3], []])
  })

  it("of JMeter without a header may end with success", async () => {
    expect(
      await read("1600000000000,12,a,200,OK,t,text,true\n1600000000001,13,a,200,OK,t,text,true,,1\n")
    ).toEqual([[12, 13], []])
  })

  it.each([
    ['{"latencies":{"mean":1,"50th":1,"99th":2},"requests":5}', "a report of vegeta holds no latencies"],
    ["Requests  [total]  1\nLatencies  [min, mean]  1ms, 2ms\n", "a report of vegeta holds no latencies"],
    ["#[Histogram log format version 1.3]\n0.1,1.0,2.4,HISTFAAAAC94\n", "is a log of HdrHistogram"]
  ])("that are summaries are refused: %j", async (text, problem) => {
    expect(await refusal(text)).toContain(problem)
  })

  it("of Locust are counts, and percentiles that rise", async () => {
    const { all } = await readText('{"stats":[{"response_times":{"5":-3,"6":2,"x":1,"7":"a"}}]}')
    expect(all.distribution.n).toBe(2)
    const header = "Type,Name,Request Count,Failure Count,Min Response Time,50%,66%,100%"
    expect(await refusal(lines(header, "GET,/,10,0,1,50,6,9"))).toContain("holds no latency")
  })

  it("in a percentile spectrum rise, and are as many as its last lines say", async () => {
    const spectrum = (...rows: ReadonlyArray<string>) =>
      lines(
        "Value Percentile TotalCount 1/(1-Percentile)",
        ...rows,
        "#[Mean = 2.0]",
        "#[Max = 4.0, Total count = 10]"
      )
    const { all, notes, skipped } = await readText(
      spectrum("4.0 0.0 1 1.00", "2.0 0.5 5 2.00", "5.0 0.9 9 2.00")
    )
    expect(all.distribution.n).toBe(9)
    expect(skipped).toMatchObject([{ what: "a percentile that falls", count: 1 }])
    expect(notes).toEqual([expect.stringContaining("it holds 9 latencies, and its last lines say 10")])
  })
})

describe("Prometheus buckets", () => {
  const bucket = (le: string, count: number | string, family = "rpc_duration_seconds") =>
    `${family}_bucket{path="/a,}\\"",le="${le}"} ${count}`
  const text = (...rows: ReadonlyArray<string>) => readText(lines("# TYPE x histogram", ...rows))
  const about = (notes: ReadonlyArray<string>, what: string) => notes.some((note) => note.startsWith(what))

  it("that are not cumulative are skipped", async () => {
    expect(await refusal(lines(bucket("0.1", 5), bucket("0.5", 3), bucket("+Inf", 1)))).toContain(
      "holds no latency: buckets that are not cumulative"
    )
  })

  it("without +Inf do not tell what lies beyond", async () => {
    const { notes } = await text(bucket("0.1", 5), bucket("1", 8))
    expect(about(notes, "beyond: 1 of 1 histograms have no bucket +Inf")).toBe(true)
  })

  it("are read past exemplars, and the last of a repeated scrape counts", async () => {
    const { all } = await text(
      bucket("0.1", 3),
      bucket("+Inf", 4),
      `${bucket("0.1", 5)} # {trace_id="x"} 0.05 1.5`,
      bucket("+Inf", 10)
    )
    expect([all.distribution.n, all.distribution.quantile(0.5)]).toEqual([10, 100])
  })

  it("of sizes are no latencies, and those that name no unit are said to be taken as seconds", async () => {
    expect(
      await refusal(lines(bucket("100", 5, "body_size_bytes"), bucket("+Inf", 6, "body_size_bytes")))
    ).toContain("its histograms are of no time: body_size_bytes")
    expect(
      about(
        (await text(bucket("1", 5, "rpc"), bucket("+Inf", 6, "rpc"))).notes,
        "unit: nothing gives the unit of rpc"
      )
    ).toBe(true)
  })

  const answer = (...result: ReadonlyArray<unknown>) =>
    JSON.stringify({ status: "success", data: { result } })

  it("of a query may lack counts", async () => {
    const measured = await readText(
      answer(
        { metric: { le: "0.1" }, values: [null, 1] },
        { metric: { le: "0.2" }, value: [1, "5"] },
        { metric: { le: "+Inf" }, value: [1, "5"] }
      )
    )
    expect(measured.all.distribution.n).toBe(5)
    expect(measured.skipped).toMatchObject([{ what: "no count of a bucket", count: 1 }])
  })

  it("that are native histograms are named so", async () => {
    const histogram = [1, { count: "10", buckets: [[0, "0.1", "0.2", "5"]] }]
    expect(await refusal(answer({ metric: {}, histogram }))).toContain("native histograms are not read")
  })
})

it("Zipkin's first version has its kind and its status in annotations", async () => {
  const span = (status: string) => ({
    traceId: "a",
    name: "get",
    duration: 1_500,
    annotations: [{ value: "cs" }, { value: "cr" }],
    binaryAnnotations: [{ key: "http.status_code", value: status }]
  })
  const measured = await readText(JSON.stringify([span("200"), span("500")]))
  expect([measured.series, latenciesOf(measured), measured.leftOut]).toEqual(["CLIENT", [1.5], { "5xx": 1 }])
})

/** Each would take minutes if an expression went back over what it has seen. */
it.each([
  ["a".repeat(300_000)],
  ["[".repeat(300_000)],
  ['{"a":'.repeat(60_000)],
  ['"\\'.repeat(100_000)],
  [`${" ".repeat(300_000)}x`],
  [`# TYPE a b\na_bucket{${'a="'.repeat(60_000)}`],
  [`1.2.3.4 - - [x] "${"a\\".repeat(100_000)}`]
])("a line that is endless is no latency: %#", { timeout: 20_000 }, async (line) => {
  expect(await refusal(`x\n${line}\n`)).toContain('its first line is "x"')
})
