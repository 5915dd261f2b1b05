/** Holds the guide, the dashboard and the alerts to the names that are emitted. */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Everything, everything } from "./support/everything.js"

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8")

const guide = read("../../packages/docs/guides/observability.md")

/** The cells of the table under a heading of the guide, without its head. */
const table = (heading: string): ReadonlyArray<ReadonlyArray<string>> => {
  const section = guide.split(`\n## ${heading}\n`)[1]!.split("\n## ")[0]!
  const lines = section.split("\n").filter((line) => line.startsWith("| "))
  const cells = (line: string) => line.split("|").slice(1, -1)
  return lines.slice(1).map((line) => cells(line).map((cell) => cell.trim()))
}

/** What stands as code in a cell, in an order of its own. */
const inCode = (cell: string): ReadonlyArray<string> =>
  [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]!).sort()

const unique = (values: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(values)].sort()

/** Each series that Prometheus would fetch: the name of its metric there, and its labels. */
const seriesOf = ({ text }: Everything) =>
  [...text.matchAll(/^(hedge_\w+?)(?:_bucket|_sum|_count)?\{(.*)\} /gm)].map(([, name, labels]) => ({
    name: name!,
    labels: Object.fromEntries(
      [...labels!.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key!, value!])
    )
  }))

/** What the SDK adds on its own, to every span that was interrupted. */
const bySdk = ["span.label", "status.interrupted"]

/** What was emitted, as the guide's table puts it: name, kind, unit, attributes, name in Prometheus. */
const rowsOf = (
  told: Everything
): ReadonlyArray<readonly [string, string, string, ReadonlyArray<string>, string]> => {
  const series = seriesOf(told)
  const ours = told.collected.metrics().filter(({ name }) => name.startsWith("hedge."))
  const metrics = ours.map(({ name, type, unit }) => {
    const there = name.replaceAll(".", "_") + (type === "counter" ? "_total" : "")
    const labels = series.filter((one) => one.name === there).flatMap((one) => Object.keys(one.labels))
    const attributes = unique(labels.filter((label) => label !== "le" && label !== "unit"))
    return [name, type, unit, attributes, there] as const
  })
  const spans = unique(told.spans.map(({ name }) => name)).map((name) => {
    const keys = told.spans
      .filter((span) => span.name === name)
      .flatMap((span) => Object.keys(span.attributes))
    return [name, "span", "", unique(keys.filter((key) => !bySdk.includes(key))), ""] as const
  })
  const all = told.spans.flatMap((span) => span.events).filter((event) => event.name !== "exception")
  const events = unique(all.map(({ name }) => name)).map((name) => {
    const keys = all.filter((event) => event.name === name).flatMap((event) => Object.keys(event.attributes))
    return [name, "event of `hedge.call`", "", unique(keys), ""] as const
  })
  return [...metrics, ...spans, ...events]
}

describe("the guide", () => {
  it.scoped("lists every metric, span and event, with its unit, attributes and name in Prometheus", () =>
    Effect.gen(function* () {
      const listed = table("Names").map(
        ([name, kind, unit, attributes, there]) =>
          [inCode(name!)[0], kind, inCode(unit!).join(), inCode(attributes!), inCode(there!).join()] as const
      )
      assert.sameDeepMembers(listed as Array<unknown>, rowsOf(yield* everything) as Array<unknown>)
    })
  )

  it.scoped("lists every value of an attribute that has few", () =>
    Effect.gen(function* () {
      const told = yield* everything
      const ofSeries = (name: string, label: string) =>
        seriesOf(told)
          .filter((one) => one.name === name && one.labels[label] !== undefined)
          .map(({ labels }) => labels[label]!)
      const ofSpans = (key: string) =>
        told.spans.flatMap(({ attributes }) =>
          attributes[key] === undefined ? [] : [String(attributes[key])]
        )
      const emitted: Record<string, ReadonlyArray<string>> = {
        "`outcome` of `hedge.calls`": ofSeries("hedge_calls_total", "outcome"),
        "`outcome` of `hedge.attempts`": ofSeries("hedge_attempts_total", "outcome"),
        "`role`": [...ofSeries("hedge_wins_total", "role"), ...ofSeries("hedge_attempts_total", "role")],
        "`reason`": ofSeries("hedge_suppressed_total", "reason"),
        "`hedge.launch`": ofSpans("hedge.launch"),
        "`hedge.interrupted`": ofSpans("hedge.interrupted")
      }
      assert.deepStrictEqual(
        Object.fromEntries(table("Values").map(([attribute, values]) => [attribute, inCode(values!)])),
        Object.fromEntries(Object.entries(emitted).map(([attribute, values]) => [attribute, unique(values)]))
      )
    })
  )

  it.scoped("says how many series a policy has", () =>
    Effect.gen(function* () {
      const said = /about (\d+) for\s+a policy/.exec(guide)![1]
      assert.closeTo(seriesOf(yield* everything).length, Number(said), 5)
    })
  )
})

describe("the dashboard and the alerts", () => {
  /** The metrics and the labels that stand in an expression. */
  const namesIn = (text: string) => ({
    metrics: unique([...text.matchAll(/\bhedge_\w+/g)].map(([name]) => name)),
    labels: unique([...text.matchAll(/[{,]\s*(\w+)=/g)].map((match) => match[1]!))
  })

  it.scoped.each(["dashboards/grafana.json", "dashboards/alerts.yml", "dashboards/alerts.test.yml"])(
    "%s speaks of metrics and labels that there are",
    (path) =>
      Effect.gen(function* () {
        const told = yield* everything
        const series = seriesOf(told)
        const text = read(path).replaceAll('\\"', '"')
        const { labels, metrics } = namesIn(text)
        const names = [...told.text.matchAll(/^(hedge_\w+)/gm)].map(([name]) => name)
        assert.isNotEmpty(metrics)
        for (const name of metrics) assert.include(names, name)
        // Prometheus itself adds the job
        const known = [...series.flatMap((one) => Object.keys(one.labels)), "job"]
        for (const label of labels) assert.include(known, label)
      })
  )
})
