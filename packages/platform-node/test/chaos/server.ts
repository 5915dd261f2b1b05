/** A server that does what each request asks it to do wrong, run as a process of its own. */
import * as Http from "node:http"
import * as Http2 from "node:http2"
import * as Https from "node:https"
import type { AddressInfo, Socket } from "node:net"
import { bytesOf, eventsOf } from "./content.js"
import { type Command, headerNames, type Mischief, type ServerSettings, type Told } from "./protocol.js"

const settings = JSON.parse(process.env.CHAOS_SERVER!) as ServerSettings
const tell = (told: Told): void => {
  process.send?.(told)
}

const { cert, key, port, protocol } = settings
const options = { keepAliveTimeout: 300, requestTimeout: 0, headersTimeout: 0 }
const server =
  protocol === "http/1.1"
    ? Http.createServer(options)
    : protocol === "h2"
      ? Http2.createSecureServer({ cert, key, maxSessionMemory: 1000 })
      : Https.createServer({ cert, key, ...options })

/** Connections by the port of their other end: TCP, and what is over it. */
const sockets = new Map<number, Socket>()
const ends = new Map<number, Socket>()
const sessions = new Set<Http2.ServerHttp2Session>()
const responses = new Set<Http.ServerResponse>()
const ignore = (): void => {}

server.on("connection", (socket: Socket) => {
  const port = socket.remotePort!
  sockets.set(port, socket)
  if (protocol === "http/1.1") ends.set(port, socket)
  socket.on("error", ignore).on("close", () => {
    sockets.delete(port)
    ends.delete(port)
  })
})
server.on("secureConnection", (socket: Socket) => {
  ends.set(socket.remotePort!, socket)
  socket.on("error", ignore)
})
server.on("session", (session: Http2.ServerHttp2Session) => {
  sessions.add(session)
  session.on("error", ignore).on("close", () => sessions.delete(session))
})
for (const event of ["tlsClientError", "sessionError"]) server.on(event, ignore)
server.on("clientError", (_: Error, socket: Socket) => socket.destroy())

const streamOf = (response: Http.ServerResponse): Http2.ServerHttp2Stream | undefined =>
  (response as unknown as { readonly stream?: Http2.ServerHttp2Stream }).stream

const resetConnection = (response: Http.ServerResponse): void => {
  const port = streamOf(response)?.session?.socket.remotePort ?? response.socket?.remotePort
  if (port !== undefined) sockets.get(port)?.resetAndDestroy()
}

/** Node would end the stream first, and half of a body pass for the whole. */
const closeStream = (stream: Http2.ServerHttp2Stream, code: number): void => {
  stream.end = () => stream
  stream.close(code)
}

/** RST_STREAM, or RST where a connection has one request. */
const reset = (response: Http.ServerResponse): void => {
  const stream = streamOf(response)
  if (stream === undefined) resetConnection(response)
  else closeStream(stream, Http2.constants.NGHTTP2_INTERNAL_ERROR)
}

const write = (
  response: Http.ServerResponse,
  parts: ReadonlyArray<Uint8Array>,
  pause: number,
  then: () => void
): void => {
  let at = 0
  const next = (): void => {
    while (at < parts.length) {
      if (response.destroyed) return
      const hasRoom = response.write(parts[at++])
      if (pause > 0) {
        setTimeout(next, pause)
        return
      }
      if (!hasRoom) {
        response.once("drain", next)
        return
      }
    }
    then()
  }
  next()
}

const partsOf = (bytes: Buffer, size: number): ReadonlyArray<Buffer> =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size))

/** What a path asks for. */
const contentAt = (path: string): { readonly type: string; readonly bytes: Buffer } => {
  const [, kind, seed, size] = path.split("/")
  return kind === "events"
    ? { type: "text/event-stream", bytes: Buffer.from(eventsOf(Number(seed), Number(size)).join("")) }
    : { type: "application/octet-stream", bytes: bytesOf(Number(seed), Number(size)) }
}

const answer = (request: Http.IncomingMessage, response: Http.ServerResponse, mischief: Mischief): void => {
  if (response.destroyed || response.headersSent) return
  const { bytes, type } = contentAt(request.url!)
  // one in two says how much is to come
  const sized = bytes.length % 2 === 0 ? { "content-length": bytes.length } : {}
  const head = { "content-type": type, ...sized }
  const half = partsOf(bytes.subarray(0, bytes.length / 2), 64 * 1024)
  const end = (): void => void response.end()
  const begin = (then: () => void): void => {
    response.writeHead(200, head)
    if (half.length === 0) response.flushHeaders()
    // so that a part of it is under way
    write(response, half, 0, () => setTimeout(then, 5))
  }
  switch (mischief) {
    case "none":
    case "early":
      response.writeHead(200, head)
      return write(response, partsOf(bytes, 64 * 1024), 0, end)
    case "slow":
      setTimeout(() => answer(request, response, "none"), 200)
      return
    case "stall":
      return
    case "stallMidBody":
      return begin(ignore)
    case "drip":
      response.writeHead(200, head)
      return write(response, partsOf(bytes, Math.max(1, Math.ceil(bytes.length / 25))), 10, end)
    case "reset":
      return reset(response)
    case "resetMidBody":
      return begin(() => reset(response))
    case "resetConnectionMidBody":
      return begin(() => resetConnection(response))
    case "truncate":
      return begin(() => {
        const stream = streamOf(response)
        if (stream === undefined) response.socket?.end()
        else closeStream(stream, Http2.constants.NGHTTP2_NO_ERROR)
      })
    case "unavailable":
      response.writeHead(503, { "retry-after": "0" }).end("unavailable")
      return
    case "unavailableAtLength":
      response.writeHead(503).end(bytesOf(0, 300_000))
      return
    case "informational":
      response.writeEarlyHints({ link: "</style.css>; rel=preload" })
      return answer(request, response, "none")
    case "last": {
      const session = streamOf(response)?.session
      if (session === undefined) response.setHeader("connection", "close")
      else session?.close()
      return answer(request, response, "none")
    }
    case "garbage":
      if (streamOf(response) === undefined) response.socket?.write("it is not HTTP that I speak\r\n\r\n")
      else ends.get(streamOf(response)!.session!.socket.remotePort!)?.destroy()
      return
    case "refuse":
      return reset(response)
  }
}

const checkUpload = (
  request: Http.IncomingMessage,
  chunks: ReadonlyArray<Buffer>,
  call: number,
  attempt: number
): void => {
  const upload = request.headers[headerNames.upload]
  if (upload === undefined) return
  const [seed, length] = String(upload).split("/").map(Number)
  const got = Buffer.concat(chunks)
  if (!got.equals(bytesOf(seed!, length!)))
    tell({ _tag: "WrongUpload", protocol, call, attempt, length: got.length })
}

server.on("request", (request: Http.IncomingMessage, response: Http.ServerResponse) => {
  const { headers } = request
  const attempt = Number(headers[headerNames.attempt] ?? 0)
  const call = Number(headers[headerNames.call])
  const mischief = (String(headers[headerNames.mischief]).split(",")[attempt] ?? "none") as Mischief
  request.on("error", ignore)
  response.on("error", ignore)
  const stream = streamOf(response)
  if (mischief === "refuse" && stream !== undefined) {
    closeStream(stream, Http2.constants.NGHTTP2_REFUSED_STREAM)
    return
  }
  tell({ _tag: "Arrived", call, attempt, mischief })
  responses.add(response)
  response.on("close", () => responses.delete(response))
  if (mischief === "early") answer(request, response, mischief)
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    // of one whose stream is reset before its end Node says that it ended, and of one that is answered already when this server destroys its session
    if (!request.complete || stream?.aborted === true || (stream?.rstCode ?? 0) !== 0) return
    if (stream?.destroyed === true) return
    checkUpload(request, chunks, call, attempt)
    answer(request, response, mischief)
  })
})

const disturb = ({ amount, disturbance }: Extract<Command, { _tag: "Disturb" }>): void => {
  switch (disturbance) {
    case "resetAll":
      for (const socket of sockets.values()) socket.resetAndDestroy()
      return
    case "halfClose":
      for (const socket of ends.values()) socket.end()
      return
    case "closeIdle": {
      if ("closeIdleConnections" in server) server.closeIdleConnections()
      const busy = new Set(Array.from(responses, (response) => streamOf(response)?.session))
      for (const session of sessions) if (!busy.has(session)) session.destroy()
      return
    }
    case "goAway":
      for (const session of sessions) session.close()
      for (const response of responses) response.shouldKeepAlive = false
      return
    case "goAwayHard":
      for (const session of sessions) {
        if (session.destroyed) continue
        session.goaway(
          amount % 2 === 0 ? Http2.constants.NGHTTP2_ENHANCE_YOUR_CALM : Http2.constants.NGHTTP2_NO_ERROR
        )
        session.destroy()
      }
      if (protocol !== "h2") for (const socket of ends.values()) socket.destroy()
      return
    case "limitStreams":
      for (const session of sessions)
        if (!session.destroyed) session.settings({ maxConcurrentStreams: amount })
  }
}

const wordsOf = (socket: Socket): string => {
  const { bytesRead, bytesWritten, readableEnded, remotePort, writableEnded, writableLength } = socket
  return JSON.stringify({ remotePort, bytesRead, bytesWritten, readableEnded, writableEnded, writableLength })
}

process.on("message", (command: Command) => {
  if (command._tag === "Disturb") disturb(command)
  else tell({ _tag: "Count", sockets: Array.from(sockets.values(), wordsOf), requests: responses.size })
})
// nothing that goes wrong here is the matter of the program that is tried
process.on("uncaughtException", (error) => process.stderr.write(`server of ${protocol}: ${error.stack}\n`))
process.on("disconnect", () => process.exit())

server.listen(port, "127.0.0.1", () =>
  tell({ _tag: "Listening", port: (server.address() as AddressInfo).port })
)
