/** What the experiment says to its server and its clients, each a process of its own, and what they say to it. */
import type { HedgePolicy } from "effect-hedge"
import type { CallGroup } from "../html/call.js"
import type { Stretch } from "../html/overTime.js"
import type { Hedging, Latency, Load, Side, Transport } from "./settings.js"
import type { Strain } from "./strain.js"

/** The request header that numbers copies, so that both ends can speak of the same one. */
export const copyHeader = "x-hedge-lab-copy"

export interface ServerConfig {
  readonly latency: Latency
  readonly seed: number
  /** Whether the server goes on working for a client that has gone away. */
  readonly keepsWorking: boolean
}

export type ServerRequest = { readonly _tag: "Reset" } | { readonly _tag: "Report" }

export type ServerReply =
  | { readonly _tag: "Listening"; readonly port: number }
  | { readonly _tag: "WasReset" }
  | { readonly _tag: "Counted"; readonly report: ServerReport }

/** Counted since the server was last reset. */
export interface ServerReport {
  readonly received: number
  readonly completed: number
  /** Copies whose client went away before the answer, and how long the server had worked on them in all. */
  readonly cancelled: number
  readonly cancelledMs: number
  readonly connections: number
  /** When the server stopped working on each copy, by the machine's monotonic clock. */
  readonly stopped: ReadonlyArray<readonly [copy: number, at: number]>
  readonly strain: Strain
}

export interface ClientConfig {
  readonly side: Side
  readonly transport: Transport
  readonly url: string
  /** A header for every request. */
  readonly authorization: string | null
  /** Whether copies carry their number. */
  readonly numbered: boolean
  readonly hedging: Hedging
  readonly timeoutMs: number | null
  /** Whether it notes what became of each attempt. */
  readonly traced: boolean
}

export interface ClientRequest {
  readonly _tag: "Run"
  readonly load: Load
}

export type ClientReply =
  | { readonly _tag: "Ready" }
  | { readonly _tag: "Progress"; readonly ended: number }
  | { readonly _tag: "Measured"; readonly report: ClientReport }

/** Counted during one load. */
export interface ClientReport {
  /** By the order in which calls were due: how long after that the answer had been read in full; null for a failure. */
  readonly latencies: ReadonlyArray<number | null>
  /** Failed calls, by what their failure is called. */
  readonly failures: Readonly<Record<string, number>>
  /** Requests written to a connection, and connections established. */
  readonly sent: number
  readonly connections: number
  /** Copies that were interrupted, when, and how long they had run. */
  readonly cancelled: ReadonlyArray<readonly [copy: number, at: number, ran: number]>
  readonly hedges: HedgeCounts
  /** Null unless the policy learns. */
  readonly learned: Learned | null
  /** Null unless it was asked for, and for plain calls. */
  readonly trace: Trace | null
  readonly strain: Strain
}

/** What became of attempts: of some calls one by one, of the others in sum. */
export interface Trace {
  readonly groups: ReadonlyArray<CallGroup>
  readonly extraLoad: ReadonlyArray<Stretch>
}

/** What a policy that learns knew and did in the end. Times are in milliseconds. */
export interface Learned {
  readonly status: HedgePolicy.Inspection["status"]
  readonly suspendedBy: HedgePolicy.Guard | null
  /** Null if no hedge is sent. */
  readonly delayMs: number | null
  /** How likely a hedge is to be sent when it is due. */
  readonly probability: number
  /** The primaries that this is worked out from. */
  readonly samples: number
  /** What it takes P99 to be without hedges and with them; null if it cannot tell. */
  readonly p99: { readonly unhedged: number | null; readonly hedged: number | null }
}

export interface HedgeCounts {
  /** Calls that sent at least one hedge. */
  readonly hedgedCalls: number
  readonly sent: number
  readonly won: number
  /** Hedges that were due and not sent, by the reason. */
  readonly suppressed: Readonly<Record<string, number>>
}
