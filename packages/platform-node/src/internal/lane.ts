/**
 * What a lane is to the rest: one connection to an upstream, whatever protocol it speaks.
 *
 * A lane knows nothing of calls, hedges or Effect; those who use it know nothing of sockets.
 */
import type { IncomingHttpHeaders } from "node:http"
import type { Readable } from "node:stream"

export type Protocol = "http/1.1" | "h2"

/** A request as a lane sends it, and who is told what becomes of it. After `onEnd`, `onRefused`, `onError` or a cancel nothing more is told. */
export interface Exchange {
  readonly method: string
  /** Path and query, as they stand in the request line. */
  readonly path: string
  /** Host and port, as they stand in `Host` or `:authority`. */
  readonly authority: string
  readonly scheme: "http" | "https"
  /** Names in lower case, without `host`. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | string | Readable | undefined

  /** The request's headers have been handed to the socket. */
  onSent(): void
  onHeaders(status: number, headers: IncomingHttpHeaders): void
  /** `false` asks the lane to pause until it is told to resume; what has been read already may still come. */
  onData(chunk: Uint8Array): boolean
  onEnd(): void
  /** Nobody at the other end has seen or will see the request, and its body is untouched: it may be sent on another lane. */
  onRefused(error: Error): void
  onError(error: Error): void
}

/** A request that a lane has taken. */
export interface Sent {
  /** The exchange has room again. */
  resume(): void
  /**
   * Nobody wants the answer any more. Nothing more is told; the slot becomes free when the other end cannot be working on the request any more,
   * and the owner hears of it.
   */
  cancel(): void
}

export interface Lane {
  /** Unique in the process. */
  readonly id: number
  readonly protocol: Protocol
  /** The address and port of the other end. */
  readonly address: string
  /** `draining`: it takes no more requests, and closes after the last one that it has. */
  readonly state: "open" | "draining" | "closed"
  /** Slots that are taken, those of cancelled requests included until they are free again. */
  readonly inFlight: number
  /** How many requests it takes at once now: what was configured, and never more than the server allows. */
  readonly capacity: number
  /** Round trip in milliseconds: a moving average of PINGs, and never less than how long an unanswered one is out. 0 where there is no PING. */
  readonly roundTrip: number

  /** Takes a request; only while open and below its capacity. */
  send(exchange: Exchange): Sent
  /** Takes no more requests, and closes after the last one. */
  drain(): void
  /** Closes at once; what is in flight fails with the error. */
  destroy(error: Error): void
}

/** Why a lane takes no more requests. */
export type DrainReason = "Idle" | "GoAway" | "RationSpent" | "Closing"

/** Who opened a lane and keeps it. */
export interface LaneOwner {
  /** There is room again: a slot is free, or the server allows more. */
  onFree(lane: Lane): void
  onDraining(lane: Lane, reason: DrainReason): void
  /** The connection is gone; the error says why unless it was closed in order. */
  onClosed(lane: Lane, error: Error | undefined): void
}
