import {
  Cookies,
  Headers,
  HttpClientError,
  type HttpClientRequest,
  HttpClientResponse,
  HttpIncomingMessage,
  UrlParams
} from "@effect/platform"
import { Cause, Chunk, Context, Effect, Inspectable, Option, Stream } from "effect"
import { guarded } from "./interruption.js"
import type { Transfer } from "./transfer.js"

type Read<A> = Effect.Effect<A, HttpClientError.ResponseError>

const cancelled = new Error("the response was given up")

/** What a user gets: a view of a transfer whose headers have come. */
export class LaneResponse extends Inspectable.Class implements HttpClientResponse.HttpClientResponse {
  readonly [HttpIncomingMessage.TypeId]: HttpIncomingMessage.TypeId = HttpIncomingMessage.TypeId
  readonly [HttpClientResponse.TypeId]: HttpClientResponse.TypeId = HttpClientResponse.TypeId
  private wholeBody: Buffer | undefined = undefined
  private knownHeaders: Headers.Headers | undefined = undefined
  private knownCookies: Cookies.Cookies | undefined = undefined

  constructor(
    readonly request: HttpClientRequest.HttpClientRequest,
    private readonly transfer: Transfer
  ) {
    super()
  }

  get status(): number {
    return this.transfer.status
  }

  get headers(): Headers.Headers {
    this.knownHeaders ??= Headers.fromInput(this.transfer.responseHeaders as Headers.Input)
    return this.knownHeaders
  }

  get cookies(): Cookies.Cookies {
    this.knownCookies ??= Cookies.fromSetCookie(this.transfer.responseHeaders["set-cookie"] ?? [])
    return this.knownCookies
  }

  get remoteAddress(): Option.Option<string> {
    return Option.fromNullable(this.transfer.lane?.address)
  }

  get text(): Read<string> {
    return Effect.map(this.bytes, decode)
  }

  get json(): Read<unknown> {
    return Effect.flatMap(this.text, (text) => this.decoded(() => (text === "" ? null : JSON.parse(text))))
  }

  get urlParamsBody(): Read<UrlParams.UrlParams> {
    return Effect.map(this.text, (text) => UrlParams.fromInput(new URLSearchParams(text)))
  }

  get arrayBuffer(): Read<ArrayBuffer> {
    return Effect.map(this.bytes, (bytes) => Uint8Array.from(bytes).buffer)
  }

  get formData(): Read<FormData> {
    return Effect.flatMap(this.bytes, (bytes) =>
      Effect.tryPromise({
        try: () =>
          new Response(bytes as Uint8Array<ArrayBuffer>, {
            headers: { "content-type": this.headers["content-type"] ?? "" }
          }).formData(),
        catch: (cause) => this.error(cause)
      })
    )
  }

  get stream(): Stream.Stream<Uint8Array, HttpClientError.ResponseError> {
    return Stream.ensuring(
      Stream.repeatEffectChunkOption(this.more),
      Effect.sync(() => this.transfer.cancel(cancelled))
    )
  }

  override toJSON(): unknown {
    return HttpIncomingMessage.inspect(this, {
      _id: "@effect/platform/HttpClientResponse",
      request: this.request.toJSON(),
      status: this.status
    })
  }

  // --- reading -------------------------------------------------------------------------------------------------------

  /** The whole body; read once and kept. */
  private get bytes(): Read<Buffer> {
    return Effect.withFiberRuntime((fiber, { runtimeFlags }) => {
      const { transfer } = this
      if (this.wholeBody !== undefined) return Effect.succeed(this.wholeBody)
      const limit = Option.match(Context.get(fiber.currentContext, HttpIncomingMessage.MaxBodySize), {
        onNone: () => Infinity,
        onSome: Number
      })
      if (!transfer.settled) {
        return guarded(this.settled(limit), runtimeFlags, {
          onSuccess: () => this.collect(limit),
          onFailure: (cause) => {
            transfer.cancel(cancelled)
            return Effect.failCause(cause)
          }
        })
      }
      return this.collect(limit)
    })
  }

  /** Waits until the body has come, or more than is allowed of it. */
  private settled(limit: number): Effect.Effect<void> {
    const { transfer } = this
    return Effect.async<void>((resume) => {
      transfer.attach(
        {
          onMore: () => {
            if (transfer.settled || transfer.buffered > limit) resume(Effect.void)
          }
        },
        Infinity
      )
    })
  }

  private collect(limit: number): Read<Buffer> {
    const { transfer } = this
    if (transfer.failure !== undefined) return Effect.fail(this.error(transfer.failure))
    if (transfer.buffered > limit) {
      transfer.cancel(cancelled)
      return Effect.fail(this.error(new Error(`the body is longer than ${limit} bytes`)))
    }
    const chunks = transfer.takeChunks() as Array<Buffer>
    this.wholeBody ??= chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
    return Effect.succeed(this.wholeBody)
  }

  /** What has come since, or fails with nothing at the end. */
  private get more(): Effect.Effect<Chunk.Chunk<Uint8Array>, Option.Option<HttpClientError.ResponseError>> {
    const { transfer } = this
    return Effect.async((resume) => {
      const onMore = (): void => {
        if (transfer.buffered > 0) {
          resume(Effect.succeed(Chunk.unsafeFromArray(transfer.takeChunks())))
        } else if (transfer.failure !== undefined)
          resume(Effect.fail(Option.some(this.error(transfer.failure))))
        else if (transfer.ended) resume(Effect.fail(Option.none()))
        else return
        transfer.attach(undefined, 65536)
      }
      transfer.attach({ onMore }, 65536)
      onMore()
    })
  }

  private decoded<A>(decode: () => A): Read<A> {
    return Effect.try({ try: decode, catch: (cause) => this.error(cause) })
  }

  private error(cause: unknown): HttpClientError.ResponseError {
    return new HttpClientError.ResponseError({
      request: this.request,
      response: this,
      reason: "Decode",
      cause
    })
  }
}

const decoder = new TextDecoder()

const decode = (bytes: Buffer): string =>
  // a byte order mark is not part of the text
  bytes.length > 2 && bytes[0] === 0xef ? decoder.decode(bytes) : bytes.toString("utf8")

void Cause
