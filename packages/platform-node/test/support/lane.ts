import type { IncomingHttpHeaders } from "node:http"
import { connect as connectTcp, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import { type Http2Settings, openHttp2 } from "../../src/internal/http2Lane.js"
import type { DrainReason, Exchange, Lane, LaneOwner, Sent } from "../../src/internal/lane.js"
import { resolve as resolveUpstream } from "../../src/internal/upstream.js"

/** Something whose changes can be waited for, without a clock. */
export class Watched {
  private readonly watchers = new Set<() => void>()

  until(predicate: (it: this) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        if (!predicate(this)) return
        this.watchers.delete(check)
        resolve()
      }
      this.watchers.add(check)
      check()
    })
  }

  changed(): void {
    for (const check of this.watchers) check()
  }
}

/** An exchange that keeps all that it is told, in order. */
export class RecordedExchange extends Watched implements Exchange {
  readonly told: Array<"sent" | "headers" | "data" | "end" | "refused" | "error"> = []
  readonly chunks: Array<Uint8Array> = []
  status = 0
  answerHeaders: IncomingHttpHeaders = {}
  error: (Error & { readonly code?: string }) | undefined = undefined
  /** Whether it has room for more. */
  hasRoom = true

  readonly method: string
  readonly path: string
  readonly authority: string
  readonly scheme: "http" | "https"
  readonly headers: Readonly<Record<string, string>>
  readonly body: Exchange["body"]

  constructor(
    request: Partial<Pick<Exchange, "method" | "path" | "authority" | "scheme" | "headers" | "body">>
  ) {
    super()
    this.method = request.method ?? "GET"
    this.path = request.path ?? "/"
    this.authority = request.authority ?? "example.test"
    this.scheme = request.scheme ?? "http"
    this.headers = request.headers ?? {}
    this.body = request.body
  }

  get received(): Buffer {
    return Buffer.concat(this.chunks)
  }

  get text(): string {
    return this.received.toString()
  }

  /** How it ended, once it has. */
  get outcome(): "end" | "refused" | "error" | undefined {
    const last = this.told.at(-1)
    return last === "end" || last === "refused" || last === "error" ? last : undefined
  }

  /** Waits for its end, whatever that is. */
  get settled(): Promise<void> {
    return this.until((it) => it.outcome !== undefined)
  }

  onSent(): void {
    this.tell("sent")
  }

  onHeaders(status: number, headers: IncomingHttpHeaders): void {
    this.status = status
    this.answerHeaders = headers
    this.tell("headers")
  }

  onData(chunk: Uint8Array): boolean {
    this.chunks.push(chunk)
    this.tell("data")
    return this.hasRoom
  }

  onEnd(): void {
    this.tell("end")
  }

  onRefused(error: Error): void {
    this.error = error
    this.tell("refused")
  }

  onError(error: Error): void {
    this.error = error
    this.tell("error")
  }

  private tell(what: this["told"][number]): void {
    this.told.push(what)
    this.changed()
  }
}

/** An owner that keeps what its lane tells it. */
export class RecordedOwner extends Watched implements LaneOwner {
  readonly drained: Array<DrainReason> = []
  frees = 0
  closings = 0
  closedBy: Error | undefined = undefined

  onFree(_lane: Lane): void {
    this.frees++
    this.changed()
  }

  onDraining(_lane: Lane, reason: DrainReason): void {
    this.drained.push(reason)
    this.changed()
  }

  onClosed(_lane: Lane, error: Error | undefined): void {
    this.closings++
    this.closedBy = error
    this.changed()
  }

  get closed(): Promise<void> {
    return this.until((it) => it.closings > 0)
  }
}

export interface OpenedLane {
  readonly lane: Lane
  readonly owner: RecordedOwner
  readonly socket: Socket
  readonly send: (request?: ConstructorParameters<typeof RecordedExchange>[0]) => SentExchange
}

export interface SentExchange {
  readonly exchange: RecordedExchange
  readonly sent: Sent
}

const connected = (port: number, tls: boolean): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = tls
      ? connectTls({ host: "127.0.0.1", port, ALPNProtocols: ["h2"], rejectUnauthorized: false })
      : connectTcp(port, "127.0.0.1")
    socket.once("error", reject)
    socket.once(tls ? "secureConnect" : "connect", () => {
      socket.off("error", reject)
      resolve(socket)
    })
  })

/** A lane to a server on the loopback address. */
export const openLane = async (
  port: number,
  settings: Partial<Http2Settings> = {},
  tls = false
): Promise<OpenedLane> => {
  const socket = await connected(port, tls)
  const owner = new RecordedOwner()
  const lane = openHttp2(socket, { ...resolveUpstream(`http://127.0.0.1:${port}`, {}), ...settings }, owner)
  return {
    lane,
    owner,
    socket,
    send: (request = {}) => {
      const exchange = new RecordedExchange({ scheme: tls ? "https" : "http", ...request })
      return { exchange, sent: lane.send(exchange) }
    }
  }
}
