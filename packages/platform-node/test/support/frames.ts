/**
 * HTTP/2 frames written by hand (RFC 9113): a server for what Node's own would never do.
 * It does not read header blocks: a test knows its requests by the order of their streams (1, 3, 5, …).
 */
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { Watched } from "./lane.js"

export const FrameType = {
  Data: 0,
  Headers: 1,
  RstStream: 3,
  Settings: 4,
  PushPromise: 5,
  Ping: 6,
  GoAway: 7,
  WindowUpdate: 8,
  Continuation: 9
} as const

export const ErrorCode = {
  None: 0,
  Protocol: 1,
  Internal: 2,
  RefusedStream: 7,
  Cancel: 8,
  EnhanceYourCalm: 11
} as const

export const Setting = { MaxConcurrentStreams: 3, InitialWindowSize: 4, MaxHeaderListSize: 6 } as const

export interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

const Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
const Ack = 1
const EndStream = 1
const EndHeaders = 4
const MaxFrame = 16_384

const literal = (text: string): Buffer => {
  const bytes = Buffer.from(text, "latin1")
  if (bytes.length < 127) return Buffer.concat([Buffer.of(bytes.length), bytes])
  const length = [127]
  let rest = bytes.length - 127
  for (; rest >= 128; rest >>= 7) length.push((rest & 127) | 128)
  return Buffer.concat([Buffer.of(...length, rest), bytes])
}

/** A header block of literals without indexing (RFC 7541, 6.2.2). */
export const headerBlock = (fields: ReadonlyArray<readonly [name: string, value: string]>): Buffer =>
  Buffer.concat(fields.flatMap(([name, value]) => [Buffer.of(0), literal(name), literal(value)]))

export interface PeerOptions {
  /** What the first SETTINGS say; `"none"` sends none. */
  readonly settings?: Readonly<Record<number, number>> | "none"
  /** Whether PINGs are answered at once. */
  readonly answersPings?: boolean
  /** Whether windows are opened again for what has been read. */
  readonly opensWindows?: boolean
}

/** The server's end of one connection. */
export class FramePeer extends Watched {
  readonly received: Array<Frame> = []
  private buffered: Buffer = Buffer.alloc(0)
  private greeted = false
  closed = false

  constructor(
    readonly socket: Socket,
    private readonly options: PeerOptions
  ) {
    super()
    socket.setNoDelay()
    if (options.settings !== "none") this.settings(options.settings ?? {})
    socket.on("data", (chunk) => this.read(chunk))
    socket.on("error", () => {})
    socket.on("close", () => {
      this.closed = true
      this.changed()
    })
  }

  frames(type: number): ReadonlyArray<Frame> {
    return this.received.filter((frame) => frame.type === type)
  }

  /** The streams that the client has opened, in order. */
  get streams(): ReadonlyArray<number> {
    return this.frames(FrameType.Headers).map((frame) => frame.stream)
  }

  /** Waits until the client has opened so many streams. */
  opened(count: number): Promise<void> {
    return this.until((peer) => peer.streams.length >= count)
  }

  frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): void {
    if (this.socket.destroyed) return
    const head = Buffer.alloc(9)
    head.writeUIntBE(payload.length, 0, 3)
    head.writeUInt8(type, 3)
    head.writeUInt8(flags, 4)
    head.writeUInt32BE(stream, 5)
    this.socket.write(Buffer.concat([head, payload]))
  }

  settings(values: Readonly<Record<number, number>>): void {
    const entries = Object.entries(values)
    const payload = Buffer.alloc(entries.length * 6)
    entries.forEach(([id, value], index) => {
      payload.writeUInt16BE(Number(id), index * 6)
      payload.writeUInt32BE(value, index * 6 + 2)
    })
    this.frame(FrameType.Settings, 0, 0, payload)
  }

  headers(
    stream: number,
    fields: ReadonlyArray<readonly [name: string, value: string]>,
    end: "end" | "more"
  ): void {
    const block = headerBlock(fields)
    const endStream = end === "end" ? EndStream : 0
    for (let at = 0; at === 0 || at < block.length; at += MaxFrame) {
      const isLast = at + MaxFrame >= block.length
      const type = at === 0 ? FrameType.Headers : FrameType.Continuation
      const flags = (isLast ? EndHeaders : 0) | (at === 0 ? endStream : 0)
      this.frame(type, flags, stream, block.subarray(at, at + MaxFrame))
    }
  }

  data(stream: number, bytes: string | Buffer, end: "end" | "more"): void {
    this.frame(FrameType.Data, end === "end" ? EndStream : 0, stream, Buffer.from(bytes as string))
  }

  /** Answers a stream with a status and a body. */
  answer(stream: number, body = "", status = 200): void {
    this.headers(stream, [[":status", String(status)]], body === "" ? "end" : "more")
    if (body !== "") this.data(stream, body, "end")
  }

  reset(stream: number, code: number): void {
    const payload = Buffer.alloc(4)
    payload.writeUInt32BE(code)
    this.frame(FrameType.RstStream, 0, stream, payload)
  }

  goAway(lastStream: number, code: number = ErrorCode.None): void {
    const payload = Buffer.alloc(8)
    payload.writeUInt32BE(lastStream)
    payload.writeUInt32BE(code, 4)
    this.frame(FrameType.GoAway, 0, 0, payload)
  }

  openWindow(stream: number, bytes: number): void {
    const payload = Buffer.alloc(4)
    payload.writeUInt32BE(bytes)
    this.frame(FrameType.WindowUpdate, 0, stream, payload)
  }

  /** Waits until the client has handled all that it was sent: for the answer to a PING. */
  handled(): Promise<void> {
    const answers = () => this.frames(FrameType.Ping).filter((ping) => (ping.flags & Ack) !== 0).length
    const before = answers()
    this.frame(FrameType.Ping, 0, 0, Buffer.alloc(8))
    return this.until(() => answers() > before)
  }

  /** Answers the PINGs that have not been answered. */
  answerPings(): void {
    for (const ping of this.unanswered.splice(0)) this.frame(FrameType.Ping, Ack, 0, ping.payload)
  }
  readonly unanswered: Array<Frame> = []

  private read(chunk: Buffer): void {
    this.buffered = Buffer.concat([this.buffered, chunk])
    if (!this.greeted) {
      if (this.buffered.length < Preface.length) return
      this.greeted = true
      this.buffered = this.buffered.subarray(Preface.length)
    }
    while (this.buffered.length >= 9) {
      const length = this.buffered.readUIntBE(0, 3)
      if (this.buffered.length < 9 + length) break
      this.take({
        type: this.buffered.readUInt8(3),
        flags: this.buffered.readUInt8(4),
        stream: this.buffered.readUInt32BE(5) & 0x7fffffff,
        payload: this.buffered.subarray(9, 9 + length)
      })
      this.buffered = this.buffered.subarray(9 + length)
    }
    this.changed()
  }

  private take(frame: Frame): void {
    this.received.push(frame)
    const acknowledges = (frame.flags & Ack) !== 0
    if (frame.type === FrameType.Settings && !acknowledges) this.frame(FrameType.Settings, Ack, 0)
    if (frame.type === FrameType.Ping && !acknowledges) {
      this.unanswered.push(frame)
      if (this.options.answersPings !== false) this.answerPings()
    }
    if (frame.type === FrameType.Data && frame.payload.length > 0 && this.options.opensWindows !== false) {
      this.openWindow(0, frame.payload.length)
      if ((frame.flags & EndStream) === 0) this.openWindow(frame.stream, frame.payload.length)
    }
  }
}

/** A server of such connections on a free port of the loopback address. */
export class FrameServer {
  readonly peers: Array<FramePeer> = []
  private readonly waiting: Array<(peer: FramePeer) => void> = []
  private readonly server: Server

  constructor(options: PeerOptions = {}) {
    this.server = createServer((socket) => {
      const peer = new FramePeer(socket, options)
      this.peers.push(peer)
      this.waiting.shift()?.(peer)
    })
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  /** The next connection. */
  accept(): Promise<FramePeer> {
    return new Promise((resolve) => this.waiting.push(resolve))
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve))
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => resolve())
      for (const peer of this.peers) peer.socket.destroy()
    })
  }
}
