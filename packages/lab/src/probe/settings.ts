/** What is asked of an upstream. Times are in milliseconds. */

/** `auto`: what is agreed on by ALPN, and HTTP/1.1 without TLS. */
export type Protocol = "auto" | "h2" | "http/1.1"

export interface Settings {
  /** Without credentials, so that it can be shown. */
  readonly url: string
  /** Sent with every request, and not shown; the credentials of the URL among them. Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Asked instead of what the name resolves to. */
  readonly address: string | null
  readonly protocol: Protocol
  /** Go on with a certificate that proves nothing. */
  readonly insecure: boolean
  /** PINGs on an HTTP/2 connection. */
  readonly pings: number
  /** For each address, all phases together, and for the name. */
  readonly timeoutMs: number
}
