/** What the experiment says to its upstream, its proxy and its client, each a process of its own, and what they say to it. */
import type { CallGroup } from "../html/call.js"
import type { Outcomes } from "../tail/load.js"
import type { HedgeCounts } from "../tail/protocol.js"
import type { Strain } from "../tail/strain.js"
import type { Bandwidth, Mode, Settings } from "./settings.js"

/** The request header that numbers probes, so that both ends can speak of the same one. */
export const probeHeader = "x-hedge-lab-probe"

/** The request header that numbers the hedges of a probe; the primary has none. */
export const attemptHeader = "x-hedge-lab-attempt"

export const paths = { probe: "/probe", events: "/events", bulk: "/bulk" }

export type UpstreamRequest = { readonly _tag: "Report" }

export type UpstreamReply =
  | { readonly _tag: "Listening"; readonly port: number; readonly certificate: string }
  | { readonly _tag: "Arrived"; readonly arrivals: ReadonlyArray<Arrival> }

/** An attempt of a probe as the upstream saw it come in. */
export interface Arrival {
  readonly probe: number
  /** 0 for the primary. */
  readonly attempt: number
  /** Background streams that were open on the same connection. */
  readonly streamsBeside: number
}

export interface ProxyConfig {
  /** The upstream's port. */
  readonly to: number
  readonly bandwidth: Bandwidth
}

export type ProxyRequest = { readonly _tag: "Report" }

export type ProxyReply =
  | { readonly _tag: "Listening"; readonly port: number }
  | { readonly _tag: "Connections"; readonly opened: number; readonly open: number }

export interface ClientConfig extends Omit<Settings, "modes" | "bandwidth" | "rounds"> {
  readonly origin: string
  /** The upstream's, which nobody else has signed. */
  readonly certificate: string
  readonly mode: Mode
  /** Whether attempts of hedged probes are noted one by one. */
  readonly traced: boolean
}

export type ClientRequest = { readonly _tag: "Probe" }

export type ClientReply =
  | { readonly _tag: "Ready" }
  | { readonly _tag: "Progress"; readonly started: number }
  | { readonly _tag: "Measured"; readonly report: ClientReport }

/** Counted at the client while it sent probes. */
export interface ClientReport {
  /** Of the probes; one without a failure of its own that was interrupted in the end is `Unanswered`. */
  readonly outcomes: Outcomes
  /** For every probe the background streams whose first data was in when it started. */
  readonly streamsAtStart: ReadonlyArray<number>
  readonly hedges: HedgeCounts
  /** Some probes attempt by attempt, if they were traced and hedged. */
  readonly calls: ReadonlyArray<CallGroup>
  readonly background: Streams
  /** Whether all background streams had come up before the first probe. */
  readonly isComplete: boolean
  readonly strain: Strain
}

/** What became of the background, from before the first probe on. */
export interface Streams {
  /** Those that went on for more than 30 s. */
  readonly over30s: number
  /** Those that broke off, by what their failure is called. */
  readonly broken: Readonly<Record<string, number>>
}
