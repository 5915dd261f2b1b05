/** Opens connections: TCP, and TLS with the protocol that both ends agree on. */

import { connect as connectTcp, isIP, Socket } from "node:net"
import { performance } from "node:perf_hooks"
import { checkServerIdentity, connect as connectTls, type TLSSocket } from "node:tls"
import type { ConnectPhases } from "../LaneEvent.js"
import type { Protocol } from "./lane.js"
import type { ResolvedUpstream } from "./upstream.js"

export interface Connected {
  readonly socket: Socket
  readonly protocol: Protocol
  readonly phases: ConnectPhases
}

/** A connection that is being opened. */
export interface Opening {
  /** Gives it up; nothing more is told. */
  readonly abandon: () => void
}

export class ConnectTimeoutError extends Error {
  readonly code = "ETIMEDOUT"
  constructor(address: string, millis: number) {
    super(`connecting to ${address} took longer than ${millis} ms`)
    this.name = "ConnectTimeoutError"
  }
}

const offers = (upstream: ResolvedUpstream): ReadonlyArray<string> =>
  upstream.protocol === "auto" ? ["h2", "http/1.1"] : [upstream.protocol]

const negotiated = (socket: TLSSocket, upstream: ResolvedUpstream): Protocol | Error => {
  const agreed = socket.alpnProtocol === "h2" ? "h2" : "http/1.1"
  return upstream.protocol === "auto" || upstream.protocol === agreed
    ? agreed
    : new Error(`the server does not speak ${upstream.protocol}`)
}

/** Opens the connections of one upstream. The last TLS session is kept, so that the next handshake is a short one. */
export class Connector {
  private session: Buffer | undefined = undefined

  constructor(private readonly upstream: ResolvedUpstream) {}

  /** Exactly one of the callbacks is called, later. */
  open(onConnected: (connected: Connected) => void, onFailed: (error: Error) => void): Opening {
    const { upstream } = this
    const { address, port, secure } = upstream
    const start = performance.now()
    let resolvedAt = isIP(address) === 0 ? undefined : start
    let connectedAt = 0
    const socket = this.dial()

    const timer = setTimeout(
      () => socket.destroy(new ConnectTimeoutError(`${address}:${port}`, upstream.connectTimeout)),
      upstream.connectTimeout
    )
    const settle = (): void => {
      clearTimeout(timer)
      socket.off("error", onError).off("close", onClose)
    }
    const onError = (error: Error): void => {
      settle()
      socket.on("error", () => {})
      socket.destroy()
      onFailed(error)
    }
    const onClose = (): void => onError(new Error("the connection was closed before it was open"))
    const onOpen = (): void => {
      const now = performance.now()
      const protocol = secure
        ? negotiated(socket as TLSSocket, upstream)
        : upstream.protocol === "h2"
          ? "h2"
          : "http/1.1"
      if (protocol instanceof Error) return onError(protocol)
      settle()
      onConnected({
        socket,
        protocol,
        phases: {
          dns: isIP(address) === 0 ? resolvedAt! - start : undefined,
          tcp: connectedAt - resolvedAt!,
          tls: secure ? now - connectedAt : undefined
        }
      })
    }

    socket.once("lookup", () => {
      resolvedAt ??= performance.now()
    })
    socket.once("connect", () => {
      connectedAt = performance.now()
      resolvedAt ??= connectedAt
      if (!secure) onOpen()
    })
    if (secure) socket.once("secureConnect", onOpen)
    socket.on("error", onError).on("close", onClose)
    return {
      abandon: () => {
        settle()
        socket.on("error", () => {})
        socket.destroy()
      }
    }
  }

  /** Options of `tls.connect` that are found to be wrong only now fail the connection, later. */
  private dial(): Socket {
    const { address, port, secure } = this.upstream
    try {
      return secure
        ? this.secured()
        : connectTcp({ host: address, port, autoSelectFamily: true, noDelay: true })
    } catch (error) {
      return new Socket().destroy(error as Error)
    }
  }

  private secured(): TLSSocket {
    const { address, hostname, port, tls } = this.upstream
    const { checkServerIdentity: check = checkServerIdentity } = tls
    const socket = connectTls({
      // there is no SNI for an IP address (RFC 6066, 3), and then Node would expect the name of where the connection goes
      ...(isIP(hostname) === 0 ? { servername: hostname } : {}),
      ...(this.session === undefined ? {} : { session: this.session }),
      ...tls,
      ...(isIP(hostname) === 0
        ? {}
        : { checkServerIdentity: (_, certificate) => check(hostname, certificate) }),
      ALPNProtocols: [...offers(this.upstream)],
      host: address,
      port,
      ...{ autoSelectFamily: true, noDelay: true }
    })
    socket.on("session", (session) => {
      this.session = session
    })
    return socket
  }
}
