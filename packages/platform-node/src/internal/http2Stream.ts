import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader
} from "node:http2"
import { finished, Readable } from "node:stream"
import { Http2LaneError } from "./http2Error.js"
import { requestHeaders } from "./http2Headers.js"
import type { Exchange, Sent } from "./lane.js"

/** Of the answer to a cancelled request that cannot be reset so many bytes are read; then its sender has to wait. */
const mostDropped = 64 * 1024

const withoutBody = { endStream: true }
const withBody = { endStream: false }

/** Why a stream ended, and whether the server has not begun to work on its request. */
export interface Failure {
  readonly error: Error
  readonly refused: boolean
}

/** What a request needs of its lane. */
export interface StreamHost {
  readonly session: ClientHttp2Session
  readonly mostHeaderBytes: number
  onReceived(): void
  failureOf(stream: ClientHttp2Stream, cause: Error | undefined): Failure
  /** The whole answer has come. */
  onAnswered(): void
  /** Nobody waits for the answer any more. */
  onSettled(): void
  /** Whether one more stream may be reset. */
  takeReset(): boolean
  /** A stream has been reset: its slot is free when the server has handled it. */
  onReset(): void
  /** A request that nobody waits for keeps its slot, since it may not be reset. */
  onAbandoned(): void
  /** Its slot is free. */
  onReleased(): void
}

/** The field of a stream that holds its request: with it listeners are functions that all streams share. */
const request = Symbol()

interface LaneStream extends ClientHttp2Stream {
  [request]: Http2Request
}

function onResponse(this: LaneStream, headers: IncomingHttpHeaders & IncomingHttpStatusHeader): void {
  const { exchange, host, settled } = this[request]
  host.onReceived()
  if (!settled) {
    const status = headers[":status"]!
    delete headers[":status"]
    exchange.onHeaders(status, headers)
  }
  // not before the headers have been told, since data could overtake them
  this.on("data", onData)
}

function onData(this: LaneStream, chunk: Uint8Array): void {
  const sent = this[request]
  sent.host.onReceived()
  if (sent.settled) return sent.drop(chunk.length)
  if (!sent.exchange.onData(chunk) && !sent.settled && !sent.whole) this.pause()
}

function onEnd(this: LaneStream): void {
  this[request].onEnd()
}

function onError(this: LaneStream, error: Error): void {
  this[request].cause = error
}

function onClose(this: LaneStream): void {
  this[request].onClose()
}

function onAborted(this: LaneStream): void {
  this[request].onAborted()
}

/**
 * Node ends a stream's readable side alike whether the answer is whole or the stream has been closed in the middle of it; but only a stream that is
 * still open hears of its last frame.
 */
function push(this: LaneStream, chunk: unknown, encoding?: BufferEncoding): boolean {
  const isWhole = chunk === null && !this.closed
  if (isWhole) this[request].whole = true
  const wantsMore = Readable.prototype.push.call(this, chunk, encoding)
  // no more can be held back, and what waits here is lost when the connection ends
  if (isWhole) this.resume()
  return wantsMore
}

/** Node ends a stream that it is about to reset: to the server the half of an upload that has been sent would pass for the whole. */
function endNothing(this: LaneStream): LaneStream {
  return this
}

/** One request on its stream. */
export class Http2Request implements Sent {
  /** Its exchange has been told all that it will be told. */
  settled = false
  /** The last frame of the answer has come. */
  whole = false
  cause: Error | undefined = undefined

  private stream: LaneStream | undefined = undefined
  private holdsSlot = true
  private dropped = 0

  constructor(
    readonly host: StreamHost,
    readonly exchange: Exchange
  ) {}

  start(): void {
    const { exchange, host } = this
    const headers = requestHeaders(exchange, host.mostHeaderBytes)
    if (headers instanceof Error) return queueMicrotask(() => this.fail({ error: headers, refused: false }))
    const { body } = exchange
    const empty = body === undefined || (!(body instanceof Readable) && body.length === 0)
    if (host.session.destroyed) {
      const error = new Http2LaneError("ConnectionClosed", "the connection ended before the request was sent")
      return queueMicrotask(() => this.fail({ error, refused: true }))
    }
    const stream = host.session.request(headers, empty ? withoutBody : withBody) as LaneStream
    this.stream = stream
    stream[request] = this
    stream.push = push
    stream.on("response", onResponse).on("end", onEnd).on("error", onError).on("close", onClose)
    if (body instanceof Readable) this.startUpload(body, stream)
    else if (!empty) stream.end(body)
    exchange.onSent()
  }

  resume(): void {
    if (!this.settled) this.stream?.resume()
  }

  cancel(): void {
    if (this.settled) return
    this.settled = true
    this.giveUp()
    this.host.onSettled()
  }

  onEnd(): void {
    // closed by the server in the middle of the answer: Node would wait for the end of the upload before it says so
    if (!this.whole) return void this.stream!.destroy()
    if (this.settled) return
    this.settled = true
    this.host.onAnswered()
    this.exchange.onEnd()
    // an upload that is done has its stream closed in this turn; of one that is not the server wants no more
    if (!this.stream!.writableFinished) setImmediate(() => this.endUpload())
    this.host.onSettled()
  }

  onClose(): void {
    if (!this.settled) this.fail(this.host.failureOf(this.stream!, this.cause))
    else this.release()
  }

  /** Nobody hears any more of what comes. */
  drop(bytes: number): void {
    this.dropped += bytes
    if (this.dropped >= mostDropped && !this.whole) this.stream!.pause()
  }

  /** The server takes no more of the upload. If nothing of it has been read, another lane may. */
  onAborted(): void {
    if (this.isTouched) this.stopUpload()
    else this.upload?.unpipe(this.stream)
  }

  private get upload(): Readable | undefined {
    const { body } = this.exchange
    return body instanceof Readable ? body : undefined
  }

  private get isTouched(): boolean {
    return this.upload?.readableDidRead === true
  }

  private stopUpload(): void {
    this.upload?.unpipe(this.stream)
    this.upload?.destroy()
  }

  private startUpload(body: Readable, stream: LaneStream): void {
    stream.on("aborted", onAborted)
    finished(body, { writable: false }, (cause) => {
      if (cause == null || this.settled || stream.closed) return
      this.settled = true
      this.exchange.onError(new Http2LaneError("BodyFailed", "the request's body failed", cause))
      this.giveUp()
      this.host.onSettled()
    })
    body.pipe(stream)
  }

  private fail({ error, refused }: Failure): void {
    if (this.settled) return
    const isAsNew = refused && !this.isTouched
    this.settled = true
    if (!isAsNew) this.stopUpload()
    this.release()
    if (isAsNew) this.exchange.onRefused(error)
    else this.exchange.onError(error)
    this.host.onSettled()
  }

  private endUpload(): void {
    const stream = this.stream!
    this.stopUpload()
    if (stream.closed) stream.destroy()
    else if (!stream.writableFinished) this.giveUp()
  }

  /** Ends the stream, unless both ends have ended it by themselves. */
  private giveUp(): void {
    const { host, stream } = this
    this.stopUpload()
    if (stream === undefined) return this.release()
    if (this.whole && stream.writableFinished) {
      // the slot is free when what has come is out of the way
      stream.resume()
    } else if (host.takeReset()) {
      this.holdsSlot = false
      if (!stream.writableEnded) stream.end = endNothing
      stream.close(constants.NGHTTP2_CANCEL)
      // one that waits for the server to allow more streams would wait on
      stream.destroy()
      host.onReset()
    } else {
      stream.resume()
      host.onAbandoned()
    }
  }

  private release(): void {
    if (!this.holdsSlot) return
    this.holdsSlot = false
    this.host.onReleased()
  }
}
