import type { OutgoingHttpHeaders } from "node:http2"
import { Http2LaneError } from "./http2Error.js"
import type { Exchange } from "./lane.js"

/** Speak of the connection, not of the request (RFC 9113, 8.2.2), or stand in a pseudo-header. */
const unsent = new Set([
  "connection",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade"
])

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const invalidInValue = /[^\t\x20-\x7e\x80-\xff]/
const host = /^[\w\-.~!$&'()*+,;=%:[\]]+$/
const invalidInPath = /[^\x21-\x7e\x80-\xff]/

/** What SETTINGS_MAX_HEADER_LIST_SIZE counts for a field besides its name and its value. */
const fieldOverhead = 32

const invalid = (what: string): Http2LaneError =>
  new Http2LaneError("InvalidRequest", `the request cannot be sent: ${what}`)

/**
 * The header section of a request, or why there is none. Everything is checked here: one bad name would make Node end the whole connection, a
 * section that is too large likewise.
 */
export const requestHeaders = (
  exchange: Exchange,
  mostBytes: number
): OutgoingHttpHeaders | Http2LaneError => {
  const { authority, headers, method, path, scheme } = exchange
  if (!token.test(method) || method === "CONNECT") return invalid(`its method is ${JSON.stringify(method)}`)
  if (invalidInPath.test(path) || path === "") return invalid(`its path is ${JSON.stringify(path)}`)
  if (!host.test(authority)) return invalid(`its host is ${JSON.stringify(authority)}`)
  const section: OutgoingHttpHeaders = {
    ":method": method,
    ":authority": authority,
    ":scheme": scheme,
    ":path": path
  }
  // the names of the pseudo-headers are 33 characters long
  let bytes = 4 * fieldOverhead + 33 + method.length + authority.length + scheme.length + path.length
  for (const name of Object.keys(headers)) {
    if (unsent.has(name)) continue
    const value = headers[name]!
    if (name === "te" && value !== "trailers") continue
    if (!token.test(name)) return invalid(`${JSON.stringify(name)} is no name of a header`)
    if (invalidInValue.test(value))
      return invalid(`the header ${name} holds characters that no header may hold`)
    bytes += fieldOverhead + name.length + value.length
    section[name] = value.trim()
  }
  return bytes <= mostBytes
    ? section
    : invalid(`its headers are ${bytes} bytes, and at most ${mostBytes} are allowed`)
}
