import type { IncomingHttpHeaders } from "node:http"
import type { Socket } from "node:net"
import { Client, type Dispatcher, errors, util } from "undici"
import type { Exchange, Lane, LaneOwner, Sent } from "./lane.js"
import { nextLaneId } from "./laneId.js"

/** The rest of a cancelled response that is read to keep the connection, in bytes. */
const mostDrained = 64 * 1024
/** How long it may take: where the server has said how much is to come, and where it has not. */
const longestKnownDrain = 1000
const longestUnknownDrain = 100

export interface Http1Settings {
  readonly authority: string
  /** How long the connection is kept while it is idle, in milliseconds. */
  readonly keepAlive: number
}

/** One of the options of a `Connection` header, or of several. */
const close = /(?:^|,)\s*close\s*(?:,|$)/i

const unsendable = new Error("the connection was closed before the request was sent")

const isUnsendable = (error: Error): boolean =>
  error === unsendable || error instanceof errors.ClientDestroyedError

const brokenOff = new errors.InformationalError("the answer was given up")

const bodyMethods = new Set(["POST", "PUT", "PATCH", "QUERY", "PROPFIND", "PROPPATCH"])

/** Whether undici ends the connection after it: after a request for a head, and after one with a body by a method that has none as a rule. */
const endsConnection = ({ body, method }: Exchange): boolean => {
  if (method === "HEAD") return true
  const isEmpty = body === undefined || (body as { readonly length?: number }).length === 0
  return !isEmpty && !bodyMethods.has(method)
}

/** What undici ends its own connections with, in order. */
const isInOrder = (error: Error): boolean => error instanceof errors.InformationalError

/**
 * A lane that speaks HTTP/1.1: an undici `Client` over a connected socket, which is given one request at a time. The lane itself is the handler of
 * them all: none of its parts is made anew for a request.
 */
class Http1Lane implements Lane, Sent, Dispatcher.DispatchHandler {
  readonly id = nextLaneId()
  readonly protocol = "http/1.1"
  readonly address: string
  private readonly authority: string
  readonly capacity = 1
  readonly roundTrip = 0
  inFlight = 0

  private readonly client: Client
  private readonly request: {
    -readonly [K in keyof Dispatcher.DispatchOptions]: Dispatcher.DispatchOptions[K]
  }
  private exchange: Exchange | undefined = undefined
  private draining = false
  private written = false
  private answered = false
  /** Whether what comes is left in the socket. */
  private held = false
  /** Of the response: bytes that are still to come, if it is known; undefined if only its end will tell. */
  private left: number | undefined = undefined
  private endsWithConnection = false
  private bodiless = false
  private drainer: NodeJS.Timeout | undefined = undefined
  private drained = 0
  private closedBy: Error | undefined = undefined

  constructor(
    private readonly socket: Socket,
    settings: Http1Settings,
    private readonly owner: LaneOwner
  ) {
    this.address = `${socket.remoteAddress}:${socket.remotePort}`
    const origin = `http://${settings.authority}`
    // without the port 80, which undici leaves out also where the lane is a secure one
    this.authority = new URL(origin).host
    this.request = { path: "", method: "GET" }
    let given = false
    this.client = new Client(origin, {
      connect: (_options, callback) => {
        if (given) return callback(unsendable, null)
        given = true
        // undici does not look again if it is answered while it asks
        queueMicrotask(() => callback(null, socket))
      },
      pipelining: 1,
      keepAliveTimeout: settings.keepAlive,
      keepAliveMaxTimeout: settings.keepAlive,
      headersTimeout: 0,
      bodyTimeout: 0
    })
    socket.on("error", (error) => {
      if (isInOrder(error) || this.isWhole(error)) return
      this.closedBy = error
      // undici takes a reset for the end of an answer that ends with its connection
      if (this.answered) this.fail(error)
    })
    // undici's own listener, which fails what is in flight, comes later
    socket.once("close", () => queueMicrotask(() => this.onClose()))
    socket.unref()
  }

  get state(): Lane["state"] {
    if (this.socket.destroyed) return "closed"
    return this.draining ? "draining" : "open"
  }

  send(exchange: Exchange): Sent {
    this.exchange = exchange
    this.inFlight = 1
    this.written = false
    this.answered = false
    this.bodiless = false
    if (endsConnection(exchange)) this.draining = true
    this.socket.ref()
    const { request } = this
    request.method = exchange.method as Dispatcher.HttpMethod
    request.path = exchange.path
    request.headers =
      exchange.authority === this.authority
        ? exchange.headers
        : { ...exchange.headers, host: exchange.authority }
    request.body = exchange.body as NonNullable<Dispatcher.DispatchOptions["body"]>
    this.client.dispatch(request, this)
    return this
  }

  resume(): void {
    if (!this.held) return
    this.letGo()
    this.socket.emit("readable")
  }

  /**
   * What comes waits in the socket. To pause undici's parser instead would end the process if the server closes the connection meanwhile: it asserts that
   * it is not paused then.
   */
  private hold(): void {
    this.held = true
    this.socket.read = () => null
  }

  private letGo(): void {
    this.held = false
    // the method of its class is left
    Reflect.deleteProperty(this.socket, "read")
  }

  private fail(error: Error): void {
    const { exchange } = this
    this.exchange = undefined
    exchange?.onError(error)
  }

  cancel(): void {
    this.exchange = undefined
    if (!this.written) return
    if (this.answered && !this.endsWithConnection && (this.left ?? 0) <= mostDrained) {
      this.drained = 0
      const patience = this.left === undefined ? longestUnknownDrain : longestKnownDrain
      this.drainer = setTimeout(() => this.breakOff(), patience)
      this.drainer.unref()
      this.resume()
    } else this.breakOff()
  }

  /** Not by undici's abort, after which it would connect anew to see that nobody waits. */
  private breakOff(): void {
    this.client.destroy(brokenOff, () => {})
  }

  drain(): void {
    this.draining = true
    if (this.inFlight === 0) this.socket.destroy()
  }

  destroy(error: Error): void {
    this.closedBy ??= error
    void this.client.destroy(error)
    this.socket.destroy()
  }

  // --- what undici tells ---------------------------------------------------------------------------------------------

  onConnect(): void {
    // an error here takes the request back and leaves the connection alone; to abort would close it
    if (this.exchange === undefined) throw unsendable
    this.written = true
    this.exchange.onSent()
  }

  onHeaders(status: number, rawHeaders: Array<Buffer>): boolean {
    if (status < 200) return true
    const headers = util.parseHeaders(rawHeaders) as IncomingHttpHeaders
    this.answered = true
    const length = headers["content-length"]
    this.left = length === undefined ? undefined : Number(length)
    this.bodiless = status === 204 || status === 304
    const closes = headers.connection !== undefined && close.test(String(headers.connection))
    this.endsWithConnection = closes || (length === undefined && headers["transfer-encoding"] === undefined)
    if (closes && !this.draining) {
      this.draining = true
      this.owner.onDraining(this, "GoAway")
    }
    this.exchange?.onHeaders(status, headers)
    return true
  }

  onData(chunk: Buffer): boolean {
    if (this.left !== undefined) this.left -= chunk.length
    if (this.exchange !== undefined) {
      if (!this.exchange.onData(chunk) && !this.held) this.hold()
      return true
    }
    this.drained += chunk.length
    if (this.drained > mostDrained) this.breakOff()
    return true
  }

  onComplete(): void {
    if (this.held) this.letGo()
    this.exchange?.onEnd()
    this.release()
  }

  onError(error: Error): void {
    const { exchange, written } = this
    this.exchange = undefined
    if (!written && (error === this.closedBy || isUnsendable(error))) exchange?.onRefused(error)
    else if (this.isWhole(error)) exchange?.onEnd()
    else exchange?.onError(error)
    if (!written && !this.socket.destroyed) this.release()
  }

  /** undici measures an answer without a body by the length of the one that it would have had (RFC 9110, 8.6). */
  private isWhole(error: Error): boolean {
    return this.bodiless && error instanceof errors.ResponseContentLengthMismatchError
  }

  private release(): void {
    clearTimeout(this.drainer)
    this.drainer = undefined
    this.exchange = undefined
    this.inFlight = 0
    this.forgetRequest()
    if (this.state === "open") this.owner.onFree(this)
    else this.socket.destroy()
  }

  /** A lane may be idle for long. */
  private forgetRequest(): void {
    this.request.headers = null
    this.request.body = null
  }

  private onClose(): void {
    clearTimeout(this.drainer)
    this.forgetRequest()
    void this.client.destroy()
    this.owner.onClosed(this, this.closedBy)
  }
}

/** Makes a lane of a connected socket. */
export const openHttp1 = (socket: Socket, settings: Http1Settings, owner: LaneOwner): Lane =>
  new Http1Lane(socket, settings, owner)
