/** `hedge-lab hol`: what long streams on a shared connection do to small requests, and what helps: head-of-line blocking. */
import { Command, HelpDoc, Options } from "@effect/cli"
import { Console, Effect } from "effect"
import * as HtmlFile from "../html/file.js"
import * as Progress from "../progress.js"
import { declare } from "../words.js"
import * as Experiment from "./experiment.js"
import * as HolOptions from "./options.js"
import { page } from "./page.js"
import { rowOf } from "./row.js"
import { nameOf, type Settings } from "./settings.js"
import * as Table from "./table.js"

/** Read as text, so that every wrong value is refused in the same words; `options.ts` says what is allowed. */
const value = (name: string, pseudoName: string, description: string) =>
  Options.text(name).pipe(
    Options.withPseudoName(pseudoName),
    Options.withDescription(description),
    Options.optional
  )

const options = {
  mode: value(
    "mode",
    "name",
    "How the client comes to its connections. shared: one HTTP/2 connection for all; own: one for the streams and one for the probes; http1: HTTP/1.1 from one pool; lanes: one NodeHedgeClient, which is not told that streams are long; blind: the same without PINGs; apart: the same as it is by itself, with lanes of their own for long streams. all: what is most instructive of these, plain and hedged, in turn. Default all."
  ),
  hedgeAfter: value(
    "hedge-after",
    "duration",
    "Hedge: how late an answer has to be for another copy to be sent. Default with --mode all 100ms."
  ),
  hedgeOn: value(
    "hedge-on",
    "where",
    "Where hedges go. same: where probes go; own: to a connection for hedges alone. Default same. Lanes need not be told: a hedge takes another than the primary's."
  ),
  extraLoad: value(
    "extra-load",
    "share",
    "Hedges allowed per probe, beside 10 in advance, and none while many copies fail. Default: any number."
  ),
  every: value("every", "duration", "When probes are sent, whatever became of those before. Default 100ms."),
  pause: value("pause", "duration", "Send one probe at a time instead, with a pause after each."),
  timeout: value("timeout", "duration", "When a probe fails. Default 2s."),
  duration: value("duration", "duration", "How long probes are sent in each mode. Default 10s."),
  rounds: value(
    "rounds",
    "n",
    "How often each mode runs, every other time in the opposite order. Default 1."
  ),
  background: value(
    "background",
    "kind",
    "What runs beside the probes. streams: server-sent events; bulk: two downloads as fast as they come on one connection and ten light streams, on another if the client has several. Default streams."
  ),
  streams: value("streams", "n", "Streams; one that ends is followed by another. Default 40; with bulk 10."),
  streamRate: value("stream-rate", "kilobytes", "What a stream sends in a second. Default 25; with bulk 1."),
  streamFor: value(
    "stream-for",
    "duration",
    "How long a stream goes on. Default 40s; with bulk longer than the probes."
  ),
  bandwidth: value(
    "bandwidth",
    "bytes",
    "What each connection lets through in a second: 512K is 512 × 1,024. Default 512K."
  ),
  upload: value("upload", "bytes", "The same from the client to the server. Default as --bandwidth."),
  window: value(
    "window",
    "bytes",
    "The client's HTTP/2 window, of a connection and of each stream. Default 512K."
  ),
  lanes: value("lanes", "n", "Lanes of NodeHedgeClient. Default 4; with bulk 2."),
  json: Options.boolean("json").pipe(Options.withDescription("Print one JSON document and nothing else.")),
  html: HtmlFile.option
}

/** The options by the names under which they are typed. */
export const declared = declare(options)

export const command = Command.make("hol", options, ({ html, json, ...raw }) =>
  Effect.gen(function* () {
    const settings = yield* HolOptions.settings(raw)
    const write = yield* HtmlFile.prepare(html)
    const results = yield* withProgress(settings, write !== undefined)
    yield* Console.log(
      json
        ? JSON.stringify(
            results.map((result) => rowOf(result, settings.timeoutMs)),
            undefined,
            2
          )
        : Table.render(settings, results)
    )
    if (write !== undefined) yield* write(page(settings, results))
  }).pipe(Effect.scoped)
).pipe(
  Command.withDescription(
    HelpDoc.p(
      "Sends small requests beside long streams through a proxy that limits each connection's bandwidth, and shows how late they are on a shared connection, on connections of their own, and hedged: head-of-line blocking."
    )
  )
)

const withProgress = (settings: Settings, traced: boolean) =>
  Effect.scoped(
    Effect.flatMap(Progress.make, (draw) => {
      const { durationMs, pace } = settings
      // how many it will be in the other pace depends on the answers
      const total = (started: number) => (pace._tag === "Every" ? Math.ceil(durationMs / pace.ms) : started)
      const onProgress: Experiment.OnProgress = (mode, started) => draw(nameOf(mode), started, total(started))
      return Experiment.run(settings, onProgress, traced)
    })
  )
