/** What is found out about an upstream. Times are in milliseconds, sizes in bytes; null stands for what was not found out. */

/** In the order in which they come. */
export type Phase = "dns" | "tcp" | "tls" | "settings" | "ping" | "firstByte" | "body"

/** What went wrong, and when. */
export interface Failure {
  readonly phase: Phase
  readonly problem: string
}

export interface Finding {
  readonly url: string
  /** Null if an address was given as well. */
  readonly dnsMs: number | null
  readonly addresses: ReadonlyArray<AddressFinding>
  /** Why there are no addresses. */
  readonly failure: Failure | null
}

export interface AddressFinding {
  readonly address: string
  readonly tcpMs: number | null
  /** Null without TLS as well. */
  readonly tlsMs: number | null
  /** From the request to the headers of its answer. */
  readonly firstByteMs: number | null
  /** From the headers of the answer to its end. */
  readonly bodyMs: number | null
  readonly protocol: "h2" | "http/1.1" | null
  readonly tls: Tls | null
  readonly answer: Answer | null
  /** Of HTTP/2 alone. */
  readonly settings: ServerSettings | null
  readonly pings: Pings | null
  readonly second: Second | null
  readonly kernel: Kernel | { readonly unavailable: string } | null
  /** Why there is no answer. */
  readonly failure: Failure | null
}

export interface Tls {
  readonly version: string
  readonly cipher: string
  readonly certificate: {
    readonly subject: string
    readonly issuer: string
    /** As ISO 8601. */
    readonly validTo: string
    /** Why it proves nothing; null if it does. */
    readonly problem: string | null
  }
}

export interface Answer {
  readonly status: number
  /** Of its body, as they came. */
  readonly bytes: number
  /** Whether it came to its end before its time was up. */
  readonly ended: boolean
}

export interface ServerSettings {
  /** Null if it sets no limit. */
  readonly maxConcurrentStreams: number | null
  /** How much of a request's body the server takes before it has to say more: on a stream, and on the connection. */
  readonly streamWindow: number
  readonly connectionWindow: number
  readonly maxFrameSize: number
}

export interface Pings {
  readonly count: number
  readonly minMs: number
  readonly medianMs: number
  readonly maxMs: number
}

/** Another request after the first one's answer. */
export interface Second {
  /** Whether the same connection took it. */
  readonly reused: boolean
  readonly firstByteMs: number | null
  /** Why there is no second answer, or no second request. */
  readonly problem: string | null
}

/** The system's view of the connection after the last answer; null for what it does not say. */
export interface Kernel {
  readonly state: string
  /** Not yet acknowledged by the other end. */
  readonly sendQueue: number
  readonly receiveQueue: number
  /** Of the send queue, what has not been sent at all. */
  readonly notSent: number | null
  /** Segments that were sent again, ever. */
  readonly retransmits: number
  /** In segments. */
  readonly congestionWindow: number | null
  readonly rttMs: number | null
  readonly minRttMs: number | null
  readonly retransmitTimeoutMs: number | null
}
