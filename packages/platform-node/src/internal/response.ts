import {
  Cookies,
  Headers,
  HttpClientError,
  type HttpClientRequest,
  HttpClientResponse,
  HttpIncomingMessage,
  UrlParams
} from "@effect/platform"
import { Chunk, Context, Effect, Inspectable, Option, Stream } from "effect"
import { guarded } from "./interruption.js"
import type { Transfer } from "./transfer.js"

type Read<A> = Effect.Effect<A, HttpClientError.ResponseError>

const givenUp = new Error("the reading of the response was given up")

/** Transfers that still have a body to come are given up when nobody can read it any more. */
const abandoned = new FinalizationRegistry<Transfer>((transfer) => transfer.cancel(givenUp))

/** What a user gets: a view of a transfer whose headers have come. */
export class LaneResponse extends Inspectable.Class implements HttpClientResponse.HttpClientResponse {
  readonly [HttpIncomingMessage.TypeId]: HttpIncomingMessage.TypeId = HttpIncomingMessage.TypeId
  readonly [HttpClientResponse.TypeId]: HttpClientResponse.TypeId = HttpClientResponse.TypeId
  private whole: Buffer | undefined = undefined
  private knownHeaders: Headers.Headers | undefined = undefined
  private knownCookies: Cookies.Cookies | undefined = undefined

  constructor(
    readonly request: HttpClientRequest.HttpClientRequest,
    readonly transfer: Transfer
  ) {
    super()
    if (!transfer.settled) abandoned.register(this, transfer)
  }

  get status(): number {
    return this.transfer.status
  }

  get headers(): Headers.Headers {
    this.knownHeaders ??= Headers.fromInput(this.transfer.answerHeaders as Headers.Input)
    return this.knownHeaders
  }

  get cookies(): Cookies.Cookies {
    this.knownCookies ??= Cookies.fromSetCookie(this.transfer.answerHeaders["set-cookie"] ?? [])
    return this.knownCookies
  }

  get remoteAddress(): Option.Option<string> {
    const address = this.transfer.lane?.address
    return Option.fromNullable(address?.slice(0, address.lastIndexOf(":")))
  }

  get text(): Read<string> {
    return this.read(decode)
  }

  get json(): Read<unknown> {
    return this.read((bytes) => {
      const text = decode(bytes)
      return text === "" ? null : JSON.parse(text)
    })
  }

  get urlParamsBody(): Read<UrlParams.UrlParams> {
    return this.read((bytes) => UrlParams.fromInput(new URLSearchParams(decode(bytes))))
  }

  get arrayBuffer(): Read<ArrayBuffer> {
    return this.read((bytes) => Uint8Array.from(bytes).buffer)
  }

  get formData(): Read<FormData> {
    return Effect.flatMap(this.arrayBuffer, (body) => {
      const headers = { "content-type": this.headers["content-type"] ?? "" }
      return Effect.tryPromise({
        try: () => new Response(body, { headers }).formData(),
        catch: (cause) => this.error(cause)
      })
    })
  }

  get stream(): Stream.Stream<Uint8Array, HttpClientError.ResponseError> {
    return Stream.ensuring(
      Stream.repeatEffectChunkOption(this.more),
      Effect.sync(() => this.transfer.cancel(givenUp))
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

  /** What is made of the whole body, which is read once and kept. */
  private read<A>(make: (bytes: Buffer) => A): Read<A> {
    return Effect.withFiberRuntime((fiber, { runtimeFlags }) => {
      const { transfer } = this
      const limit = Context.get(fiber.currentContext, HttpIncomingMessage.MaxBodySize)
      const most = limit._tag === "None" ? Infinity : Number(limit.value)
      if (this.whole !== undefined || transfer.settled) return this.made(make, most)
      const onSuccess = (): Read<A> => this.made(make, most)
      return guarded(this.wait(most), runtimeFlags, onSuccess, (cause) => {
        transfer.cancel(givenUp)
        return Effect.failCause(cause)
      })
    })
  }

  private made<A>(make: (bytes: Buffer) => A, most: number): Read<A> {
    try {
      this.whole ??= this.collect(most)
      return Effect.succeed(make(this.whole))
    } catch (cause) {
      return Effect.fail(this.error(cause))
    }
  }

  /** Until the body has come, or more of it than is allowed. */
  private wait(most: number): Effect.Effect<void> {
    const { transfer } = this
    return Effect.async<void>((resume) => {
      const look = (): void => {
        if (!transfer.settled && !transfer.isTaken && transfer.unread <= most) return
        transfer.detach(look)
        resume(Effect.void)
      }
      // one that is read as a stream already fails in a later turn: to interrupt a reading gives the response up, whoever else reads it
      if (transfer.isTaken) return void setImmediate(() => resume(Effect.void))
      transfer.attach(look, true)
      look()
    })
  }

  private collect(most: number): Buffer {
    const { transfer } = this
    if (transfer.unread > most) {
      transfer.cancel(givenUp)
      throw new Error(`the body is longer than ${most} bytes`)
    }
    if (transfer.failure !== undefined) throw transfer.failure
    if (transfer.isTaken) throw new Error("the body has been read as a stream")
    const chunks = transfer.takeChunks() as ReadonlyArray<Buffer>
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  }

  /** What has come since; fails with nothing at the end. */
  private get more(): Effect.Effect<Chunk.Chunk<Uint8Array>, Option.Option<HttpClientError.ResponseError>> {
    const { transfer } = this
    return Effect.async((resume) => {
      let told = false
      const look = (): void => {
        if (told || (transfer.unread === 0 && !transfer.settled)) return
        // what comes while it takes is for the next to take
        told = true
        transfer.detach(look)
        if (transfer.unread > 0) resume(Effect.succeed(Chunk.unsafeFromArray(transfer.takeChunks())))
        else if (transfer.failure === undefined) resume(Effect.fail(Option.none()))
        else resume(Effect.fail(Option.some(this.error(transfer.failure))))
      }
      transfer.attach(look, false)
      look()
    })
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

/** A byte order mark is no part of the text. */
const decode = (bytes: Buffer): string =>
  bytes.length > 2 && bytes[0] === 0xef ? decoder.decode(bytes) : bytes.toString()
