import type { ConnectionOptions } from "node:tls"
import type { Protocol } from "./lane.js"

/** An upstream's options with nothing left open. Durations are milliseconds, sizes bytes. */
export interface ResolvedUpstream {
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
  readonly streamsPerLane: number
  readonly windowSize: number
  readonly connectionWindowSize: number
  readonly pingInterval: number
  readonly resetBurst: number
  readonly resetsPerSecond: number
  readonly connectTimeout: number
  readonly keepAlive: number
  readonly tls: ConnectionOptions
}

export const resolve = (origin: string): ResolvedUpstream => {
  const url = new URL(origin)
  const secure = url.protocol === "https:"
  const hostname = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname
  return {
    origin: url.origin,
    secure,
    authority: url.host,
    hostname,
    address: hostname,
    port: url.port === "" ? (secure ? 443 : 80) : Number(url.port),
    protocol: "auto",
    lanes: undefined,
    connecting: 16,
    streamsPerLane: 100,
    windowSize: 262_144,
    connectionWindowSize: 524_288,
    pingInterval: 1000,
    resetBurst: 400,
    resetsPerSecond: 20,
    connectTimeout: 10_000,
    keepAlive: 30_000,
    tls: {}
  }
}
