/**
 * What happens on the lanes of a client, as a tagged union, and the listeners that are told of it: `NodeHedgeClient.layer({ listeners })`.
 *
 * Events are told synchronously: a listener must be quick. One that throws is logged and changes nothing. With no listener an event is not even made.
 * All times are milliseconds.
 *
 * @example
 * import { NodeHedgeClient, type LaneEvent } from "@effect-hedge/platform-node"
 *
 * const listener: LaneEvent.Listener = {
 *   onEvent: (event) => {
 *     if (event._tag === "RequestEnded") console.log(`first byte ${event.phases.firstByte} ms after it was sent`)
 *   }
 * }
 *
 * export const Client = NodeHedgeClient.layer({ listeners: [listener] })
 *
 * @module
 */

/** A lane, as events name it. */
export interface LaneInfo {
  /** Unique in the process. */
  readonly id: number
  readonly protocol: "http/1.1" | "h2"
  /** The address and port of the other end. */
  readonly address: string
}

/** How long the steps of opening a connection took; undefined for those that it did not need: the name was an address, the connection is not secure. */
export interface ConnectPhases {
  readonly dns: number | undefined
  readonly tcp: number | undefined
  readonly tls: number | undefined
}

/**
 * Where the time of a request went. Undefined: it did not get there, or had no such phase. The time until a lane was taken is `queued`, plus `dns`, `tcp` and
 * `tls` if the lane is fresh, unless the connection was being opened already when the request came.
 */
export interface Phases extends ConnectPhases {
  /** Waiting for a lane, without the opening of the one that it got. */
  readonly queued: number
  /** From its start until a lane was taken. */
  readonly acquired: number | undefined
  /** From taking a lane until its headers were handed to the socket. */
  readonly sent: number | undefined
  /** From then until the answer's headers had come. */
  readonly firstByte: number | undefined
  /** From then until the body had come, or the request was given up. */
  readonly body: number | undefined
}

interface Base {
  /** The upstream. */
  readonly origin: string
  /** Whether the lane, or the request, is one of those for long streams. */
  readonly long: boolean
}

/** A request has ended: its answer has come whole, or it has failed or was given up. */
export interface RequestEnded extends Base {
  readonly _tag: "RequestEnded"
  readonly outcome: "Completed" | "Failed" | "Cancelled"
  readonly method: string
  readonly status: number | undefined
  readonly error: Error | undefined
  /** The lane that it was sent on, if it was. */
  readonly lane: LaneInfo | undefined
  /** Whether it was the first on its lane. */
  readonly fresh: boolean
  /** Other requests on the lane when it was taken. */
  readonly activeStreams: number
  readonly phases: Phases
  /** The call and the attempt that it was part of, if it was hedged. */
  readonly callId: string | undefined
  readonly attempt: number | undefined
}

/** A connection is open. */
export interface LaneOpened extends Base {
  readonly _tag: "LaneOpened"
  readonly lane: LaneInfo
  readonly phases: ConnectPhases
}

/** A lane takes no more requests; it closes when the last one has ended. */
export interface LaneDraining extends Base {
  readonly _tag: "LaneDraining"
  readonly lane: LaneInfo
  /** `Idle`: nobody used it for as long as `keepAlive`. `GoAway`: the server asked for it. `RationSpent`: too many resets. `Closing`: the client is. */
  readonly reason: "Idle" | "GoAway" | "RationSpent" | "Closing"
}

/** A connection is gone; the error says why, unless it was closed in order. */
export interface LaneClosed extends Base {
  readonly _tag: "LaneClosed"
  readonly lane: LaneInfo
  readonly error: Error | undefined
  /** How long it was open. */
  readonly age: number
  /** How many requests it was given. */
  readonly requests: number
}

/** A connection could not be opened. */
export interface ConnectFailed extends Base {
  readonly _tag: "ConnectFailed"
  readonly error: Error
  /** How many failed one after another, this one included. */
  readonly failures: number
  /** No other is opened before so much time has passed. */
  readonly backOff: number
}

/** Everything that happens. */
export type LaneEvent = RequestEnded | LaneOpened | LaneDraining | LaneClosed | ConnectFailed

/** Someone who is told. */
export interface Listener {
  readonly onEvent: (event: LaneEvent) => void
}
