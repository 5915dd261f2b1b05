/** From what a user typed to settings, or to an error that names the option, the value and what is allowed. */
import { validateHeaderName, validateHeaderValue } from "node:http"
import { isIP } from "node:net"
import { Either, type Option } from "effect"
import { all, duration, fail, oneOf, type Parsed, parse, wholeNumber } from "../optionValues.js"
import * as Url from "../tail/url.js"
import type { Settings } from "./settings.js"

type Typed = Option.Option<string>

/** What was typed; a flag that was not given is false. */
export interface Raw {
  readonly url: string
  readonly address: Typed
  readonly header: ReadonlyArray<string>
  readonly protocol: Typed
  readonly pings: Typed
  readonly timeout: Typed
  readonly insecure: boolean
}

export const settings = (raw: Raw): Parsed<Settings> =>
  Either.gen(function* () {
    const target = Url.parse(raw.url) ?? (yield* fail("<url>", Url.withoutCredentials(raw.url), Url.allowed))
    const typed = yield* all("header", raw.header, headerAllowed, readHeader)
    const credentials = target.authorization === null ? {} : { authorization: target.authorization }
    return {
      url: target.url,
      headers: { ...credentials, ...Object.fromEntries(typed) },
      address: yield* parse<string | null>(
        "address",
        raw.address,
        null,
        "must be an IPv4 or IPv6 address, such as 192.0.2.1 or 2001:db8::1",
        (text) => (isIP(text) === 0 ? undefined : text)
      ),
      protocol: yield* oneOf("protocol", raw.protocol, ["auto", "h2", "http/1.1"] as const, "auto"),
      insecure: raw.insecure,
      pings: yield* wholeNumber("pings", raw.pings, 5, 1, 1_000),
      timeoutMs: yield* duration("timeout", raw.timeout, 10_000, 1)
    }
  })

const headerAllowed =
  'must be a header such as "Accept: text/html", and none that tells a connection or a body (Connection, Content-Length, …)'

/** They would speak of something else than of the request that is sent. */
const refused = new Set([
  "connection",
  "content-length",
  "expect",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade"
])

const readHeader = (text: string): readonly [name: string, value: string] | undefined => {
  const [, typed = "", value = ""] = /^([^:]+):[ \t]*(.*?)[ \t]*$/s.exec(text) ?? []
  const name = typed.toLowerCase()
  if (refused.has(name)) return undefined
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
    return [name, value]
  } catch {
    return undefined
  }
}
