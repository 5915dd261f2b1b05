import { Either, Option } from "effect"
import { describe, expect, it } from "vitest"
import { type Raw, settings } from "../../src/hol/options.js"
import { nameOf } from "../../src/hol/settings.js"

const nothing: Raw = {
  mode: Option.none(),
  hedgeAfter: Option.none(),
  hedgeOn: Option.none(),
  extraLoad: Option.none(),
  every: Option.none(),
  pause: Option.none(),
  timeout: Option.none(),
  duration: Option.none(),
  rounds: Option.none(),
  background: Option.none(),
  streams: Option.none(),
  streamRate: Option.none(),
  streamFor: Option.none(),
  bandwidth: Option.none(),
  upload: Option.none(),
  window: Option.none(),
  lanes: Option.none()
}

type Typed = { readonly [K in keyof Raw]?: string }

const parse = (typed: Typed) =>
  settings({
    ...nothing,
    ...Object.fromEntries(Object.entries(typed).map(([key, value]) => [key, Option.some(value)]))
  })

const refusal = (typed: Typed) =>
  Either.match(parse(typed), { onLeft: (error) => error.message, onRight: () => "" })
const accepted = (typed: Typed) => Either.getOrThrowWith(parse(typed), (error) => error)
const modesOf = (typed: Typed) => accepted(typed).modes.map(nameOf)

describe("what is not given", () => {
  it("is 40 streams, 512 KB/s for each connection, a probe every 100 ms for 10 s", () => {
    const { background, modes, ...others } = accepted({})
    expect(others).toEqual({
      bandwidth: { down: 524_288, up: 524_288 },
      window: 524_288,
      lanes: 4,
      hedging: { afterMs: 100, extraLoad: null },
      pace: { _tag: "Every", ms: 100 },
      timeoutMs: 2_000,
      durationMs: 10_000,
      settleMs: 2_000,
      rounds: 1
    })
    expect(background).toEqual(
      Array(40).fill({ _tag: "Events", bytesPerSecond: 25 * 1_024, lastsMs: 40_000 })
    )
    expect(modes.map(nameOf)).toEqual([
      "shared",
      "shared-hedged",
      "shared-hedged-own",
      "own",
      "http1",
      "lanes",
      "lanes-hedged",
      "apart"
    ])
  })
})

describe("modes", () => {
  it("are plain without --hedge-after, and hedged with it", () => {
    expect(modesOf({ mode: "shared" })).toEqual(["shared"])
    expect(modesOf({ mode: "shared", hedgeAfter: "50ms" })).toEqual(["shared-hedged"])
    expect(modesOf({ mode: "own", hedgeAfter: "50ms", hedgeOn: "own" })).toEqual(["own-hedged-own"])
    expect(modesOf({ mode: "lanes", hedgeAfter: "50ms" })).toEqual(["lanes-hedged"])
  })

  it("are others beside downloads", () => {
    expect(modesOf({ background: "bulk" })).toEqual([
      "shared",
      "own",
      "blind",
      "blind-hedged",
      "lanes",
      "lanes-hedged"
    ])
  })
})

describe("the background", () => {
  it("of downloads is two of them, which outlast the probes, and ten light streams, over two lanes", () => {
    const { background, lanes } = accepted({ background: "bulk", duration: "30s" })
    expect(background.map(({ _tag }) => _tag)).toEqual([
      ...Array(2).fill("Bulk"),
      ...Array(10).fill("Events")
    ])
    expect(Math.min(...background.map(({ lastsMs }) => lastsMs / 2))).toBeGreaterThan(60_000)
    expect(lanes).toBe(2)
  })

  it("is as large and as fast as asked for", () => {
    expect(accepted({ streams: "3", streamRate: "2", streamFor: "5s" }).background).toEqual(
      Array(3).fill({ _tag: "Events", bytesPerSecond: 2_048, lastsMs: 5_000 })
    )
  })
})

describe("sizes", () => {
  it.each([
    ["64K", 65_536],
    ["1.5M", 1_572_864],
    ["65536", 65_536],
    ["128kb", 131_072]
  ])("%s is %i bytes", (window, bytes) => {
    expect(accepted({ window }).window).toBe(bytes)
  })

  it("of the way up are those of the way down unless they are given", () => {
    expect(accepted({ bandwidth: "1M" }).bandwidth).toEqual({ down: 1_048_576, up: 1_048_576 })
    expect(accepted({ bandwidth: "1M", upload: "64K" }).bandwidth).toEqual({ down: 1_048_576, up: 65_536 })
  })
})

it("probes go out one at a time with --pause", () => {
  expect(accepted({ pause: "1s" }).pace).toEqual({ _tag: "OneAtATime", pauseMs: 1_000 })
})

it.each<[Typed, string]>([
  [{ mode: "both" }, "--mode both: must be one of shared, own, http1, lanes, blind, apart, all"],
  [{ mode: "shared", hedgeOn: "own" }, "--hedge-on own: only with --hedge-after"],
  [{ hedgeOn: "own" }, "--hedge-on own: not with --mode all, which hedges on either"],
  [
    { mode: "lanes", hedgeAfter: "1ms", hedgeOn: "own" },
    "--hedge-on own: not with --mode lanes, which sends a hedge down another lane"
  ],
  [{ mode: "shared", hedgeAfter: "1ms", hedgeOn: "x" }, "--hedge-on x: must be one of same, own"],
  [{ mode: "shared", extraLoad: "0.1" }, "--extra-load 0.1: only with --hedge-after"],
  [{ extraLoad: "0" }, "--extra-load 0: must be a number above 0 and at most 15"],
  [{ pause: "1s", every: "100ms" }, "--every 100ms: not with --pause, which sends one probe at a time"],
  [{ mode: "own", lanes: "2" }, "--lanes 2: only with --mode lanes, blind, apart or all"],
  [{ lanes: "0" }, "--lanes 0: must be a whole number from 1 to 64"],
  [{ background: "none" }, "--background none: must be one of streams, bulk"],
  [
    { background: "bulk", streamFor: "5s" },
    "--stream-for 5s: not with --background bulk, which outlasts the probes"
  ],
  [{ streams: "101" }, "--streams 101: must be a whole number from 1 to 100"],
  [{ window: "1K" }, "--window 1K: must be bytes from 64K to 1024M, such as 64K or 1M"],
  [{ bandwidth: "fast" }, "--bandwidth fast: must be bytes from 1K to 1024M, such as 64K or 1M"],
  [{ rounds: "0" }, "--rounds 0: must be a whole number from 1 to 100"],
  [{ timeout: "0" }, '--timeout 0: must be a duration from 1 ms to 1 hour, such as 80, 80ms or "80 millis"']
])("%j is refused by the name of its option", (typed, message) => {
  expect(refusal(typed)).toBe(message)
})
