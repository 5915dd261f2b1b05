import { describe, expect, it } from "vitest"
import type { Settings } from "../../src/plan/options.js"
import * as Report from "../../src/plan/report.js"
import * as Json from "../../src/plan/reportJson.js"
import * as Table from "../../src/plan/reportTable.js"
import { sampler } from "../../src/tail/latency.js"
import { type Asked, ask, readData, readText } from "./support.js"

const settings = (asked: Asked, goals: Partial<Settings["goals"]> = {}): Settings => ({
  ask: ask(asked),
  goals: { objective: "p99", extraLoads: [0.05, 0.1], fanOuts: [], ...goals }
})

const ofData = async (name: string, asked: Asked = {}) =>
  Report.make(await readData(name, asked), settings(asked))
const ofText = async (text: string, asked: Asked = {}) =>
  Report.make(await readText(text, asked), settings(asked))

const lines = (n: number, line: (i: number) => unknown) =>
  Array.from({ length: n }, (_, i) => `${line(i)}\n`).join("")

/** The warnings by what they are about. */
const about = ({ whole: { warnings } }: Report.Report, what: string) =>
  warnings.filter((warning) => warning.startsWith(`${what}: `)).join("\n")

describe("each record's traps are met by a warning", () => {
  it("nginx-ltsv.log: WebSockets, routes that differ, one burst, a clock of a millisecond", async () => {
    const report = await ofData("nginx-ltsv.log")
    expect(about(report, "left out")).toContain("36 calls without an answer (101 20, 499 13, 5xx 2, 408 1)")
    expect(about(report, "routes")).toMatch(/^routes: 45 kinds of call .* 1 ms .* to 6,121 ms/)
    expect(about(report, "burst")).toContain("rank correlation 0.55")
    expect(about(report, "clock")).toContain("a multiple of 1 ms (2.44 % of the median)")
  })

  it("k6-points.ndjson: other metrics, and 400s that are expected", async () => {
    const report = await ofData("k6-points.ndjson")
    expect(about(report, "skipped")).toContain(
      "158 lines without a latency (another metric), the first is line 1"
    )
    expect(about(report, "status")).toContain("154 of 771 answers are a 4xx (400 154)")
  })

  it("vegeta.csv: a tail of one burst, and every answer a 404", async () => {
    const report = await ofData("vegeta.csv")
    expect(about(report, "burst")).toMatch(
      /rank correlation 0\.81.* 80 % of the slowest 5 % lie within 5\.\d+ %/
    )
    expect(about(report, "burst")).toContain("265 independent calls")
    expect(about(report, "status")).toContain("every answer is a 4xx (404 2,500)")
    expect(report.whole.verdict.words).toMatch(/^Not worth it on this evidence: .* Measure pairs/)
  })

  it("jmeter.jtl: columns that are something else, failures, labels, dependence", async () => {
    const report = await ofData("jmeter.jtl")
    expect(about(report, "columns")).toContain("Latency and Connect")
    expect(about(report, "left out")).toContain("5xx 61, success=false 2")
    expect(about(report, "routes")).toContain("16 kinds of call")
    expect(about(await ofData("jmeter.jtl", { all: true }), "burst")).toContain("rank correlation 0.55")
  })

  it("locust-workers.ldjson: counts that are rounded, and failures among them", async () => {
    const report = await ofData("locust-workers.ldjson")
    expect(about(report, "rounding")).toContain("rounded to two digits")
    expect(about(report, "failures")).toContain("1183 calls failed")
    expect(about(report, "routes")).toContain("2 ms (GET /about/) to 25 ms (GET /)")
  })

  it("chrome.har: cache hits, and too few calls", async () => {
    const report = await ofData("chrome.har")
    expect(about(report, "cache")).toContain("47 of 120")
    expect(about(report, "samples")).toMatch(
      /^samples: 120 latencies are too few \(worth 57 independent ones\) for P95, P99 and P99\.9/
    )
  })

  it("k8s-apiserver.prom: buckets, three histograms, many labels, calls beyond the last bucket", async () => {
    const report = await ofData("k8s-apiserver.prom")
    expect(about(report, "buckets")).toContain("37 sets of labels")
    expect(about(report, "histograms")).toContain(
      "etcd_request_duration_seconds, workqueue_queue_duration_seconds"
    )
    expect(about(report, "beyond")).toContain("1 call took longer than the last bucket, 60,000 ms")
    expect(about(report, "routes")).toContain("37 kinds of call")
  })

  it("llm-replicate_70b.json: a long tail that may be the request's own, other columns", async () => {
    const report = await ofData("llm-replicate_70b.json", { column: "ttft_s" })
    expect(about(report, "tail")).toContain("P99 is 56 × P50")
    expect(about(await ofData("llm-replicate_70b.json"), "columns")).toContain("ttft_s")
  })
})

describe("the verdict", () => {
  const w1 = sampler(
    {
      _tag: "Uniform",
      fast: { min: 10, max: 50 },
      slow: { min: 500, max: 1_000 },
      slowShare: 0.08
    },
    1
  )
  const slowAtTimes = lines(20_000, w1)

  it("is that it is worth it, at the least extra load that does most of what can be done", async () => {
    const { whole } = await ofText(slowAtTimes)
    expect(whole.verdict.words).toMatch(
      /^Worth it: 10 % extra load should take P99 from 9\d\d(\.\d)? ms to 9\d\.\d+ ms/
    )
    expect(whole.policy?.fixed).toContain('HedgeSchedule.fixed("49.')
    expect(whole.policy?.adaptive).toContain("layerAdaptive({ extraLoad: 0.1 })")
  })

  it("is that a short tail leaves nothing to cut", async () => {
    const draw = sampler({ _tag: "LogNormal", mean: 20, sd: 7, slowShare: 0, slowFactor: 1 }, 1)
    const { whole } = await ofText(lines(20_000, draw))
    expect(whole.verdict.words).toMatch(/^Not worth it: .* it is 2\.\d × P50/)
  })

  it("is that latencies which are all the same have no tail", async () => {
    const { whole } = await ofText(lines(5_000, () => 30))
    expect(whole.verdict.words).toMatch(/^Not worth it: no hedge within these budgets/)
    expect(whole.policy).toBeNull()
    expect(whole.outlook.rows.map(({ delaysMs }) => delaysMs)).toEqual([[], []])
  })

  it("is that a timer is too coarse for microseconds", async () => {
    const { whole } = await ofText(slowAtTimes, { unit: "us" })
    expect(whole.verdict.words).toContain("a timer that counts milliseconds")
  })

  it("is that it cannot be told from few latencies", async () => {
    const { whole } = await ofText(lines(20, w1))
    expect(whole.verdict.words).toBe(
      "Cannot be told: 20 latencies are too few to say what a hedge would do for P99."
    )
    expect(whole.policy).toBeNull()
  })

  it("says that routes are mixed", async () => {
    const { whole } = await ofText(
      `path,latency_ms\n${lines(20_000, (i) => `/${i % 2 === 0 ? "a" : "b"},${i % 2 === 0 ? w1() : 10 * w1()}`)}`
    )
    expect(whole.verdict.words).toContain("Kinds of call are mixed, though: plan each by itself, by --key.")
  })
})

describe("by key", () => {
  it("there is a plan for each, those with most calls first", async () => {
    const asked = { key: "label" }
    const report = await ofData("jmeter.jtl", asked)
    expect(report.keys.slice(0, 2).map(({ key, outlook }) => [key, outlook.n])).toEqual([
      ["PendingTransactionsHistory", 127],
      ["PostedTransactionHistory", 109]
    ])
    expect(about(report, "routes")).toBe("")
    expect(Table.render(report)).toContain("── label PendingTransactionsHistory: 127 latencies")
    expect(Json.render(report).keys).toHaveLength(16)
  })
})

describe("pairs", () => {
  it("are used, and what independence would have promised is said", async () => {
    const draw = sampler({ _tag: "LogNormal", mean: 20, sd: 3, slowShare: 0, slowFactor: 1 }, 1)
    const text = `first_ms,second_ms\n${lines(3_000, (i) => {
      const outage = i % 20 === 0 ? 500 + i / 100 : 0
      return `${draw() + outage},${draw() + outage}`
    })}`
    const report = await ofText(text, { column: "first_ms", pair: "second_ms" })
    expect(about(report, "pairs")).toMatch(
      /independence, which would promise P99 \d\d(\.\d+)? ms .* the pairs say 5\d\d/
    )
    expect(report.whole.verdict.words).toMatch(/^Not worth it/)
  })
})

describe("reports", () => {
  it("in JSON have the shape that programs rely on, and nulls for what is not known", async () => {
    const report = JSON.parse(JSON.stringify(Json.render(await ofData("llm-replicate_70b.json"))))
    expect(Object.keys(report)).toEqual([
      "rows",
      "unhedged",
      "oracle",
      "verdict",
      "policy",
      "warnings",
      "skippedLines",
      "skipped",
      "leftOut",
      "source"
    ])
    expect(report.rows[0]).toMatchObject({
      extraLoad: 0.05,
      delayMs: 35_100,
      probability: 1,
      attempts: 2,
      fanOut: 1
    })
    expect(report.rows[0].ci.p99).toEqual([expect.any(Number), expect.any(Number)])
    expect(report.rows[0].p999).toBeNull()
    expect(report.unhedged).toMatchObject({ n: 145, p50: 12_370.869038, p99: 77_617.772315 })
    expect(report.unhedged.ci.p99[1]).toBeNull()
    expect(report.oracle).toEqual([
      { extraLoad: 0.05, p99: expect.any(Number), fanOut: 1 },
      { extraLoad: 0.1, p99: expect.any(Number), fanOut: 1 }
    ])
    expect(report.source).toMatchObject({ format: "json", column: "end_to_end_latency_s", unit: "s" })
  })

  it("count the lines that are no latency, and show the first", async () => {
    const report = Json.render(await ofText(`1\nx\n${lines(50, (i) => i)}oops\n`))
    expect(report.skippedLines).toBe(2)
    expect(report.skipped).toEqual([{ what: "no line", count: 2, line: 2, text: "x" }])
  })

  it("for people begin with what was read, and end with a policy", async () => {
    const text = Table.render(await ofData("k6-points.ndjson", { where: ["name=submit_vote"] }))
    expect(text).toMatch(/k6 points, JSON, http_req_duration in ms\n308 latencies; 463 kept out by --where\n/)
    expect(text).toMatch(/^none .* 9\.735 ms +21\.84 ms +127\.8 ms/m)
    expect(text).toMatch(/^10 % .* 100 % +2 /m)
    expect(text.trimEnd()).toMatch(/\}\)$/)
  })
})
