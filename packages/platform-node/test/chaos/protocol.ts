/** What the program and its servers, which are processes of their own, have agreed on. */

export const protocols = ["http/1.1", "http/1.1 over TLS", "h2"] as const
export type Protocol = (typeof protocols)[number]

/** What a server does with a request instead of just answering it. */
export const mischiefs = [
  /** Answers late. */
  "slow",
  /** Never answers. */
  "stall",
  /** Sends half of the body and no more. */
  "stallMidBody",
  /** Sends the body in many small pieces. */
  "drip",
  /** RST, or RST_STREAM, before the answer or in the middle of it. */
  "reset",
  "resetMidBody",
  /** The whole connection, in the middle of the answer. */
  "resetConnectionMidBody",
  /** Stops in the middle of the body, as in order. */
  "truncate",
  /** HTTP/2: says that it has not begun to work on it. */
  "refuse",
  "unavailable",
  /** 503 with a body of 300 KB. */
  "unavailableAtLength",
  /** Informational answers go ahead. */
  "informational",
  /** The connection is not to be used any more. */
  "last",
  /** Answers before the request's body has been read. */
  "early",
  /** Bytes that are no answer. */
  "garbage"
] as const
export type Mischief = (typeof mischiefs)[number] | "none"

/** What can be done to a server as a whole. */
export const disturbances = [
  /** SIGKILL, and another process on the same port after a while. */
  "kill",
  /** SIGSTOP for a while: connections are accepted and nothing is answered. */
  "stop",
  /** RST on each connection. */
  "resetAll",
  /** The end of each connection's sending side. */
  "halfClose",
  /** Closes the connections that are idle. */
  "closeIdle",
  /** HTTP/2: GOAWAY, what is in flight goes on. HTTP/1.1: each answer is the last of its connection. */
  "goAway",
  /** GOAWAY with an error; what is in flight is lost. */
  "goAwayHard",
  /** HTTP/2: another number of streams is allowed. */
  "limitStreams"
] as const
export type Disturbance = (typeof disturbances)[number]

export interface ServerSettings {
  readonly protocol: Protocol
  readonly key: string
  readonly cert: string
  /** 0 is any. */
  readonly port: number
}

export type Command =
  | {
      readonly _tag: "Disturb"
      readonly disturbance: Exclude<Disturbance, "kill" | "stop">
      readonly amount: number
    }
  /** How many sockets and requests there are. */
  | { readonly _tag: "Count" }

export type Told =
  | { readonly _tag: "Listening"; readonly port: number }
  | { readonly _tag: "Arrived"; readonly call: number; readonly attempt: number; readonly mischief: Mischief }
  /** An upload came to its end, and is not what was sent. */
  | {
      readonly _tag: "WrongUpload"
      readonly protocol: Protocol
      readonly call: number
      readonly attempt: number
      readonly length: number
    }
  | { readonly _tag: "Count"; readonly sockets: ReadonlyArray<string>; readonly requests: number }

export const headerNames = {
  call: "x-call",
  attempt: "x-attempt",
  /** What is to be done with each attempt, the primary first. */
  mischief: "x-mischief",
  /** Seed and length of the request's body. */
  upload: "x-upload"
} as const
