import type { IncomingHttpHeaders } from "node:http"
import { performance } from "node:perf_hooks"
import type { Readable } from "node:stream"
import type { CallLanes } from "./callLanes.js"
import type { LaneGroup } from "./group.js"
import type { Exchange, Lane, Sent } from "./lane.js"

/** Of a body that nobody reads this much is taken in; then its sender has to wait. */
const mostUnread = 64 * 1024

/** What is sent, and where. */
export interface Outgoing {
  readonly method: string
  readonly path: string
  readonly authority: string
  readonly scheme: "http" | "https"
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | string | Readable | undefined
}

/** Who waits for the head of the answer, or for nothing. */
export interface Waiter {
  readonly onHead: () => void
  readonly onFailed: (error: Error, sent: boolean) => void
}

/** One who reads the body. */
export interface Reader {
  /** There is more to take, or the end, or an error. */
  readonly onMore: () => void
}

/** One request and its answer, from the queue to the last byte, over whatever lane it is given. */
export class Transfer implements Exchange {
  readonly method: string
  readonly path: string
  readonly authority: string
  readonly scheme: "http" | "https"
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | string | Readable | undefined

  // performance.now() of each; 0 if it has not come
  readonly startedAt = performance.now()
  takenAt = 0
  sentAt = 0
  firstByteAt = 0
  endedAt = 0
  lane: Lane | undefined = undefined
  /** Whether it is the first on its lane. */
  fresh = false
  /** Other requests on its lane when it was taken. */
  activeStreams = 0

  status = 0
  responseHeaders: IncomingHttpHeaders = {}
  /** Why there is no more to come, besides the end. */
  failure: Error | undefined = undefined
  ended = false

  /** What has come of the body and has not been taken. */
  private chunks: Array<Uint8Array> = []
  private unread = 0
  private most = mostUnread
  private paused = false
  private reader: Reader | undefined = undefined
  private sent: Sent | undefined = undefined

  constructor(
    outgoing: Outgoing,
    readonly group: LaneGroup,
    /** The lanes of its call, and which attempt it belongs to, if it is part of one. */
    readonly call: CallLanes | undefined,
    readonly attempt: number | undefined,
    private readonly waiter: Waiter
  ) {
    this.method = outgoing.method
    this.path = outgoing.path
    this.authority = outgoing.authority
    this.scheme = outgoing.scheme
    this.headers = outgoing.headers
    this.body = outgoing.body
  }

  /** It is given to a lane. */
  take(lane: Lane, fresh: boolean): void {
    this.takenAt = performance.now()
    this.lane = lane
    this.fresh = fresh
    this.activeStreams = lane.inFlight
    const sent = lane.send(this)
    if (!this.settled) this.sent = sent
  }

  /** Whether nothing more will come. */
  get settled(): boolean {
    return this.ended || this.failure !== undefined
  }

  /** Nobody wants it any more. */
  cancel(error: Error): void {
    if (this.settled) return
    this.failure = error
    this.chunks = []
    if (this.lane === undefined) this.group.withdraw(this)
    else this.sent?.cancel()
    this.finish()
    this.reader?.onMore()
  }

  // --- its body ------------------------------------------------------------------------------------------------------

  /** Only one reads at a time, and is told of what comes. `most` bytes are taken in before they are taken out. */
  attach(reader: Reader | undefined, most: number): void {
    this.reader = reader
    this.most = most
    this.resumeIfRoom()
  }

  get isRead(): boolean {
    return this.reader !== undefined
  }

  get buffered(): number {
    return this.unread
  }

  /** All that has come and has not been taken. */
  takeChunks(): Array<Uint8Array> {
    const { chunks } = this
    this.chunks = []
    this.unread = 0
    this.resumeIfRoom()
    return chunks
  }

  private resumeIfRoom(): void {
    if (!this.paused || this.unread >= this.most) return
    this.paused = false
    this.sent?.resume()
  }

  // --- what the lane tells -------------------------------------------------------------------------------------------

  onSent(): void {
    this.sentAt = performance.now()
  }

  onHeaders(status: number, headers: IncomingHttpHeaders): void {
    this.firstByteAt = performance.now()
    this.status = status
    this.responseHeaders = headers
    this.waiter.onHead()
  }

  onData(chunk: Uint8Array): boolean {
    this.chunks.push(chunk)
    this.unread += chunk.length
    this.reader?.onMore()
    this.paused = this.unread >= this.most
    return !this.paused
  }

  onEnd(): void {
    this.ended = true
    this.finish()
    this.reader?.onMore()
  }

  onRefused(error: Error): void {
    this.onError(error)
  }

  onError(error: Error): void {
    this.failure = error
    this.finish()
    if (this.firstByteAt === 0) this.waiter.onFailed(error, this.sentAt !== 0)
    else this.reader?.onMore()
  }

  private finish(): void {
    this.endedAt = performance.now()
    this.sent = undefined
  }
}
