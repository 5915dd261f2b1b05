import * as Http from "node:http"
import * as Http2 from "node:http2"
import * as Https from "node:https"
import type { AddressInfo, Socket } from "node:net"
import { Effect, type Scope } from "effect"
import { certificate } from "./certificate.js"

export type Protocol = "HTTP/1.1" | "HTTP/1.1 over TLS" | "HTTP/2"

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: Http.IncomingHttpHeaders
  readonly body: string
}

export type Handler = (request: Received, response: Http.ServerResponse) => void

/** A server on a free port of the loopback address, and what it has seen. */
export class TestServer {
  /** What has been asked of it, in the order of arrival. */
  readonly received: Array<Received> = []
  /** Responses that the client gave up before the handler had ended them. */
  cancelled = 0
  /** Responses that have not ended yet. */
  open = 0
  readonly sockets = new Set<Socket>()
  /** Sockets that were ever opened. */
  connections = 0
  private readonly watchers = new Set<() => void>()
  private stopping = false

  constructor(
    readonly protocol: Protocol,
    private readonly handler: Handler,
    private readonly server: AnyServer
  ) {
    server.on("request", (request: Http.IncomingMessage, response: Http.ServerResponse) =>
      this.onRequest(request, response)
    )
    server.on(protocol === "HTTP/1.1" ? "connection" : "secureConnection", (socket: Socket) => {
      socket.on("error", () => {})
      // one whose handshake went on while all others were closed
      if (this.stopping) return socket.destroy()
      this.sockets.add(socket)
      this.connections++
      socket.on("close", () => {
        this.sockets.delete(socket)
        this.changed()
      })
      this.changed()
    })
    // a client that turns its back on a handshake
    server.on("tlsClientError", () => {})
    server.on("sessionError", () => {})
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  get url(): string {
    return `${this.protocol === "HTTP/1.1" ? "http" : "https"}://127.0.0.1:${this.port}`
  }

  /** Waits, without a clock, until something is true of this server. */
  until(predicate: (server: this) => boolean): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      const check = () => {
        if (!predicate(this)) return
        this.watchers.delete(check)
        resume(Effect.void)
      }
      this.watchers.add(check)
      check()
      return Effect.sync(() => this.watchers.delete(check))
    })
  }

  listen(port = 0): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      this.stopping = false
      this.server.listen(port, "127.0.0.1", () => resume(Effect.void))
    })
  }

  /** Refuses new connections, and leaves those that there are. */
  get refuse(): Effect.Effect<void> {
    return Effect.sync(() => void this.server.close())
  }

  /** Closes every connection and refuses new ones. */
  get stop(): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      this.stopping = true
      this.server.close(() => resume(Effect.void))
      for (const socket of this.sockets) socket.destroy()
    })
  }

  private onRequest(request: Http.IncomingMessage, response: Http.ServerResponse): void {
    this.open++
    // a body that is still being written when the client goes
    response.on("error", () => {})
    response.on("close", () => {
      this.open--
      if (!response.writableEnded) this.cancelled++
      this.changed()
    })
    const chunks: Array<Buffer> = []
    request.on("error", () => {})
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const received: Received = {
        method: request.method ?? "",
        path: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(chunks).toString()
      }
      this.received.push(received)
      this.handler(received, response)
      this.changed()
    })
  }

  private changed(): void {
    for (const check of this.watchers) check()
  }
}

type AnyServer = Http.Server | Https.Server | Http2.Http2SecureServer

const create = (protocol: Protocol): Effect.Effect<AnyServer> => {
  switch (protocol) {
    case "HTTP/1.1":
      return Effect.sync(() => Http.createServer({ keepAliveTimeout: 60_000 }))
    case "HTTP/1.1 over TLS":
      return Effect.map(certificate, (tls) => Https.createServer({ ...tls, keepAliveTimeout: 60_000 }))
    case "HTTP/2":
      // many streams with large bodies: from 10 MB on the server would refuse further ones
      return Effect.map(certificate, (tls) => Http2.createSecureServer({ ...tls, maxSessionMemory: 2000 }))
  }
}

/** A server that lives as long as the test's scope. */
export const serve = (
  handler: Handler,
  protocol: Protocol = "HTTP/1.1"
): Effect.Effect<TestServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.flatMap(create(protocol), (server) => {
      const started = new TestServer(protocol, handler, server)
      return Effect.as(started.listen(), started)
    }),
    (server) => server.stop
  )

const streamOf = (response: Http.ServerResponse): Http2.ServerHttp2Stream | undefined =>
  (response as unknown as { readonly stream?: Http2.ServerHttp2Stream }).stream

/** Ends a response as a server does that breaks down: the connection or, with HTTP/2, the stream is reset. */
export const reset = (response: Http.ServerResponse): void => {
  const stream = streamOf(response)
  if (stream === undefined) response.destroy()
  else stream.close(Http2.constants.NGHTTP2_INTERNAL_ERROR)
}

/** Ends the HTTP/2 connection of a response, as a server does that wants to go, without an answer to what is in flight. */
export const goAway = (response: Http.ServerResponse): void => {
  const session = streamOf(response)?.session
  session?.goaway(Http2.constants.NGHTTP2_NO_ERROR, 0)
  session?.destroy()
}
