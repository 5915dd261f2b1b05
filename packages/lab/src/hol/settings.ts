/** What one run of the experiment is asked to do. Times are in milliseconds, sizes in bytes. */

/** How background and probes come to their connections. */
export type Connections =
  /** One HTTP/2 connection for all. */
  | "shared"
  /** An HTTP/2 connection for the background and one for the probes. */
  | "own"
  /** HTTP/1.1, one pool for all. */
  | "http1"
  /** A `NodeHedgeClient` for all, which is not told that streams are long: lanes are picked by load and round trip alone. */
  | "lanes"
  /** The same without PINGs: lanes are picked by load alone. */
  | "blind"
  /** A `NodeHedgeClient` for all as it is by itself: long streams have lanes of their own. */
  | "apart"

/** Where a hedge goes: where the primary went, if the client knows no better, or to a connection for hedges alone. */
export type HedgeOn = "same" | "own"

export interface Mode {
  readonly connections: Connections
  /** Null for no hedges. */
  readonly hedgeOn: HedgeOn | null
}

/** As programs read it in a report. */
export const nameOf = ({ connections, hedgeOn }: Mode): string =>
  `${connections}${hedgeOn === null ? "" : hedgeOn === "same" ? "-hedged" : "-hedged-own"}`

/** Server-sent events at a rate, for a while. */
export interface EventStream {
  readonly _tag: "Events"
  readonly bytesPerSecond: number
  readonly lastsMs: number
}

/** A download as fast as the connection lets it through. */
export interface Bulk {
  readonly _tag: "Bulk"
  readonly lastsMs: number
}

/** One response of the background; another like it follows when it ends. */
export type Stream = EventStream | Bulk

/** When probes are sent: every so often whatever became of those before, or one at a time with a pause after each. */
export type Pace =
  | { readonly _tag: "Every"; readonly ms: number }
  | { readonly _tag: "OneAtATime"; readonly pauseMs: number }

/** What one connection lets through in a second, each way. */
export interface Bandwidth {
  readonly down: number
  readonly up: number
}

export interface Hedging {
  readonly afterMs: number
  /** Hedges allowed per probe; null for any number. */
  readonly extraLoad: number | null
}

export interface Settings {
  /** Run one after the other. */
  readonly modes: ReadonlyArray<Mode>
  readonly background: ReadonlyArray<Stream>
  readonly bandwidth: Bandwidth
  /** The client's flow-control window, of an HTTP/2 connection and of each stream on it. */
  readonly window: number
  /** Lanes of a `NodeHedgeClient`. */
  readonly lanes: number
  readonly hedging: Hedging
  readonly pace: Pace
  readonly timeoutMs: number
  readonly durationMs: number
  /** How long the background runs before the first probe, so that what fills buffers has filled them. */
  readonly settleMs: number
  /** How often every mode runs; every other time in the opposite order. */
  readonly rounds: number
}
