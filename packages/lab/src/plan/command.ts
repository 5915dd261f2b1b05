/** `hedge-lab plan`: what hedging would do for the latencies in a file. */
import { Args, Command, HelpDoc, Options } from "@effect/cli"
import { Console, Effect, Option } from "effect"
import * as HtmlFile from "../html/file.js"
import { declare } from "../words.js"
import * as PlanOptions from "./options.js"
import { page } from "./page.js"
import { PlanError } from "./planError.js"
import { read } from "./read.js"
import * as Report from "./report.js"
import * as Json from "./reportJson.js"
import * as Table from "./reportTable.js"
import { standardInput } from "./source.js"

/** Read as text, so that every wrong value is refused in the same words; `options.ts` says what is allowed. */
const value = (name: string, pseudoName: string, description: string) =>
  Options.text(name).pipe(Options.withPseudoName(pseudoName), Options.withDescription(description))

const options = {
  format: value(
    "format",
    "name",
    `What the file is, if it is not recognised: ${PlanOptions.formatNames.join(", ")}.`
  ).pipe(Options.optional),
  column: value(
    "column",
    "name",
    "The latency: a column by its header or its number from 1, a path in JSON, a metric, a histogram."
  ).pipe(Options.optional),
  unit: value("unit", "name", "In which unit it is: ns, us, ms, s or min.").pipe(Options.optional),
  key: value("key", "field", "Plan by what this field says, a route or a label.").pipe(Options.optional),
  where: value(
    "where",
    "condition",
    "Only where this holds: status=200, verb!=WATCH, path~^/api, size<1000. May be given several times; all must hold."
  ).pipe(Options.repeated),
  pair: value(
    "pair",
    "name",
    "The latency of a second copy that was sent at the same time: copies are then not taken to be independent."
  ).pipe(Options.optional),
  all: Options.boolean("all").pipe(
    Options.withDescription(
      "Keep calls without an answer: no status, 101, 408, 499, 5xx, success=false, an error code."
    )
  ),
  extraLoad: value(
    "extra-load",
    "share",
    "One more budget, hedges per call: 0.03 is 3 % more requests. May be given several times."
  ).pipe(Options.repeated),
  fanOut: value(
    "fan-out",
    "n",
    "Also plan for pages of so many calls, as late as the latest of them. May be given several times."
  ).pipe(Options.repeated),
  objective: value("objective", "percentile", "What should come down: p95, p99 or p99.9. Default p99.").pipe(
    Options.optional
  ),
  json: Options.boolean("json").pipe(Options.withDescription("Print one JSON document and nothing else.")),
  html: HtmlFile.option
}

/** The options by the names under which they are typed. */
export const declared = declare(options)

const file = Args.text({ name: "file" }).pipe(
  Args.withDescription("The record, gzipped or not; - for standard input."),
  Args.optional
)

export const command = Command.make("plan", { file, ...options }, ({ file, html, json, ...raw }) =>
  Effect.gen(function* () {
    const settings = yield* PlanOptions.settings(raw)
    const path = Option.getOrElse(file, () => "-")
    if (path === "-" && process.stdin.isTTY) {
      return yield* new PlanError({
        file: standardInput,
        problem: "is a terminal; give a file, or pipe one in"
      })
    }
    const write = yield* HtmlFile.prepare(html)
    const report = Report.make(yield* read(path, settings.ask), settings)
    yield* Console.log(json ? JSON.stringify(Json.render(report), undefined, 2) : Table.render(report))
    if (write !== undefined) yield* write(page(report))
  }).pipe(Effect.scoped)
).pipe(
  Command.withDescription(
    HelpDoc.p(
      "Reads latencies from a record that you have, an access log, the output of a load test, a trace, and says what hedging would do for them and at what price."
    )
  )
)
