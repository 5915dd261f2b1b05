import type { ConnectionOptions } from "node:tls"
import { Duration } from "effect"
import type { Options, Upstream } from "../NodeHedgeClient.js"
import type { Http2Settings } from "./http2Lane.js"
import type { Protocol } from "./lane.js"
import { parseAddress } from "./options.js"

/** An upstream's options with nothing left open. Durations are milliseconds, sizes bytes. */
export interface ResolvedUpstream extends Http2Settings {
  readonly origin: string
  readonly secure: boolean
  /** As it stands in `Host` or `:authority`. */
  readonly authority: string
  /** The name that a certificate must have. */
  readonly hostname: string
  /** Where connections go. */
  readonly address: string
  readonly port: number
  readonly protocol: Protocol | "auto"
  /** Undefined: as many as are needed over HTTP/1.1, a few over HTTP/2. */
  readonly lanes: number | undefined
  readonly connecting: number
  readonly connectTimeout: number
  readonly keepAlive: number
  readonly tls: ConnectionOptions
}

const defaults = {
  protocol: "auto",
  connecting: 16,
  streamsPerLane: 100,
  windowSize: 262_144,
  connectionWindowSize: 1_048_576,
  pingInterval: 500,
  pingTimeout: 10_000,
  resetBurst: 400,
  resetsPerSecond: 20,
  connectTimeout: 10_000,
  keepAlive: 30_000
} as const

export const defaultCloseGrace = 1000

const given = <A extends object>(options: A): A =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as A

/** The upstream of an origin: what is said of it, else what is said of all, else the defaults. */
export const resolve = (
  origin: string,
  { closeGrace: _, listeners: __, upstreams = {}, ...forAll }: Options
): ResolvedUpstream => {
  const url = new URL(origin)
  const secure = url.protocol === "https:"
  const own: Upstream = Object.hasOwn(upstreams, origin) ? upstreams[origin]! : {}
  const options = { ...defaults, lanes: undefined, tls: {}, ...given(forAll), ...given(own) }
  const hostname = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname
  const address = own.address === undefined ? undefined : parseAddress(own.address)
  return {
    origin,
    secure,
    authority: url.host,
    hostname,
    address: address?.host ?? hostname,
    port: address?.port ?? (url.port === "" ? (secure ? 443 : 80) : Number(url.port)),
    protocol: options.protocol,
    lanes: options.lanes,
    connecting: options.connecting,
    streamsPerLane: options.streamsPerLane,
    windowSize: options.windowSize,
    connectionWindowSize: options.connectionWindowSize,
    pingInterval: Duration.toMillis(options.pingInterval),
    pingTimeout: Duration.toMillis(options.pingTimeout),
    resetBurst: options.resetBurst,
    resetsPerSecond: options.resetsPerSecond,
    connectTimeout: Duration.toMillis(options.connectTimeout),
    keepAlive: Duration.toMillis(options.keepAlive),
    tls: options.tls
  }
}

/** The same upstream for its long streams. */
export const forLongStreams = (upstream: ResolvedUpstream, options: Options): ResolvedUpstream => ({
  ...upstream,
  ...given(options.longStreams ?? {}),
  ...given(options.upstreams?.[upstream.origin]?.longStreams ?? {})
})
