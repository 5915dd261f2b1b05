import { describe, expect, it } from "vitest"
import type { Measured } from "../../src/plan/read.js"
import { type Asked, readData } from "./support.js"

/** How many, and P50, P95, P99 in this unit, with as many decimals as are given. */
const expectPercentiles = (
  measured: Measured,
  n: number,
  unitMs: number,
  ...expected: ReadonlyArray<string>
) => {
  const { distribution } = measured.all
  expect(distribution.n).toBe(n)
  const found = [0.5, 0.95, 0.99].map((p, i) => {
    const decimals = (expected[i]!.split(".")[1] ?? "").length
    return (distribution.quantile(p) / unitMs).toFixed(decimals)
  })
  expect(found).toEqual(expected)
}

describe("nginx-ltsv.log", () => {
  it("is recognised, and leaves out what was not answered", async () => {
    const measured = await readData("nginx-ltsv.log")
    expect(measured.format).toBe("ltsv")
    expectPercentiles(measured, 799, 1_000, "0.041", "8.993", "13.286")
    expect(measured.leftOut).toEqual({ "101": 20, "408": 1, "499": 13, "5xx": 2 })
  })

  it("has every call with --all", async () => {
    expectPercentiles(await readData("nginx-ltsv.log", { all: true }), 835, 1_000, "0.044", "9.561", "19.368")
  })
})

describe("k6-points.ndjson", () => {
  it("is recognised, and its other metrics are counted as no latency", async () => {
    const measured = await readData("k6-points.ndjson")
    expect(measured.format).toBe("k6")
    expectPercentiles(measured, 771, 1, "8.453", "20.611", "110.790")
    expect(measured.skipped).toMatchObject([{ what: "another metric", count: 158, line: 1 }])
  })

  it("answers 400 to some calls as it should, and they count", async () => {
    const measured = await readData("k6-points.ndjson")
    expect(measured.leftOut).toEqual({})
    expect(measured.statuses.get(400)).toBe(154)
  })

  it("has one request with --where name=submit_vote", async () => {
    const measured = await readData("k6-points.ndjson", { where: ["name=submit_vote"] })
    expectPercentiles(measured, 308, 1, "9.735", "21.838", "127.791")
  })
})

describe("vegeta.csv", () => {
  it.each<Asked>([{}, { format: "csv", column: "3", unit: "ns" }])("is read with %o", async (asked) => {
    expectPercentiles(await readData("vegeta.csv", asked), 2_500, 1, "1.135", "203.634", "1262.013")
  })

  it("as any CSV has two columns that might be latencies, and neither its epochs nor its statuses", async () => {
    await expect(readData("vegeta.csv", { format: "csv" })).rejects.toThrow(
      "--column: must be given, nothing says which is the latency: 3 (182577959 at first), 9 (68 at first)"
    )
  })
})

describe("jmeter.jtl", () => {
  it("is recognised, and leaves out failures", async () => {
    const measured = await readData("jmeter.jtl")
    expect(measured.format).toBe("jmeter")
    expectPercentiles(measured, 536, 1, "537", "2691", "3201")
    expect(measured.leftOut).toEqual({ "5xx": 61, "success=false": 2 })
    expect(measured.column).toMatchObject({ name: "elapsed", others: ["Latency", "Connect"] })
  })

  it("has every call with --all, under 18 labels", async () => {
    const measured = await readData("jmeter.jtl", { all: true })
    expectPercentiles(measured, 599, 1, "490", "2475", "3201")
    expect(measured.byKey).toHaveLength(18)
  })
})

describe("locust-workers.ldjson", () => {
  it.each<[ReadonlyArray<string>, number, string, string, string]>([
    [[], 9_962, "22", "36", "85"],
    [["method=GET", "name=/"], 5_564, "25", "38", "56"],
    [["method=GET", "name=/about/"], 4_308, "2", "7", "12"]
  ])("with --where %j", async (where, n, ...expected) => {
    const measured = await readData("locust-workers.ldjson", { where })
    expect(measured.format).toBe("locust")
    expectPercentiles(measured, n, 1, ...expected)
  })
})

describe("chrome.har", () => {
  it("is recognised, and says what came from a cache", async () => {
    const measured = await readData("chrome.har")
    expect(measured.format).toBe("har")
    expectPercentiles(measured, 120, 1, "3.134", "791.705", "1006.152")
    expect(measured.notes).toEqual([expect.stringMatching(/^cache: 47 of 120 answers/)])
  })

  it("has the time to the first byte with --column timings.wait", async () => {
    const measured = await readData("chrome.har", { column: "timings.wait" })
    // rank 119 of 120 is 790.8659999993691 in the file
    expectPercentiles(measured, 120, 1, "2.201", "461.954", "790.866")
  })
})

describe("k8s-apiserver.prom", () => {
  it("is recognised, and the requests' histogram is chosen of three", async () => {
    const measured = await readData("k8s-apiserver.prom")
    expect(measured.series).toBe("apiserver_request_duration_seconds")
    expectPercentiles(measured, 1_131, 1_000, "0.0027", "0.018", "0.095")
    expect(measured.byKey).toHaveLength(37)
    expect(measured.all.distribution.beyond).toBe(1)
  })

  it("has no long-lived calls with --where verb!=WATCH --where verb!=CONNECT", async () => {
    const measured = await readData("k8s-apiserver.prom", { where: ["verb!=WATCH", "verb!=CONNECT"] })
    expectPercentiles(measured, 1_106, 1_000, "0.0027", "0.0084", "0.041")
    expect(measured.all.distribution.beyond).toBe(0)
  })

  it("has another histogram with --column", async () => {
    const measured = await readData("k8s-apiserver.prom", { column: "etcd_request_duration_seconds" })
    expect(measured.all.distribution.n).toBe(278)
  })
})

describe("llm-replicate_70b.json", () => {
  it("is read by the likeliest of its columns, and names the others", async () => {
    const measured = await readData("llm-replicate_70b.json")
    expect(measured.column).toMatchObject({ name: "end_to_end_latency_s", unit: "s", others: ["ttft_s"] })
    expectPercentiles(measured, 145, 1_000, "12.371", "35.042", "77.618")
  })

  it("has the time to the first token with --column ttft_s", async () => {
    const measured = await readData("llm-replicate_70b.json", { column: "ttft_s" })
    expectPercentiles(measured, 145, 1_000, "1.188", "24.334", "66.299")
  })
})
