import { type HttpClientRequest, UrlParams } from "@effect/platform"

/** What of a request's URL goes where. */
export interface Target {
  readonly origin: string
  /** Path and query, as they stand in the request line. */
  readonly path: string
}

/** URLs that stand as they are sent: no segment of dots and nothing that would have to be encoded. */
const plain = /^(https?:\/\/[a-z0-9.-]+(?::\d+)?)(\/[\w\-~!$&()*+,;=:@/?.]*)$/
const dots = /\/\./

/** Origins by how they are written: to parse a URL costs more than to find one. */
const origins = new Map<string, string>()
const mostOrigins = 256

const originOf = (written: string): string | undefined => {
  const known = origins.get(written)
  if (known !== undefined) return known
  const origin = URL.canParse(written) ? new URL(written).origin : undefined
  if (origin === undefined) return undefined
  if (origins.size >= mostOrigins) origins.clear()
  origins.set(written, origin)
  return origin
}

/** Where a request goes, or why nowhere. */
export const targetOf = (request: HttpClientRequest.HttpClientRequest): Target | Error => {
  const { hash, url, urlParams } = request
  if (urlParams.length === 0 && hash._tag === "None") {
    const match = plain.exec(url)
    if (match !== null && !dots.test(match[2]!)) {
      const origin = originOf(match[1]!)
      if (origin !== undefined) return { origin, path: match[2]! }
    }
  }
  const parsed = UrlParams.makeUrl(url, urlParams, hash)
  if (parsed._tag === "Left") return parsed.left
  const { origin, pathname, protocol, search } = parsed.right
  return protocol === "http:" || protocol === "https:"
    ? { origin, path: pathname + search }
    : new TypeError(`the protocol ${protocol} is not http: or https:`)
}
