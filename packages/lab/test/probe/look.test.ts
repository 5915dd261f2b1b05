import { once } from "node:events"
import * as Http from "node:http"
import * as Http2 from "node:http2"
import * as Net from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { generate } from "selfsigned"
import { look } from "../../src/probe/look.js"
import type { Settings } from "../../src/probe/settings.js"

/** Listens on a port of its own; closed with its connections when the scope is. */
const listening = <S extends Net.Server>(server: S) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets = new Set<Net.Socket>()
      server.on("connection", (socket) => sockets.add(socket.on("error", () => {})))
      await once(server.listen(0, "127.0.0.1"), "listening")
      return { port: (server.address() as Net.AddressInfo).port, sockets }
    }),
    ({ sockets }) =>
      Effect.sync(() => {
        server.close()
        for (const socket of sockets) socket.destroy()
      })
  ).pipe(Effect.map(({ port }) => port))

const secure = (handle: (request: Http2.Http2ServerRequest, response: Http2.Http2ServerResponse) => void) =>
  Effect.gen(function* () {
    const { cert, private: key } = yield* Effect.promise(() =>
      generate([{ name: "commonName", value: "upstream" }], { keyType: "ec", algorithm: "sha256" })
    )
    const settings = { maxConcurrentStreams: 7, initialWindowSize: 100_000 }
    return yield* listening(Http2.createSecureServer({ key, cert, allowHTTP1: true, settings }, handle))
  })

const settings = (url: string, changed: Partial<Settings> = {}): Settings => ({
  url,
  headers: {},
  address: null,
  protocol: "auto",
  insecure: true,
  pings: 3,
  timeoutMs: 20_000,
  ...changed
})

const found = (url: string, changed?: Partial<Settings>) =>
  Effect.map(look(settings(url, changed)), ({ addresses }) => addresses[0]!)

const positive = expect.any(Number)

describe("an upstream that speaks HTTP/2", () => {
  it.scopedLive("is seen with what it allows, its PINGs, its certificate, and a second request", () =>
    Effect.gen(function* () {
      const port = yield* secure((_, response) => response.end("hello"))
      const seen = yield* found(`https://127.0.0.1:${port}/`)
      expect(seen).toMatchObject({
        address: "127.0.0.1",
        tcpMs: positive,
        tlsMs: positive,
        firstByteMs: positive,
        bodyMs: positive,
        protocol: "h2",
        tls: {
          version: "TLSv1.3",
          certificate: {
            subject: "upstream",
            issuer: "upstream",
            problem: "DEPTH_ZERO_SELF_SIGNED_CERT"
          }
        },
        answer: { status: 200, bytes: 5, ended: true },
        settings: { maxConcurrentStreams: 7, streamWindow: 100_000, connectionWindow: 65_535 },
        pings: { count: 3, minMs: positive },
        second: { reused: true, firstByteMs: positive, problem: null },
        failure: null
      })
      expect(seen.pings!.minMs).toBeLessThanOrEqual(seen.pings!.medianMs)
      expect(seen.pings!.medianMs).toBeLessThanOrEqual(seen.pings!.maxMs)
      expect(Date.parse(seen.tls!.certificate.validTo)).toBeGreaterThan(Date.now())
    })
  )

  it.scopedLive("is sent nothing while its certificate proves nothing", () =>
    Effect.gen(function* () {
      let requests = 0
      const port = yield* secure((_, response) => {
        requests++
        response.end()
      })
      const seen = yield* found(`https://127.0.0.1:${port}/`, { insecure: false })
      expect(seen).toMatchObject({
        tls: { version: "TLSv1.3" },
        answer: null,
        failure: {
          phase: "tls",
          problem:
            "the certificate proves nothing (DEPTH_ZERO_SELF_SIGNED_CERT); --insecure goes on all the same"
        }
      })
      expect(requests).toBe(0)
    })
  )

  it.scopedLive("may be asked over HTTP/1.1 if it speaks that too", () =>
    Effect.gen(function* () {
      const port = yield* secure((_, response) => response.end("hello"))
      expect(yield* found(`https://127.0.0.1:${port}/`, { protocol: "http/1.1" })).toMatchObject({
        protocol: "http/1.1",
        settings: null,
        pings: null,
        second: { reused: true }
      })
    })
  )

  it.scopedLive("is asked again beside an answer without an end", () =>
    Effect.gen(function* () {
      const port = yield* secure((_, response) => void response.writeHead(200).write("endless"))
      expect(yield* found(`https://127.0.0.1:${port}/`, { timeoutMs: 3_000 })).toMatchObject({
        answer: { status: 200, bytes: 7, ended: false },
        bodyMs: null,
        second: { reused: true, problem: null },
        failure: null
      })
    })
  )
})

describe("an upstream that speaks HTTP/1.1", () => {
  it.scopedLive("is sent the headers, credentials among them, which are not in what is found", () =>
    Effect.gen(function* () {
      const seen: Array<Http.IncomingHttpHeaders> = []
      const server = Http.createServer((request, response) => {
        seen.push(request.headers)
        response.end("hello")
      })
      const port = yield* listening(server)
      const headers = { authorization: "Basic c2VjcmV0", "x-trace": "abc", host: "api.example.com" }
      const finding = yield* look(settings(`http://127.0.0.1:${port}/path?q=1`, { headers }))
      expect(seen).toHaveLength(2)
      expect(seen[0]).toMatchObject(headers)
      expect(JSON.stringify(finding)).not.toMatch(/c2VjcmV0|abc/)
      expect(finding.addresses[0]).toMatchObject({
        protocol: "http/1.1",
        tlsMs: null,
        tls: null,
        answer: { status: 200, bytes: 5, ended: true },
        second: { reused: true }
      })
    })
  )

  it.scopedLive("and closes the connection after each answer is seen to", () =>
    Effect.gen(function* () {
      const port = yield* listening(
        Http.createServer((_, response) => response.writeHead(404, { connection: "close" }).end())
      )
      expect(yield* found(`http://127.0.0.1:${port}/`)).toMatchObject({
        answer: { status: 404, bytes: 0, ended: true },
        second: { reused: false, firstByteMs: null, problem: "the server keeps no connection" }
      })
    })
  )

  it.scopedLive("is not asked again during an answer without an end", () =>
    Effect.gen(function* () {
      const port = yield* listening(Http.createServer((_, response) => void response.write("endless")))
      expect(yield* found(`http://127.0.0.1:${port}/`, { timeoutMs: 2_000 })).toMatchObject({
        answer: { bytes: 7, ended: false },
        second: { reused: false, problem: "the first answer did not end" },
        failure: null
      })
    })
  )
})

describe("an upstream that does not answer", () => {
  it.scopedLive("says in which phase: a port where nobody listens", () =>
    Effect.gen(function* () {
      const port = yield* Effect.scoped(listening(Net.createServer()))
      expect(yield* found(`http://127.0.0.1:${port}/`)).toMatchObject({
        tcpMs: null,
        failure: { phase: "tcp", problem: "ECONNREFUSED" }
      })
    })
  )

  it.scopedLive.each([
    ["http", "firstByte"],
    ["https", "tls"]
  ] as const)("says in which phase: one that is silent, over %s", ([scheme, phase]) =>
    Effect.gen(function* () {
      const port = yield* listening(Net.createServer((socket) => socket.resume()))
      expect(yield* found(`${scheme}://127.0.0.1:${port}/`, { timeoutMs: 2_000 })).toMatchObject({
        tcpMs: positive,
        answer: null,
        failure: { phase, problem: "no answer before the time-out" }
      })
    })
  )

  it.scopedLive("says in which phase: one that hangs up", () =>
    Effect.gen(function* () {
      const port = yield* listening(Net.createServer((socket) => socket.once("data", () => socket.destroy())))
      const seen = yield* found(`http://127.0.0.1:${port}/`)
      expect(seen.failure?.phase).toBe("firstByte")
    })
  )

  it.scopedLive("says in which phase: one that speaks no HTTP/2 when asked to", () =>
    Effect.gen(function* () {
      const port = yield* listening(Http.createServer((_, response) => response.end()))
      const seen = yield* found(`http://127.0.0.1:${port}/`, { protocol: "h2" })
      expect(seen).toMatchObject({ protocol: "h2", answer: null, failure: { phase: "settings" } })
    })
  )

  it.live("says in which phase: a name without an address", () =>
    Effect.gen(function* () {
      const finding = yield* look(settings("http://name.invalid/"))
      expect(finding).toMatchObject({ addresses: [], dnsMs: null, failure: { phase: "dns" } })
    })
  )
})

it.scopedLive(
  "every address of a name is asked, or the one that was given, with the name in the request",
  () =>
    Effect.gen(function* () {
      const hosts: Array<string | undefined> = []
      const port = yield* listening(
        Http.createServer((request, response) => {
          hosts.push(request.headers.host)
          response.end()
        })
      )
      const one = yield* look(settings(`http://name.invalid:${port}/`, { address: "127.0.0.1" }))
      expect(one).toMatchObject({ dnsMs: null, addresses: [{ address: "127.0.0.1", failure: null }] })
      expect(new Set(hosts)).toEqual(new Set([`name.invalid:${port}`]))
      const all = yield* look(settings(`http://localhost:${port}/`))
      expect(all.dnsMs).toEqual(positive)
      expect(all.addresses.find(({ address }) => address === "127.0.0.1")).toMatchObject({ failure: null })
    })
)
