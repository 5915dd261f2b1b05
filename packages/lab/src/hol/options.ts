/** From what a user typed to settings, or to an error that names the option, the value and what is allowed. */
import { Either, Option } from "effect"
import { above, duration, number, oneOf, type Parsed, parse, refuse, wholeNumber } from "../optionValues.js"
import type { Bandwidth, Connections, HedgeOn, Hedging, Mode, Pace, Settings, Stream } from "./settings.js"

type Typed = Option.Option<string>

/** The options as typed. */
export interface Raw {
  readonly mode: Typed
  readonly hedgeAfter: Typed
  readonly hedgeOn: Typed
  readonly extraLoad: Typed
  readonly every: Typed
  readonly pause: Typed
  readonly timeout: Typed
  readonly duration: Typed
  readonly rounds: Typed
  readonly background: Typed
  readonly streams: Typed
  readonly streamRate: Typed
  readonly streamFor: Typed
  readonly bandwidth: Typed
  readonly upload: Typed
  readonly window: Typed
  readonly lanes: Typed
}

/** What runs beside the probes. */
type Kind = "streams" | "bulk"
const kinds: ReadonlyArray<Kind> = ["streams", "bulk"]

export const settings = (raw: Raw): Parsed<Settings> =>
  Either.gen(function* () {
    const kind = yield* oneOf("background", raw.background, kinds, "streams")
    const chosen = yield* modes(raw, kind)
    const durationMs = yield* duration("duration", raw.duration, 10_000, 1)
    return {
      modes: chosen,
      background: yield* background(raw, kind, durationMs),
      bandwidth: yield* bandwidth(raw),
      window: yield* size("window", raw.window, 512 * kilobyte, 64 * kilobyte),
      lanes: yield* lanes(raw, chosen, kind),
      hedging: yield* hedging(raw, chosen),
      pace: yield* pace(raw),
      timeoutMs: yield* duration("timeout", raw.timeout, 2_000, 1),
      durationMs,
      settleMs: 2_000,
      rounds: yield* wholeNumber("rounds", raw.rounds, 1, 1, 100)
    }
  })

// --- modes -------------------------------------------------------------------------------------------------------------

const plain = (connections: Connections): Mode => ({ connections, hedgeOn: null })
const hedged = (connections: Connections, hedgeOn: HedgeOn = "same"): Mode => ({ connections, hedgeOn })

/** What `--mode all` compares. */
const all: Readonly<Record<Kind, ReadonlyArray<Mode>>> = {
  streams: [
    plain("shared"),
    hedged("shared"),
    hedged("shared", "own"),
    plain("own"),
    plain("http1"),
    plain("lanes"),
    hedged("lanes"),
    plain("apart")
  ],
  bulk: [plain("shared"), plain("own"), plain("blind"), hedged("blind"), plain("lanes"), hedged("lanes")]
}

const connections: ReadonlyArray<Connections> = ["shared", "own", "http1", "lanes", "blind", "apart"]
/** Those of which each hedge takes another lane by itself. */
const ofLanes = new Set<Connections>(["lanes", "blind", "apart"])
const hedgeOns: ReadonlyArray<HedgeOn> = ["same", "own"]

const modes = (raw: Raw, kind: Kind): Parsed<ReadonlyArray<Mode>> =>
  Either.gen(function* () {
    const mode = yield* oneOf("mode", raw.mode, [...connections, "all"], "all")
    if (mode === "all") {
      yield* refuse("hedge-on", raw.hedgeOn, "not with --mode all, which hedges on either")
      return all[kind]
    }
    if (Option.isNone(raw.hedgeAfter)) {
      yield* refuse("hedge-on", raw.hedgeOn, "only with --hedge-after")
      return [plain(mode)]
    }
    if (ofLanes.has(mode)) {
      yield* refuse("hedge-on", raw.hedgeOn, `not with --mode ${mode}, which sends a hedge down another lane`)
    }
    return [hedged(mode, yield* oneOf("hedge-on", raw.hedgeOn, hedgeOns, "same"))]
  })

const hedging = (raw: Raw, chosen: ReadonlyArray<Mode>): Parsed<Hedging> =>
  Either.gen(function* () {
    if (!chosen.some(({ hedgeOn }) => hedgeOn !== null)) {
      yield* refuse("extra-load", raw.extraLoad, "only with --hedge-after")
    }
    return {
      afterMs: yield* duration("hedge-after", raw.hedgeAfter, 100, 0),
      extraLoad: Option.isNone(raw.extraLoad)
        ? null
        : yield* number("extra-load", raw.extraLoad, 0, above(0, 15))
    }
  })

const lanes = (raw: Raw, chosen: ReadonlyArray<Mode>, kind: Kind): Parsed<number> =>
  Either.gen(function* () {
    if (!chosen.some(({ connections }) => ofLanes.has(connections))) {
      yield* refuse("lanes", raw.lanes, "only with --mode lanes, blind, apart or all")
    }
    return yield* wholeNumber("lanes", raw.lanes, kind === "bulk" ? 2 : 4, 1, 64)
  })

// --- probes ------------------------------------------------------------------------------------------------------------

const pace = (raw: Raw): Parsed<Pace> =>
  Either.gen(function* () {
    if (Option.isNone(raw.pause))
      return { _tag: "Every" as const, ms: yield* duration("every", raw.every, 100, 1) }
    yield* refuse("every", raw.every, "not with --pause, which sends one probe at a time")
    return { _tag: "OneAtATime" as const, pauseMs: yield* duration("pause", raw.pause, 0, 0) }
  })

// --- what is beside them -----------------------------------------------------------------------------------------------

const kilobyte = 1_024

/** Two downloads that fill a connection, and ten streams that hardly use one. */
const bulk = { downloads: 2, streams: 10, kilobytesPerSecond: 1 }

/** A download that ends has to be followed by another on its connection, of which nobody can be sure: it outlasts the probes. */
const outlasting = 60_000

const background = (raw: Raw, kind: Kind, durationMs: number): Parsed<ReadonlyArray<Stream>> =>
  Either.gen(function* () {
    const isBulk = kind === "bulk"
    if (isBulk)
      yield* refuse("stream-for", raw.streamFor, "not with --background bulk, which outlasts the probes")
    const streams = yield* wholeNumber("streams", raw.streams, isBulk ? bulk.streams : 40, 1, 100)
    const kilobytes = yield* number(
      "stream-rate",
      raw.streamRate,
      isBulk ? bulk.kilobytesPerSecond : 25,
      above(0, 10_000)
    )
    const lastsMs = isBulk
      ? 2 * (durationMs + outlasting)
      : yield* duration("stream-for", raw.streamFor, 40_000, 100)
    const event: Stream = { _tag: "Events", bytesPerSecond: kilobytes * kilobyte, lastsMs }
    const download: Stream = { _tag: "Bulk", lastsMs }
    return [
      ...Array<Stream>(isBulk ? bulk.downloads : 0).fill(download),
      ...Array<Stream>(streams).fill(event)
    ]
  })

const bandwidth = (raw: Raw): Parsed<Bandwidth> =>
  Either.gen(function* () {
    const down = yield* size("bandwidth", raw.bandwidth, 512 * kilobyte, kilobyte)
    return { down, up: yield* size("upload", raw.upload, down, kilobyte) }
  })

const largest = 1_024 * kilobyte * kilobyte

const size = (option: string, typed: Typed, otherwise: number, least: number): Parsed<number> =>
  parse(
    option,
    typed,
    otherwise,
    `must be bytes from ${least / kilobyte}K to 1024M, such as 64K or 1M`,
    (text) => {
      const [, amount, unit = ""] = /^(\d+(?:\.\d+)?)([KM]?)B?$/i.exec(text) ?? []
      const bytes = Math.round(Number(amount) * kilobyte ** " KM".indexOf(unit.toUpperCase() || " "))
      return bytes >= least && bytes <= largest ? bytes : undefined
    }
  )
