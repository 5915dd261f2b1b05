/** A connection to one address, and who is at its other end. */
import * as Net from "node:net"
import * as Tls from "node:tls"
import { Effect, type Scope } from "effect"
import type * as Findings from "./findings.js"
import { event } from "./phase.js"
import type { Protocol } from "./settings.js"

/** Closed with the scope. Whoever waits for it to open, hears of its failure. */
export const tcp = (address: string, port: number): Effect.Effect<Net.Socket, never, Scope.Scope> =>
  destroyed(() => Net.connect({ host: address, port, noDelay: true }))

export const connected = (socket: Net.Socket): Effect.Effect<void, Error> => event(socket, "connect")

/** The name in the certificate is compared with the URL's host, whatever the address. */
export const tls = (
  socket: Net.Socket,
  host: string,
  protocol: Protocol
): Effect.Effect<Tls.TLSSocket, never, Scope.Scope> =>
  destroyed(() =>
    Tls.connect({
      socket,
      host,
      ...(Net.isIP(host) === 0 ? { servername: host } : {}),
      ALPNProtocols: protocol === "auto" ? ["h2", "http/1.1"] : [protocol],
      // what is wrong with it is looked at before anything is sent
      rejectUnauthorized: false
    })
  )

export const secured = (socket: Tls.TLSSocket): Effect.Effect<void, Error> => event(socket, "secureConnect")

const destroyed = <S extends Net.Socket>(open: () => S) =>
  Effect.acquireRelease(
    // an error that nobody waits for is no reason to end the process
    Effect.sync(() => open().on("error", () => {}) as S),
    (socket) => Effect.sync(() => socket.destroy())
  )

export const describe = (socket: Tls.TLSSocket): Findings.Tls => {
  const { issuer, subject, valid_to } = socket.getPeerCertificate()
  return {
    version: socket.getProtocol() ?? "unknown",
    cipher: socket.getCipher().name,
    certificate: {
      subject: nameOf(subject),
      issuer: nameOf(issuer),
      validTo: new Date(valid_to).toISOString(),
      problem: socket.authorized ? null : problemOf(socket.authorizationError)
    }
  }
}

/** Declared as an error, and most often its code. */
const problemOf = (error: unknown): string =>
  error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : String(error)

const nameOf = ({ CN, O }: Tls.Certificate): string => [CN ?? O ?? "no name"].flat().join(", ")
