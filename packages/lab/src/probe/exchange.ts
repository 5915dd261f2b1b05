/** Requests down a connection that is there already, over HTTP/1.1 or HTTP/2. */
import * as Http from "node:http"
import * as Http2 from "node:http2"
import type { Socket } from "node:net"
import type { Readable } from "node:stream"
import { Effect, type Scope } from "effect"

/** An answer whose headers are in. */
export interface Headers {
  readonly status: number
  readonly body: Readable
}

/** Sends a GET, and waits for the headers of its answer. */
export type Send = Effect.Effect<Headers, Error>

export interface Request {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
}

const userAgent = { "user-agent": "hedge-lab" }

/** The second request goes down the same connection, or fails if the server has closed it after the first. */
export const http1 = (socket: Socket, { headers, url }: Request): Effect.Effect<Send, never, Scope.Scope> =>
  Effect.gen(function* () {
    const agent = yield* Effect.acquireRelease(
      Effect.sync(() => new Http.Agent({ keepAlive: true, maxSockets: 1 })),
      (agent) => Effect.sync(() => agent.destroy())
    )
    let isTaken = false
    const takeSocket = (_: unknown, callback: (error: Error | null, socket?: Socket) => void) => {
      if (isTaken) return void callback(new Error("the server keeps no connection"))
      isTaken = true
      callback(null, socket)
    }
    Object.assign(agent, { createConnection: takeSocket })
    return Effect.async((resume) => {
      const request = Http.request({
        agent,
        path: url.pathname + url.search,
        headers: { host: url.host, ...userAgent, ...headers }
      })
        .on("response", (response) =>
          resume(Effect.succeed({ status: response.statusCode ?? 0, body: response }))
        )
        .on("error", (error) => resume(Effect.fail(error)))
        .end()
      return Effect.sync(() => request.destroy())
    })
  })

export const session = (
  socket: Socket,
  { url }: Request
): Effect.Effect<Http2.ClientHttp2Session, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const session = Http2.connect(url, { createConnection: () => socket, settings: { enablePush: false } })
      // an error that nobody waits for is no reason to end the process
      return session.on("error", () => {})
    }),
    (session) => Effect.sync(() => session.destroy())
  )

export const http2 = (session: Http2.ClientHttp2Session, { headers, url }: Request): Send =>
  Effect.async((resume) => {
    if (session.closed) return resume(Effect.fail(new Error("the server keeps no connection")))
    const { host = url.host, ...others } = headers
    const stream = session
      .request({ ":path": url.pathname + url.search, ":authority": host, ...userAgent, ...others })
      .on("response", ({ ":status": status = 0 }) => resume(Effect.succeed({ status, body: stream })))
      .on("error", (error) => resume(Effect.fail(error)))
      .on("close", () => resume(Effect.fail(new Error("the stream was closed without an answer"))))
    return Effect.sync(() => stream.close(Http2.constants.NGHTTP2_CANCEL))
  })

/** Reads a body to its end, or as long as somebody waits, and counts. */
export const read = (body: Readable, onData: (bytes: number) => void): Effect.Effect<void, Error> =>
  Effect.async((resume) => {
    body
      .on("data", (chunk: Buffer) => onData(chunk.length))
      .on("end", () => resume(Effect.void))
      .on("error", (error) => resume(Effect.fail(error)))
      .on("close", () => resume(Effect.fail(new Error("the connection was closed in the middle"))))
    return Effect.sync(() => body.destroy())
  })

export const ping = (session: Http2.ClientHttp2Session): Effect.Effect<number, Error> =>
  Effect.async((resume) => {
    const isSent = session.ping((error, ms) =>
      resume(error === null ? Effect.succeed(ms) : Effect.fail(error))
    )
    if (!isSent) resume(Effect.fail(new Error("the connection takes no PING")))
  })
