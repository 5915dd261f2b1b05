/** Why a request over HTTP/2 got no answer, or not the whole of one. */
export type Http2FailureCode =
  /** It cannot be sent as it stands. */
  | "InvalidRequest"
  /** Its own body failed while it was being sent. */
  | "BodyFailed"
  /** The server has not begun to work on it. */
  | "Refused"
  /** The server has given up on it, or what it sent breaks the protocol's rules for an answer. */
  | "Reset"
  /** The answer stopped before its end, without an error. */
  | "Truncated"
  /** The server is ending the connection. */
  | "GoAway"
  /** The connection ended. */
  | "ConnectionClosed"
  /** Nothing comes over the connection any more, and no PING is answered. */
  | "ConnectionDead"

export class Http2LaneError extends Error {
  override readonly name = "Http2LaneError"

  constructor(
    readonly code: Http2FailureCode,
    message: string,
    cause?: unknown
  ) {
    super(message, cause === undefined ? undefined : { cause })
  }
}

/** RFC 9113, 7. */
const errorNames = [
  "NO_ERROR",
  "PROTOCOL_ERROR",
  "INTERNAL_ERROR",
  "FLOW_CONTROL_ERROR",
  "SETTINGS_TIMEOUT",
  "STREAM_CLOSED",
  "FRAME_SIZE_ERROR",
  "REFUSED_STREAM",
  "CANCEL",
  "COMPRESSION_ERROR",
  "CONNECT_ERROR",
  "ENHANCE_YOUR_CALM",
  "INADEQUATE_SECURITY",
  "HTTP_1_1_REQUIRED"
]

export const errorName = (code: number): string => errorNames[code] ?? `error code ${code}`
