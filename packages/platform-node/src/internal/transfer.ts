import type { IncomingHttpHeaders } from "node:http"
import { performance } from "node:perf_hooks"
import { Readable } from "node:stream"
import type { HedgeAttempt } from "effect-hedge"
import type { RequestEnded } from "../LaneEvent.js"
import type { CallLanes } from "./callLanes.js"
import type { LaneGroup } from "./group.js"
import type { Exchange, Lane, Sent } from "./lane.js"
import type { Member } from "./member.js"

/** Of a body that nobody reads so many bytes are taken in; then its sender has to wait. */
const mostUnread = 64 * 1024

/** Milliseconds that a request may wait for its lane without its hedge being put off. */
const shortWait = 1

/** What is sent of a request besides its method and path. */
export type SentBody = Uint8Array | string | Readable | undefined

const noChunks: ReadonlyArray<Uint8Array> = []

/** One request and its answer, from the queue to the last byte, over whatever lane it is given. */
export class Transfer implements Exchange {
  // performance.now() of what has happened; NaN of what has not. No field that begins with a small integer ever holds another number: V8 would change
  // the shape of all transfers that are in flight
  readonly startedAt = performance.now()
  takenAt = Number.NaN
  sentAt = Number.NaN
  firstByteAt = Number.NaN
  endedAt = Number.NaN
  /** Its lane. */
  member: Member | undefined = undefined
  /** Whether it is the first on its lane. */
  fresh = false
  /** What its attempt has been told last. */
  private queued = false
  /** Other requests on its lane when it was taken. */
  activeStreams = 0
  /** The one that its call made before it. */
  before: Transfer | undefined = undefined
  /** Lanes that could not send it and have sent nothing else, or may send other requests. */
  refusals = 0

  status = 0
  answerHeaders: IncomingHttpHeaders = {}
  /** Why there is no more to come, if that is not the end. */
  failure: Error | undefined = undefined
  ended = false

  /** What has come of the body and has not been taken. */
  private chunks: Array<Uint8Array> | undefined = undefined
  unread = 0
  /** Whether some of it has been taken. */
  isTaken = false
  /** Whether its reader wants all of it at once. */
  private wantsAll = false
  private paused = false
  private readers: Set<() => void> | undefined = undefined
  private sent: Sent | undefined = undefined

  constructor(
    readonly group: LaneGroup,
    readonly method: string,
    readonly path: string,
    readonly authority: string,
    readonly headers: Readonly<Record<string, string>>,
    readonly body: SentBody,
    /** The number of the attempt that it is part of, if it is hedged, and the lanes of its call. Not the attempt itself, which holds the answer. */
    readonly attempt: number | undefined,
    readonly call: CallLanes | undefined,
    /** The id of its call, if there is somebody to be told of it. */
    readonly callId: string | undefined,
    /** The attempt, until the head of its answer has come: what is refused may be sent again. */
    private unanswered: HedgeAttempt.HedgeAttempt | undefined,
    /** Told once: the head of the answer has come, or it has failed before. */
    private onHead: (() => void) | undefined
  ) {
    if (body instanceof Readable) body.on("error", (error) => this.onBodyFailed(error))
  }

  get scheme(): "http" | "https" {
    return this.group.upstream.secure ? "https" : "http"
  }

  get lane(): Lane | undefined {
    return this.member?.lane
  }

  /** Whether its headers have been handed to a socket. */
  get isSent(): boolean {
    return !Number.isNaN(this.sentAt)
  }

  /** Whether the head of the answer has come. */
  get isAnswered(): boolean {
    return !Number.isNaN(this.firstByteAt)
  }

  /** Whether nothing more will come. */
  get settled(): boolean {
    return this.ended || this.failure !== undefined
  }

  /** Whether, for now, a hedge would only wait behind it. */
  setQueued(queued: boolean): void {
    if (queued === this.queued) return
    this.queued = queued
    if (queued) this.unanswered?.queued()
    else this.unanswered?.sent()
  }

  /** A lane takes it. */
  take(member: Member): void {
    const { lane } = member
    this.takenAt = performance.now()
    this.member = member
    this.fresh = member.requests === 1
    this.activeStreams = lane.inFlight
    const sent = lane.send(this)
    if (!this.settled) this.sent = sent
  }

  /** Nobody wants it any more. */
  cancel(error: Error): void {
    if (this.settled) return
    const { sent } = this
    this.failure = error
    this.chunks = undefined
    this.unread = 0
    if (this.member === undefined) this.group.withdraw(this)
    this.settle("Cancelled")
    sent?.cancel()
  }

  // --- its body ------------------------------------------------------------------------------------------------------

  /** A reader is told that there is more to take, or the end, or an error. One that wants all lets in any number of bytes. */
  attach(reader: () => void, wantsAll: boolean): void {
    this.readers ??= new Set()
    this.readers.add(reader)
    this.wantsAll = wantsAll
    this.resumeIfRoom()
  }

  detach(reader: () => void): void {
    this.readers?.delete(reader)
  }

  private tellReaders(): void {
    if (this.readers !== undefined) for (const reader of this.readers) reader()
  }

  /** All that has come and has not been taken. */
  takeChunks(): ReadonlyArray<Uint8Array> {
    const { chunks = noChunks } = this
    this.chunks = undefined
    this.isTaken ||= this.unread > 0
    this.unread = 0
    this.resumeIfRoom()
    return chunks
  }

  private get isFull(): boolean {
    return this.unread >= mostUnread && !this.wantsAll
  }

  private resumeIfRoom(): void {
    if (!this.paused || this.isFull) return
    this.paused = false
    this.sent?.resume()
  }

  // --- what its lane tells ---------------------------------------------------------------------------------------------

  onSent(): void {
    this.sentAt = performance.now()
    if (this.queued || this.sentAt - this.startedAt > shortWait) this.unanswered?.sent()
    this.queued = false
  }

  onHeaders(status: number, headers: IncomingHttpHeaders): void {
    this.firstByteAt = performance.now()
    this.status = status
    this.answerHeaders = headers
    this.tellHead()
  }

  onData(chunk: Uint8Array): boolean {
    if (this.chunks === undefined) this.chunks = listOf(chunk)
    else this.chunks.push(chunk)
    this.unread += chunk.length
    this.paused = this.isFull
    this.tellReaders()
    return !this.paused
  }

  onEnd(): void {
    this.ended = true
    this.settle("Completed")
  }

  onRefused(error: Error): void {
    if (this.settled) return
    // one that has served others and ends now is no sign that the next will refuse, too
    if (this.fresh || this.lane?.state === "open") this.refusals++
    this.member = undefined
    this.sent = undefined
    this.takenAt = Number.NaN
    this.sentAt = Number.NaN
    this.group.restart(this, error)
  }

  onError(error: Error): void {
    if (this.settled) return
    this.failure = error
    this.settle("Failed")
  }

  /** While it waits. On a lane it is the lane's. */
  private onBodyFailed(error: Error): void {
    if (this.settled || this.member !== undefined) return
    this.group.withdraw(this)
    this.onError(error)
  }

  private tellHead(): void {
    const { onHead } = this
    this.onHead = undefined
    this.unanswered = undefined
    onHead?.()
  }

  private settle(outcome: RequestEnded["outcome"]): void {
    const { body, group } = this
    this.endedAt = performance.now()
    this.sent = undefined
    // its attempt may go on with another request
    this.setQueued(false)
    if (body instanceof Readable && !body.destroyed) body.destroy()
    group.reporter?.requestEnded(this, outcome)
    if (!this.isAnswered) this.tellHead()
    this.tellReaders()
  }
}

/** An array without an allocation site: those of literals that outlive the first collections are born old, and keep what they hold. */
const listOf = <A>(...elements: Array<A>): Array<A> => elements
