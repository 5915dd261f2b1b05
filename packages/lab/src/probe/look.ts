/** Looks at an upstream, one address after the other. */
import * as Dns from "node:dns/promises"
import type * as Http2 from "node:http2"
import * as Net from "node:net"
import { Effect, type Scope } from "effect"
import { now } from "../clock.js"
import { medianOf } from "../median.js"
import * as Connection from "./connection.js"
import * as Exchange from "./exchange.js"
import type { AddressFinding, Answer, Finding, Pings, Second, ServerSettings } from "./findings.js"
import * as Kernel from "./kernel.js"
import { event, left, PhaseError, timed } from "./phase.js"
import type { Settings } from "./settings.js"

export const look = (settings: Settings): Effect.Effect<Finding> => {
  const { address, timeoutMs, url } = settings
  const host = hostOf(new URL(url))
  const found: Effect.Effect<readonly [ms: number | null, ReadonlyArray<string>], PhaseError> =
    address === null && Net.isIP(host) === 0
      ? timed("dns", now() + timeoutMs, resolve(host))
      : Effect.succeed([null, [address ?? host]])
  return found.pipe(
    Effect.flatMap(([dnsMs, names]) =>
      Effect.map(
        Effect.forEach(names, (name) => lookAt(settings, name)),
        (addresses): Finding => ({ url, dnsMs, addresses, failure: null })
      )
    ),
    Effect.catchAll(({ phase, problem }) =>
      Effect.succeed({ url, dnsMs: null, addresses: [], failure: { phase, problem } })
    )
  )
}

/** Without the brackets around an IPv6 address. */
const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, "$1")

/** Every A and AAAA record, or what the system's own files say of the name. */
const resolve = (host: string) =>
  Effect.map(
    Effect.tryPromise({
      try: () => Dns.lookup(host, { all: true, verbatim: true }),
      catch: (error) => error as Error
    }),
    (found) => [...new Set(found.map(({ address }) => address))]
  )

const nothing = {
  tcpMs: null,
  tlsMs: null,
  firstByteMs: null,
  bodyMs: null,
  protocol: null,
  tls: null,
  answer: null,
  settings: null,
  pings: null,
  second: null,
  kernel: null,
  failure: null
}

/** What has been found out stays so when a later phase fails. */
type Draft = { -readonly [Field in keyof AddressFinding]: AddressFinding[Field] }

const lookAt = (settings: Settings, address: string): Effect.Effect<AddressFinding> => {
  const draft: Draft = { address, ...nothing }
  return Effect.scoped(fill(draft, settings)).pipe(
    Effect.catchAll(({ phase, problem }) =>
      Effect.sync(() => {
        draft.failure = { phase, problem }
      })
    ),
    Effect.as(draft)
  )
}

/** An answer without an end leaves this part of the time for what comes after it. */
const bodyShare = 0.5

const fill = (draft: Draft, settings: Settings): Effect.Effect<void, PhaseError, Scope.Scope> =>
  Effect.gen(function* () {
    const deadline = now() + settings.timeoutMs
    const request = { url: new URL(settings.url), headers: settings.headers }
    const socket = yield* connect(draft, settings, deadline)
    const session = draft.protocol === "h2" ? yield* Exchange.session(socket, request) : undefined
    if (session !== undefined) yield* fillHttp2(draft, session, settings.pings, deadline)
    const send =
      session === undefined ? yield* Exchange.http1(socket, request) : Exchange.http2(session, request)

    const [firstByteMs, { body, status }] = yield* timed("firstByte", deadline, send)
    draft.firstByteMs = firstByteMs
    const answer = { status, bytes: 0, ended: false }
    draft.answer = answer
    const bodyDeadline = now() + left(deadline) * bodyShare
    draft.bodyMs = yield* readUntil(bodyDeadline, answer, body)
    draft.second = yield* again(send, answer.ended || session !== undefined, deadline)
    draft.kernel = yield* Kernel.look(socket)
  })

/** A connection, as far as TLS, and the protocol that it speaks. */
const connect = (
  draft: Draft,
  { insecure, protocol, url }: Settings,
  deadline: number
): Effect.Effect<Net.Socket, PhaseError, Scope.Scope> =>
  Effect.gen(function* () {
    const { port, protocol: scheme } = new URL(url)
    const isSecure = scheme === "https:"
    const socket = yield* Connection.tcp(draft.address, Number(port || (isSecure ? 443 : 80)))
    draft.tcpMs = (yield* timed("tcp", deadline, Connection.connected(socket)))[0]
    if (!isSecure) {
      draft.protocol = protocol === "h2" ? "h2" : "http/1.1"
      return socket
    }
    const secure = yield* Connection.tls(socket, hostOf(new URL(url)), protocol)
    draft.tlsMs = (yield* timed("tls", deadline, Connection.secured(secure)))[0]
    const tls = Connection.describe(secure)
    draft.tls = tls
    draft.protocol = secure.alpnProtocol === "h2" ? "h2" : "http/1.1"
    if (tls.certificate.problem !== null && !insecure) {
      return yield* new PhaseError({
        phase: "tls",
        problem: `the certificate proves nothing (${tls.certificate.problem}); --insecure goes on all the same`
      })
    }
    if (protocol === "h2" && draft.protocol !== "h2") {
      return yield* new PhaseError({ phase: "tls", problem: "the server does not speak h2" })
    }
    return secure
  })

const fillHttp2 = (
  draft: Draft,
  session: Http2.ClientHttp2Session,
  count: number,
  deadline: number
): Effect.Effect<void, PhaseError> =>
  Effect.gen(function* () {
    yield* timed("settings", deadline, event(session, "remoteSettings"))
    const times: Array<number> = []
    while (times.length < count) {
      times.push((yield* timed("ping", deadline, Exchange.ping(session)))[1])
      draft.pings = pingsOf(times)
    }
    draft.settings = settingsOf(session)
  })

const pingsOf = (times: ReadonlyArray<number>): Pings => ({
  count: times.length,
  minMs: Math.min(...times),
  medianMs: medianOf(times) ?? 0,
  maxMs: Math.max(...times)
})

/** What a server says that sets no limit. */
const unlimited = 2 ** 32 - 1

const settingsOf = ({ remoteSettings, state }: Http2.ClientHttp2Session): ServerSettings => {
  const { initialWindowSize, maxConcurrentStreams, maxFrameSize } = remoteSettings
  return {
    maxConcurrentStreams:
      maxConcurrentStreams === undefined || maxConcurrentStreams === unlimited ? null : maxConcurrentStreams,
    streamWindow: initialWindowSize ?? 65_535,
    connectionWindow: state.remoteWindowSize ?? 65_535,
    maxFrameSize: maxFrameSize ?? 16_384
  }
}

/** How long the rest of the answer took; null if it has no end that one could wait for. */
const readUntil = (
  deadline: number,
  answer: { -readonly [Field in keyof Answer]: Answer[Field] },
  body: Exchange.Headers["body"]
): Effect.Effect<number | null, PhaseError> =>
  timed(
    "body",
    Infinity,
    Effect.timeoutOption(
      Exchange.read(body, (bytes) => {
        answer.bytes += bytes
      }),
      left(deadline)
    )
  ).pipe(
    Effect.map(([ms, end]) => {
      answer.ended = end._tag === "Some"
      return answer.ended ? ms : null
    })
  )

const again = (send: Exchange.Send, isPossible: boolean, deadline: number): Effect.Effect<Second> => {
  const none = (problem: string): Second => ({ reused: false, firstByteMs: null, problem })
  if (!isPossible) return Effect.succeed(none("the first answer did not end"))
  return timed(
    "firstByte",
    deadline,
    Effect.tap(send, ({ body }) => Effect.sync(() => body.resume()))
  ).pipe(
    Effect.map(([firstByteMs]): Second => ({ reused: true, firstByteMs, problem: null })),
    Effect.catchAll(({ problem }) => Effect.succeed(none(problem)))
  )
}
