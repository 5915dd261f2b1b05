import { Readable } from "node:stream"
import type { ReadableStream } from "node:stream/web"
import { type HttpBody, HttpClientError, type HttpClientRequest } from "@effect/platform"
import { NodeStream } from "@effect/platform-node"
import { Effect } from "effect"
import { encodeForm } from "./form.js"
import type { SentBody } from "./transfer.js"

type Request = HttpClientRequest.HttpClientRequest

/** A body as lanes send it, and the headers that go with it. */
export interface Encoded {
  readonly body: SentBody
  readonly headers: Readonly<Record<string, string>>
}

/** The body of a request that needs nothing done to it; undefined if it does. */
export const plainBody = (body: HttpBody.HttpBody): { readonly body: SentBody } | undefined => {
  if (body._tag === "Empty") return nothing
  if (body._tag === "Uint8Array") return body as { readonly body: Uint8Array }
  if (body._tag === "Raw" && (typeof body.body === "string" || body.body instanceof Uint8Array)) {
    return body as { readonly body: string | Uint8Array }
  }
  return undefined
}

const nothing = { body: undefined }

/** The body of any request. */
export const encode = (request: Request): Effect.Effect<Encoded, HttpClientError.RequestError> => {
  const { body, headers } = request
  switch (body._tag) {
    case "Stream":
      return Effect.map(NodeStream.toReadable(body.stream), (body) => ({ body, headers }))
    case "FormData":
      return Effect.succeed(formOf(body.formData, headers))
    case "Raw":
      return rawOf(body.body, request)
    case "Empty":
    case "Uint8Array":
      return Effect.succeed({ ...plainBody(body)!, headers })
  }
}

const formOf = (form: FormData, headers: Encoded["headers"]): Encoded => {
  const { body, contentType, length } = encodeForm(form)
  return { body, headers: { ...headers, "content-type": contentType, "content-length": String(length) } }
}

const withType = (headers: Encoded["headers"], type: string): Encoded["headers"] =>
  type === "" || headers["content-type"] !== undefined ? headers : { ...headers, "content-type": type }

const rawOf = (raw: unknown, request: Request): Effect.Effect<Encoded, HttpClientError.RequestError> => {
  const { headers } = request
  if (raw === undefined || raw === null) return Effect.succeed({ body: undefined, headers })
  if (typeof raw === "string" || raw instanceof Uint8Array || raw instanceof Readable) {
    return Effect.succeed({ body: raw, headers })
  }
  if (ArrayBuffer.isView(raw)) {
    return Effect.succeed({ body: new Uint8Array(raw.buffer, raw.byteOffset, raw.byteLength), headers })
  }
  if (raw instanceof ArrayBuffer) return Effect.succeed({ body: new Uint8Array(raw), headers })
  if (raw instanceof URLSearchParams) {
    const type = "application/x-www-form-urlencoded;charset=UTF-8"
    return Effect.succeed({ body: raw.toString(), headers: withType(headers, type) })
  }
  if (raw instanceof FormData) return Effect.succeed(formOf(raw, headers))
  if (raw instanceof Blob) {
    const sized = { ...withType(headers, raw.type), "content-length": String(raw.size) }
    return Effect.succeed({ body: Readable.fromWeb(raw.stream() as ReadableStream), headers: sized })
  }
  if (raw instanceof globalThis.ReadableStream) {
    if (raw.locked) return unreadable(request, "a raw stream can be sent once; this one is being read")
    return Effect.succeed({ body: Readable.fromWeb(raw as ReadableStream), headers })
  }
  if (Symbol.asyncIterator in Object(raw) || Symbol.iterator in Object(raw)) {
    return Effect.succeed({
      body: Readable.from(raw as AsyncIterable<unknown>, { objectMode: false }),
      headers
    })
  }
  return unreadable(request, "a raw body is text, bytes, a Blob, a form or a stream of bytes")
}

const unreadable = (request: Request, description: string) =>
  Effect.fail(new HttpClientError.RequestError({ request, reason: "Encode", description }))
