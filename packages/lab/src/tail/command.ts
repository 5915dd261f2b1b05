/** `hedge-lab tail`: what hedging does to the tail of a real server. */
import { Command, HelpDoc, Options } from "@effect/cli"
import { Console, Effect } from "effect"
import * as HtmlFile from "../html/file.js"
import * as Progress from "../progress.js"
import { declare } from "../words.js"
import * as Experiment from "./experiment.js"
import { forecast } from "./forecast.js"
import * as Json from "./json.js"
import * as TailOptions from "./options.js"
import * as Page from "./page.js"
import type { Settings } from "./settings.js"
import * as Table from "./table.js"
import * as Url from "./url.js"

/** Read as text, so that every wrong value is refused in the same words; `options.ts` says what is allowed. */
const value = (name: string, pseudoName: string, description: string) =>
  Options.text(name).pipe(
    Options.withPseudoName(pseudoName),
    Options.withDescription(description),
    Options.optional
  )

const flag = (name: string, description: string) =>
  Options.boolean(name).pipe(Options.withDescription(description))

const options = {
  requests: value("requests", "n", "Calls on each side. Default 3,000; with --burst 1,000."),
  rate: value(
    "rate",
    "per-second",
    "Calls a second, each due at its time whatever became of those before. Default 500."
  ),
  burst: flag("burst", "Send all calls at once, by a cold client to a cold server, and take medians of 3."),
  fanOut: value(
    "fan-out",
    "n",
    "Calls that make a page, which is as late as its latest call. Percentiles are then of pages. Default 1."
  ),
  adaptive: flag(
    "adaptive",
    "Hedge by the policy that learns its delay (HedgePolicy.layerAdaptive) and is told only the extra load."
  ),
  delay: value(
    "delay",
    "duration",
    "How late an answer has to be for another copy to be sent. Default 80ms."
  ),
  maxAttempts: value(
    "max-attempts",
    "n",
    "Copies of a call in all, the first included. Default 3; with --adaptive 2."
  ),
  extraLoad: value(
    "extra-load",
    "share",
    "Hedges allowed per call: 0.2 is 20 % more requests, beside 10 in advance. Failures stop hedging sooner: a token bucket like gRPC's (100 tokens, a failed copy costs 1, an answer returns 0.1) must stay more than half full. Default 0.2."
  ),
  timeout: value(
    "timeout",
    "duration",
    "When a call fails, on both sides; it then counts as later than every answer. Default: 30 s after the last call was due."
  ),
  seed: value("seed", "n", "Draws the server's latencies, the same for both sides. Default 1."),
  url: value(
    "url",
    "url",
    "Measure this server, by GET, instead of one started for the purpose. A user and password in it are sent, and not shown."
  ),
  distribution: value(
    "distribution",
    "name",
    "The server's latencies: uniform or log-normal. Default uniform."
  ),
  fast: value("fast", "min-max", "uniform: most latencies, in ms. Default 10-50."),
  slow: value("slow", "min-max", "uniform: the slow ones, in ms. Default 500-1000."),
  slowShare: value("slow-share", "share", "How many are slow. Default 0.1; with log-normal 0.05."),
  mean: value("mean", "ms", "log-normal: the mean. Default 5."),
  sd: value("sd", "ms", "log-normal: the standard deviation. Default 2."),
  slowFactor: value(
    "slow-factor",
    "factor",
    "log-normal: how many times as long the slow ones take. Default 10."
  ),
  keepsWorking: flag("keeps-working", "The server goes on working for a client that has gone away."),
  client: value(
    "client",
    "name",
    "What sends the requests: undici, by Effect's own client, or lanes, by that of @effect-hedge/platform-node. Default undici."
  ),
  json: flag("json", "Print one JSON document and nothing else."),
  html: HtmlFile.option
}

/** The options by the names under which they are typed. */
export const declared = declare(options)

export const command = Command.make("tail", options, ({ html, json, ...raw }) =>
  Effect.gen(function* () {
    const settings = yield* TailOptions.settings(raw)
    const write = yield* HtmlFile.prepare(html)
    if (settings.target._tag === "Url") yield* Url.reach(settings.target)
    const rounds = write === undefined ? undefined : new Page.Rounds(settings.load.fanOut)
    const result = yield* withProgress(settings, rounds)
    const expected = json && write === undefined ? undefined : forecast(settings, result.hedged.learned)
    yield* Console.log(
      json
        ? JSON.stringify(Json.report(settings, result), undefined, 2)
        : Table.render(settings, result, expected)
    )
    if (write !== undefined) yield* write(Page.page(settings, result, expected, rounds!))
  }).pipe(Effect.scoped)
).pipe(
  Command.withDescription(
    HelpDoc.p(
      "Sends the same load to a long-tailed server plain and hedged, and shows what hedging did to the tail and what it cost."
    )
  )
)

const withProgress = (settings: Settings, rounds: Page.Rounds | undefined) =>
  Effect.scoped(
    Effect.flatMap(Progress.make, (draw) =>
      Experiment.run(
        settings,
        (side, ended) => draw(side, ended, settings.load.calls * settings.rounds),
        rounds === undefined ? undefined : (side, report) => rounds.add(side, report)
      )
    )
  )
