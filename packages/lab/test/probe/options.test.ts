import { Either, Option } from "effect"
import { describe, expect, it } from "vitest"
import { type Raw, settings } from "../../src/probe/options.js"

const nothing: Raw = {
  url: "https://api.example.com/users",
  address: Option.none(),
  header: [],
  protocol: Option.none(),
  pings: Option.none(),
  timeout: Option.none(),
  insecure: false
}

const parse = (typed: Partial<Raw>) => settings({ ...nothing, ...typed })
const accepted = (typed: Partial<Raw>) => Either.getOrThrowWith(parse(typed), (error) => error)
const refusal = (typed: Partial<Raw>) =>
  Either.match(parse(typed), { onLeft: (error) => error.message, onRight: () => "" })

describe("what to ask", () => {
  it("is a URL, and every address of it, whatever is agreed on", () => {
    expect(accepted({})).toEqual({
      url: "https://api.example.com/users",
      headers: {},
      address: null,
      protocol: "auto",
      insecure: false,
      pings: 5,
      timeoutMs: 10_000
    })
  })

  it("takes credentials out of the URL, and sends them unless a header does", () => {
    const url = "https://user:pass%20word@api.example.com/"
    const authorization = `Basic ${Buffer.from("user:pass word").toString("base64")}`
    expect(accepted({ url })).toMatchObject({
      url: "https://api.example.com/",
      headers: { authorization }
    })
    expect(accepted({ url, header: ["Authorization: Bearer x"] }).headers).toEqual({
      authorization: "Bearer x"
    })
  })

  it("takes headers by their names, whatever case they are typed in", () => {
    expect(accepted({ header: ["Accept:text/html", "X-Trace:  a: b "] }).headers).toEqual({
      accept: "text/html",
      "x-trace": "a: b"
    })
  })

  it("takes an address to ask instead", () => {
    expect(accepted({ address: Option.some("2001:db8::1") }).address).toBe("2001:db8::1")
  })
})

const header =
  'must be a header such as "Accept: text/html", and none that tells a connection or a body (Connection, Content-Length, …)'

it.each<[Partial<Raw>, string]>([
  [
    { url: "ftp://user:secret@example.com/" },
    "<url> ftp://example.com/: must be a URL such as http://127.0.0.1:8080/path: http or https, a host, and a port from 1 to 65535 or none"
  ],
  [
    { address: Option.some("example.com") },
    "--address example.com: must be an IPv4 or IPv6 address, such as 192.0.2.1 or 2001:db8::1"
  ],
  [{ header: ["no-colon"] }, `--header no-colon: ${header}`],
  [{ header: ["Connection: close"] }, `--header "Connection: close": ${header}`],
  [{ header: ["a: b\nc: d"] }, `--header "a: b\\nc: d": ${header}`],
  [{ protocol: Option.some("h3") }, "--protocol h3: must be one of auto, h2, http/1.1"],
  [{ pings: Option.some("0") }, "--pings 0: must be a whole number from 1 to 1,000"],
  [
    { timeout: Option.some("soon") },
    '--timeout soon: must be a duration from 1 ms to 1 hour, such as 80, 80ms or "80 millis"'
  ]
])("%j is refused by its name", (typed, message) => {
  expect(refusal(typed)).toBe(message)
})
