/** Asks a server that is not ours for one answer before thousands are asked of it. */
import { HttpClient } from "@effect/platform"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Data, Effect } from "effect"

/** The server at `--url` cannot be measured. */
export class UrlError extends Data.TaggedError("UrlError")<{
  readonly url: string
  readonly problem: string
}> {
  override get message(): string {
    return `--url ${this.url}: ${this.problem}; it must answer a GET with a status below 400`
  }
}

export const reach = (url: string): Effect.Effect<void, UrlError> =>
  HttpClient.get(url).pipe(
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
