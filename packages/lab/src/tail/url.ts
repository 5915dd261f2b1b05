/** A server that is not ours: its URL as typed, and whether it answers before thousands of answers are asked of it. */
import { HttpClient } from "@effect/platform"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Data, Effect } from "effect"
import type { UrlTarget } from "./settings.js"

/** The server at `--url` cannot be measured. */
export class UrlError extends Data.TaggedError("UrlError")<{
  readonly url: string
  readonly problem: string
}> {
  override get message(): string {
    return `--url ${this.url}: ${this.problem}; it must answer a GET with a status below 400`
  }
}

export const allowed =
  "must be a URL such as http://127.0.0.1:8080/path: http or https, a host, and a port from 1 to 65535 or none"

/** Undefined for what is no URL that can be asked. Credentials become a header, and are not shown. */
export const parse = (text: string): UrlTarget | undefined => {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.port === "0") return undefined
  const { password, username } = url
  url.username = ""
  url.password = ""
  url.hash = ""
  return {
    _tag: "Url",
    url: url.href,
    authorization: username === "" && password === "" ? null : basic(username, password)
  }
}

const basic = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${decode(username)}:${decode(password)}`).toString("base64")}`

/** A percent sign that encodes nothing stands for itself. */
const decode = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The same text without what may be a password. */
export const withoutCredentials = (text: string): string => text.replace(/\/\/[^/?#]*@/, "//")

export const reach = ({ authorization, url }: UrlTarget): Effect.Effect<void, UrlError> =>
  HttpClient.get(url, { headers: authorization === null ? {} : { authorization } }).pipe(
    Effect.tap((response) => response.text),
    Effect.timeoutFail({
      duration: "10 seconds",
      onTimeout: () => new UrlError({ url, problem: "no answer in 10 seconds" })
    }),
    Effect.catchTags({
      RequestError: (error) => new UrlError({ url, problem: `no answer (${codeOf(error)})` }),
      ResponseError: (error) => new UrlError({ url, problem: `broken answer (${codeOf(error)})` })
    }),
    Effect.flatMap((response) =>
      response.status < 400 ? Effect.void : new UrlError({ url, problem: `answered ${response.status}` })
    ),
    Effect.provide(NodeHttpClient.layerUndici)
  )

/** The innermost error says most: the system's, with its code. */
const codeOf = (error: unknown): string => {
  let inner = error
  while (inner instanceof Error && inner.cause !== undefined) inner = inner.cause
  return inner instanceof Error ? ((inner as NodeJS.ErrnoException).code ?? inner.message) : String(inner)
}
