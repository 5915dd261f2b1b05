/**
 * The upstream: HTTP/2 and HTTP/1.1 over TLS, as the client asks. It answers probes at once, streams server-sent events at a rate, and sends downloads as
 * fast as they are taken. It notes which background streams share a probe's connection.
 */
import * as Http2 from "node:http2"
import { Effect, type Scope } from "effect"
import { generate } from "selfsigned"
import { listen } from "../listen.js"
import { type Arrival, attemptHeader, paths, probeHeader } from "./protocol.js"

export interface Upstream {
  readonly port: number
  /** In PEM, for 127.0.0.1. */
  readonly certificate: string
  readonly arrivals: () => ReadonlyArray<Arrival>
}

/** The least that RFC 9113, 6.5.2, recommends, and what many servers allow. */
const maxConcurrentStreams = 100

export const make: Effect.Effect<Upstream, never, Scope.Scope> = Effect.gen(function* () {
  const { cert, private: key } = yield* Effect.promise(() =>
    generate([{ name: "commonName", value: "hedge-lab" }], {
      keyType: "ec",
      algorithm: "sha256",
      extensions: [{ name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] }]
    })
  )
  const requests = new Requests()
  const server = Http2.createSecureServer(
    { key, cert, allowHTTP1: true, settings: { maxConcurrentStreams } },
    (request, response) => requests.serve(request, response)
  )
  const sessions = new Set<Http2.Http2Session>()
  server.on("session", (session) => {
    sessions.add(session)
    session.on("close", () => sessions.delete(session))
  })
  // what breaks a connection, its requests hear of
  server.on("sessionError", () => {})
  server.on("tlsClientError", () => {})
  const port = yield* listen(server, () => {
    for (const session of sessions) session.destroy()
  })
  return { port, certificate: cert, arrivals: () => requests.arrivals }
})

type Request = Http2.Http2ServerRequest
type Response = Http2.Http2ServerResponse

const answer = Buffer.from(JSON.stringify({ answer: 42 }))

class Requests {
  readonly arrivals: Array<Arrival> = []
  /** Background streams that are open, by their connection. */
  private readonly streams = new WeakMap<object, number>()

  serve(request: Request, response: Response): void {
    // HTTP/1.1 has no stream
    const connection = (request.stream as Http2.Http2Stream | undefined)?.session ?? request.socket
    const { pathname, searchParams } = new URL(request.url, "https://127.0.0.1")
    switch (pathname) {
      case paths.probe: {
        this.arrivals.push({
          probe: Number(request.headers[probeHeader]),
          attempt: Number(request.headers[attemptHeader] ?? 0),
          streamsBeside: this.streams.get(connection) ?? 0
        })
        response.writeHead(200, { "content-type": "application/json", "content-length": answer.length })
        response.end(answer)
        return
      }
      case paths.events:
      case paths.bulk: {
        this.streams.set(connection, (this.streams.get(connection) ?? 0) + 1)
        response.on("close", () => this.streams.set(connection, this.streams.get(connection)! - 1))
        const lastsMs = Number(searchParams.get("lasts"))
        if (pathname === paths.bulk) return bulk(response, lastsMs)
        return events(response, lastsMs, Number(searchParams.get("rate")))
      }
      default:
        response.writeHead(404).end()
    }
  }
}

const eventMs = 50

const events = (response: Response, lastsMs: number, bytesPerSecond: number): void => {
  const event = eventOf(Math.round((bytesPerSecond * eventMs) / 1_000))
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.write(event)
  // an upstream whose reader is slow falls behind; it does not store what it cannot send
  const timer = setInterval(() => {
    if (!response.writableNeedDrain) response.write(event)
  }, eventMs)
  const end = setTimeout(() => {
    clearInterval(timer)
    response.end()
  }, lastsMs)
  response.on("close", () => {
    clearInterval(timer)
    clearTimeout(end)
  })
}

/** A server-sent event of so many bytes, or of the least that one has. */
const eventOf = (bytes: number): Buffer => {
  const [start, end] = ['data: {"text":"', '"}\n\n']
  return Buffer.from(start + "x".repeat(Math.max(1, bytes - start.length - end.length)) + end)
}

const piece = Buffer.alloc(64 * 1_024, "x")

const bulk = (response: Response, lastsMs: number): void => {
  response.writeHead(200, { "content-type": "application/octet-stream" })
  let isOver = false
  const fill = () => {
    while (!isOver && response.write(piece));
  }
  response.on("drain", fill)
  const end = setTimeout(() => {
    isOver = true
    response.end()
  }, lastsMs)
  response.on("close", () => {
    isOver = true
    clearTimeout(end)
  })
  fill()
}
