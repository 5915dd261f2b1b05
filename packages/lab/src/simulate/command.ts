/** `hedge-lab simulate`: what hedging does to servers with queues, on a simulated clock. */
import { Command, HelpDoc, Options } from "@effect/cli"
import { Console, Data, Effect } from "effect"
import * as HtmlFile from "../html/file.js"
import { declare } from "../words.js"
import * as Experiment from "./experiment.js"
import * as SimulateOptions from "./options.js"
import * as Page from "./page.js"
import { Records } from "./records.js"
import * as Report from "./report.js"
import * as Suite from "./suite.js"

/** Promises of the suite that were not kept. */
export class SuiteError extends Data.TaggedError("SuiteError")<{ readonly missed: ReadonlyArray<string> }> {
  override get message(): string {
    return `missed: ${this.missed.join("; ")}`
  }
}

/** Read as text, so that every wrong value is refused in the same words; `options.ts` says what is allowed. */
const text = (name: string, pseudoName: string, description: string) =>
  Options.text(name).pipe(Options.withPseudoName(pseudoName), Options.withDescription(description))

const value = (name: string, pseudoName: string, description: string) =>
  text(name, pseudoName, description).pipe(Options.optional)

const flag = (name: string, description: string) =>
  Options.boolean(name).pipe(Options.withDescription(description))

const options = {
  workload: value(
    "workload",
    "name",
    "What requests take: pauses (log-normal of median 10 ms, some 100–300 ms), w1 (10–50 ms, some 500–1,000 ms), w2 (5 ± 2 ms, some 10 times that), stragglers (some 20 times that), log-normal or pareto. Default pauses."
  ),
  slowShare: value(
    "slow-share",
    "share",
    "How many of them are slow. Default: pauses 0.02, w1 0.08, w2 0.05, stragglers 0.01."
  ),
  mu: value("mu", "number", "log-normal: the mean of the logarithm of ms. Default 1."),
  sigma: value("sigma", "number", "log-normal: the deviation of the logarithm. Default 1."),
  shape: value("shape", "number", "pareto: the exponent of the tail. Default 1.1."),
  scale: value("scale", "ms", "pareto: the least. Default 2."),
  servers: value(
    "servers",
    "n",
    "Servers, each of which works on one request at a time, or unlimited: one for each request. Default 16."
  ),
  balancer: value(
    "balancer",
    "name",
    "Who picks a server: p2c (of two at random the one with less in flight), random or round-robin. Default p2c."
  ),
  utilisation: text(
    "utilisation",
    "share",
    "How busy the servers are without hedges. May be given several times. Default 0.5, 0.6, 0.7, 0.8 and 0.9."
  ).pipe(Options.repeated),
  rate: value("rate", "per-second", "Calls a second, with --servers unlimited. Default 1,000."),
  cancel: value(
    "cancel",
    "what",
    "What a cancelled copy stops: all of it, a queued one only, or none. Default all."
  ),
  slowdown: value("slowdown", "factor", "How many times as long servers take for a while."),
  slowServers: value("slow-servers", "n", "How many of them do. Default all."),
  slowFrom: value("slow-from", "duration", "When that begins. Default 20s."),
  slowFor: value("slow-for", "duration", "How long it lasts. Default 10s."),
  calls: value("calls", "n", "Calls at each load. Default 50,000."),
  extraLoad: value("extra-load", "share", "Hedges allowed per call: 0.1 is 10 % more requests. Default 0.1."),
  objective: value("objective", "percentile", "What should come down: p90, p95, p99 or p99.9. Default p99."),
  delay: value("delay", "duration", "Hedge after this time, instead of one that is learned."),
  seed: value("seed", "n", "Draws everything that chance decides. Default 1."),
  suite: flag("suite", "Check what is promised of policies that tune themselves; fails if a line is missed."),
  json: flag("json", "Print one JSON document and nothing else."),
  html: HtmlFile.option
}

/** The options by the names under which they are typed. */
export const declared = declare(options)

export const command = Command.make("simulate", options, ({ html, json, suite, ...raw }) =>
  Effect.gen(function* () {
    if (suite) {
      const seed = yield* SimulateOptions.suiteSeed(raw)
      const write = yield* HtmlFile.prepare(html)
      const lines = yield* Suite.run(seed)
      yield* Console.log(json ? JSON.stringify(lines, undefined, 2) : Report.suiteTable(lines))
      if (write !== undefined) yield* write(Page.suitePage(seed, lines))
      const missed = lines.flatMap(({ name, ok }) => (ok ? [] : [name]))
      return missed.length === 0 ? undefined : yield* new SuiteError({ missed })
    }
    const settings = yield* SimulateOptions.settings(raw)
    const write = yield* HtmlFile.prepare(html)
    const records = write === undefined ? undefined : new Records()
    const rows = yield* Experiment.rows(settings, records?.observer)
    yield* Console.log(
      json ? JSON.stringify(Report.json(settings, rows), undefined, 2) : Report.table(settings, rows)
    )
    if (write !== undefined) yield* write(Page.page(settings, rows, records!))
  }).pipe(Effect.scoped)
).pipe(
  Command.withDescription(
    HelpDoc.p(
      "Simulates calls to servers with queues, plain and hedged by the policies of effect-hedge themselves, and shows what hedging does to the tail when the servers are busy or become slow."
    )
  )
)
