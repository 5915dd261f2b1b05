import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type Settings
} from "node:http2"
import type { Socket } from "node:net"
import { TLSSocket } from "node:tls"
import { errorName, Http2LaneError } from "./http2Error.js"
import { type PingHost, type PingSettings, Pings } from "./http2Pings.js"
import { type Failure, Http2Request, type StreamHost } from "./http2Stream.js"
import type { DrainReason, Exchange, Lane, LaneOwner, Sent } from "./lane.js"
import { nextLaneId } from "./laneId.js"
import { Ration } from "./ration.js"

export interface Http2Settings extends PingSettings {
  /** Requests in flight at once, if the server allows as many. */
  readonly streamsPerLane: number
  /** Bytes that the server may send ahead of their reader, on one stream and on all of them together. */
  readonly windowSize: number
  readonly connectionWindowSize: number
  /** Streams that may be reset at once, and then per second. */
  readonly resetBurst: number
  readonly resetsPerSecond: number
}

/**
 * Requests in flight until the server has said how many it allows. RFC 9113 sets no limit at first and advises servers to allow 100; but a stream above
 * a limit that has not arrived yet is refused. What is known to allow fewer than this is rare, and the wait is one round trip.
 */
const streamsBeforeSettings = 10

const nativeOf = (session: ClientHttp2Session): unknown => {
  const key = Object.getOwnPropertySymbols(session).find(({ description }) => description === "kHandle")
  return key === undefined ? undefined : Reflect.get(session, key)
}

/**
 * Node ends the process (`current_nghttp2_memory_ == 0`) if a session is collected before a stream of it that holds headers which were never told: too many of
 * them, or the first of a section that was cut off. Both become garbage in the moment in which the session ends, and Node lets go of the stream a little later.
 */
const keepForAWhile = (native: unknown): void => {
  setTimeout(() => native, 1000).unref()
}

/** Of an answer's header section, and of a request's before the server has said anything. Node ends the connection over a larger request. */
const mostHeaderBytes = 60_000
const mostHeaderFields = 2000

/**
 * In megabytes. What the server may send is limited by windows; what is sent has been in memory before, and counts as well: when the limit is reached
 * Node resets each stream whose answer comes. It multiplies by a million in 32 bits, so that 4,295 would be next to nothing.
 */
const maxSessionMemory = 4000

/** A lane that speaks HTTP/2 over a connected socket. Prior knowledge or ALPN have settled that the server speaks it, too. */
export const openHttp2 = (socket: Socket, settings: Http2Settings, owner: LaneOwner): Lane =>
  new Http2Lane(socket, settings, owner)

class Http2Lane implements Lane, StreamHost, PingHost {
  readonly id = nextLaneId()
  readonly protocol = "h2"
  readonly address: string
  readonly session: ClientHttp2Session
  inFlight = 0
  mostHeaderBytes = mostHeaderBytes

  /** How many streams the server allows, as far as it is known, and how many of them it has not refused. */
  private allowed: number
  private accepted: number
  /** Requests that somebody waits for. */
  private live = 0
  private draining = false
  private closing = false
  /** The last stream that the server has worked on or will. */
  private lastStream = Infinity
  private endedBy: Error | undefined = undefined
  /** Node's side of the session. */
  private readonly native: unknown
  private readonly pings: Pings
  private readonly ration: Ration

  constructor(
    private readonly socket: Socket,
    private readonly settings: Http2Settings,
    private readonly owner: LaneOwner
  ) {
    this.address = `${socket.remoteAddress}:${socket.remotePort}`
    this.allowed = Math.min(streamsBeforeSettings, settings.streamsPerLane)
    this.accepted = this.allowed
    this.ration = new Ration(settings.resetBurst, settings.resetsPerSecond, performance.now())
    const scheme = socket instanceof TLSSocket ? "https" : "http"
    const session = connect(`${scheme}://lane.invalid`, {
      createConnection: () => socket,
      settings: {
        enablePush: false,
        initialWindowSize: settings.windowSize,
        maxHeaderListSize: mostHeaderBytes
      },
      maxHeaderListPairs: mostHeaderFields,
      maxSessionMemory
    })
    this.session = session
    this.native = nativeOf(session)
    // Node would call it at a GOAWAY, and answer no more PINGs while the last requests run
    session.close = () => {}
    session.setLocalWindowSize(settings.connectionWindowSize)
    session.on("remoteSettings", (remote) => this.onSettings(remote))
    session.on("goaway", (code, lastStream) => this.onGoAway(code, lastStream))
    session.on("error", (error) => {
      this.endedBy ??= error
    })
    session.on("close", () => this.onClose())
    session.unref()
    this.pings = new Pings(session, settings, this)
  }

  get state(): Lane["state"] {
    // a server that has said its last word answers nothing more, though something may still be being written to it
    if (this.session.destroyed || this.socket.readableEnded) return "closed"
    return this.draining ? "draining" : "open"
  }

  get capacity(): number {
    return Math.min(this.allowed, this.accepted)
  }

  get roundTrip(): number {
    return this.pings.roundTrip
  }

  send(exchange: Exchange): Sent {
    if (this.inFlight++ === 0) this.session.ref()
    this.live++
    const sent = new Http2Request(this, exchange)
    sent.start()
    this.pings.onSent()
    return sent
  }

  drain(): void {
    this.draining = true
    this.closeIfDone()
  }

  destroy(error: Error): void {
    this.endedBy ??= error
    this.draining = true
    this.socket.destroy(error)
  }

  // --- what its requests tell it ---------------------------------------------------------------------------------------

  onReceived(): void {
    this.pings.onReceived()
  }

  failureOf(stream: ClientHttp2Stream, cause: Error | undefined): Failure {
    const { id, rstCode } = stream
    // there is no number left for a stream
    if (id === undefined) this.draining = true
    if (id === undefined || id > this.lastStream) {
      const error = new Http2LaneError(
        "GoAway",
        "the server is ending the connection and has not seen the request",
        cause
      )
      return { error, refused: true }
    }
    if (rstCode === constants.NGHTTP2_REFUSED_STREAM) {
      this.accepted = Math.max(1, this.inFlight - 1)
      return { error: new Http2LaneError("Refused", "the server refused the request", cause), refused: true }
    }
    if (this.session.destroyed) {
      this.endedBy ??= new Http2LaneError(
        "ConnectionClosed",
        "the connection ended before the answer did",
        cause
      )
      return { error: this.endedBy, refused: false }
    }
    const error =
      rstCode === constants.NGHTTP2_NO_ERROR
        ? new Http2LaneError("Truncated", "the answer stopped before its end", cause)
        : new Http2LaneError("Reset", `the server reset the stream: ${errorName(rstCode)}`, cause)
    return { error, refused: false }
  }

  onAnswered(): void {
    if (this.accepted < this.allowed) this.accepted++
  }

  onSettled(): void {
    this.live--
    this.closeIfDone()
  }

  takeReset(): boolean {
    return this.ration.take(performance.now())
  }

  onReset(): void {
    this.pings.confirmReset()
  }

  onAbandoned(): void {
    this.drainBecause("RationSpent")
  }

  onReleased(): void {
    this.free(1)
  }

  // --- what PINGs tell it ----------------------------------------------------------------------------------------------

  onConfirmed(resets: number): void {
    this.free(resets)
  }

  onDead(silentFor: number): void {
    const seconds = Math.round(silentFor / 100) / 10
    this.destroy(
      new Http2LaneError("ConnectionDead", `nothing has come for ${seconds} s, and no answer to a PING`)
    )
  }

  // --- what the session tells it ---------------------------------------------------------------------------------------

  private onSettings({ maxConcurrentStreams = Infinity, maxHeaderListSize = Infinity }: Settings): void {
    const before = this.capacity
    this.allowed = Math.min(this.settings.streamsPerLane, maxConcurrentStreams)
    this.accepted = this.allowed
    this.mostHeaderBytes = Math.min(mostHeaderBytes, maxHeaderListSize)
    if (this.capacity > before) this.free(0)
  }

  private onGoAway(code: number, lastStream: number): void {
    this.lastStream = Math.min(this.lastStream, lastStream)
    if (code !== constants.NGHTTP2_NO_ERROR) {
      // Node ends the session now, and the socket when all has been written: which a server that has gone would never let happen
      this.endedBy ??= new Http2LaneError("GoAway", `the server ended the connection: ${errorName(code)}`)
      setImmediate(() => this.socket.destroy())
    }
    this.drainBecause("GoAway")
  }

  private onClose(): void {
    this.pings.stop()
    keepForAWhile(this.native)
    this.owner.onClosed(this, this.endedBy)
  }

  private free(slots: number): void {
    this.inFlight -= slots
    if (this.inFlight === 0) this.session.unref()
    // one that may send nothing at all is at least idle
    const isFree = this.inFlight < this.capacity || this.inFlight === 0
    if (isFree && this.state === "open") this.owner.onFree(this)
  }

  private drainBecause(reason: DrainReason): void {
    if (this.draining) return
    this.draining = true
    this.owner.onDraining(this, reason)
    this.closeIfDone()
  }

  private closeIfDone(): void {
    if (!this.draining || this.closing || this.live > 0 || this.session.destroyed) return
    this.closing = true
    this.session.goaway()
    // when the GOAWAY has been written; to end the session instead would reset what was abandoned, stream by stream
    setImmediate(() => this.socket.destroy())
  }
}
