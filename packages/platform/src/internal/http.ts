/**
 * Every look inside an HTTP client, response or error. A port to another major version of Effect starts here.
 */
import {
  type Headers,
  type HttpBody,
  type HttpClient,
  HttpClientError,
  HttpClientRequest,
  type HttpClientResponse
} from "@effect/platform"
import { Cause, Effect, Exit, Option, Predicate } from "effect"
import { globalValue } from "effect/GlobalValue"
import { HedgeAttempt, HedgeOutcome } from "effect-hedge"
import { memo } from "./memo.js"

type Request = HttpClientRequest.HttpClientRequest
type Response = HttpClientResponse.HttpClientResponse

// --- a client's two stages -------------------------------------------------------------------------------------------

/** What a client does with a request before it is sent, and how it sends it. */
export interface Stages<E, R> {
  readonly preprocess: (request: Request) => Effect.Effect<Request, E, R>
  readonly postprocess: (request: Effect.Effect<Request>) => Effect.Effect<Response, E, R>
}

/** Whether something can send a request. */
export const isClient = (u: unknown): boolean =>
  Predicate.isObject(u) && "execute" in u && typeof u.execute === "function"

/** The stages of a client of `HttpClient.makeWith`; another object's `execute` is a second stage as a whole. */
export const stagesOf = <E, R>(client: HttpClient.HttpClient.With<E, R>): Stages<E, R> => {
  const { preprocess, postprocess } = client as Partial<Stages<E, R>>
  return preprocess === undefined || postprocess === undefined
    ? { preprocess: Effect.succeed, postprocess: Effect.flatMap(client.execute) }
    : { preprocess, postprocess }
}

// --- requests --------------------------------------------------------------------------------------------------------

/** Where a request goes, without the parameters that are kept beside its URL; `undefined` if its URL is none. */
export const absoluteUrl = ({ url }: Pick<Request, "url">): URL | undefined => {
  const base = globalThis.location?.href
  return URL.canParse(url, base) ? new URL(url, base) : undefined
}

/** The part of a URL that decides its origin. */
const beforePath = /^https?:\/\/[^/?#\\]*/i

/** The origin by what stands before the path: to parse a URL costs as much as all else that a hedged client adds to a request. */
const originOfPrefix = memo(256, (prefix) => absoluteUrl({ url: prefix })?.origin)

/** The prefix that was seen last, and its origin: most requests go where the one before went. */
let latest = ""
let originOfLatest: string | undefined

/** The origin of a request's URL; `undefined` if its URL is none. */
export const originOf = (request: Request): string | undefined => {
  const { url } = request
  if (latest !== "" && url.startsWith(latest) && endsPrefix(url, latest.length)) return originOfLatest
  const prefix = beforePath.exec(url)?.[0]
  if (prefix === undefined) return absoluteUrl(request)?.origin
  latest = prefix
  originOfLatest = originOfPrefix(prefix)
  return originOfLatest
}

const endsPrefix = (url: string, at: number): boolean =>
  at === url.length || url[at] === "/" || url[at] === "?" || url[at] === "#" || url[at] === "\\"

/** The path of a request's URL, as it stands there; `undefined` if its URL is none. */
export const pathOf = (request: Request): string | undefined => {
  const { url } = request
  const prefix = beforePath.exec(url)?.[0]
  const path =
    prefix === undefined ? absoluteUrl(request)?.pathname : url.slice(prefix.length).replace(/[?#].*/s, "")
  return path === "" ? "/" : path
}

/** The same request with other headers. `HttpClientRequest` can add and replace headers only. */
export const withHeaders = (request: Request, headers: Headers.Headers): Request =>
  Object.assign(Object.create(Object.getPrototypeOf(request)), request, { headers })

// --- what an exit means ----------------------------------------------------------------------------------------------

const nonFatalStatus = new Set([408, 425, 429, 500, 502, 503, 504])

/** Whose exit is judged, if that is known: `fromExit` may be a callback that is given something else. */
type Judged = Partial<Pick<HedgeAttempt.HedgeAttempt, "clock">> | undefined

/** HTTP's judgement. `isKeyed` tells the requests that may be repeated for their idempotency key alone. */
export const judgement =
  (isKeyed: (request: Request) => boolean) =>
  (exit: Exit.Exit<Response, unknown>, attempt?: Judged): HedgeOutcome.HedgeOutcome => {
    if (exit._tag === "Success") return fromResponse(exit.value, isKeyed, attempt)
    const error = Option.getOrUndefined(Cause.failureOption(exit.cause))
    if (HttpClientError.isHttpClientError(error)) {
      if (error.reason === "StatusCode") return fromResponse(error.response, isKeyed, attempt)
      if (error.reason === "Encode" || error.reason === "InvalidUrl") return HedgeOutcome.fatal()
    }
    return HedgeOutcome.fromExit(exit)
  }

const fromResponse = (
  response: Response,
  isKeyed: (request: Request) => boolean,
  attempt: Judged
): HedgeOutcome.HedgeOutcome => {
  const { status } = response
  // a server that is at work on the first copy answers a second with the same key so (draft-ietf-httpapi-idempotency-key-header)
  if (status === 409 && isKeyed(response.request)) return HedgeOutcome.nonFatal("DoNotRetry")
  if (!nonFatalStatus.has(status)) return HedgeOutcome.win
  return HedgeOutcome.nonFatal(pushbackOf(response, attempt) ?? (status === 429 ? "DoNotRetry" : undefined))
}

/** The same of a stream of events: one that ends before its first event has answered nothing, however politely. */
export const eventJudgement = (isKeyed: (request: Request) => boolean) => {
  const judge = judgement(isKeyed)
  return (exit: Exit.Exit<unknown, unknown>, attempt: Judged): HedgeOutcome.HedgeOutcome => {
    if (exit._tag === "Success") return HedgeOutcome.win
    return Cause.isEmpty(exit.cause) ? HedgeOutcome.nonFatal() : judge(Exit.failCause(exit.cause), attempt)
  }
}

// --- pushback --------------------------------------------------------------------------------------------------------

const wholeNumber = /^\s*\d+\s*$/

/** The three forms of a date in HTTP. Others, which `Date.parse` would read too, are no dates here. */
const httpDate = /^\s*(?:[A-Z][a-z]{2}, \d|[A-Z][a-z]+day, \d|[A-Z][a-z]{2} [A-Z][a-z]{2} )/

/** When the server wants to see the next attempt, in milliseconds from now: its answer has just arrived. */
const pushbackOf = ({ headers }: Response, attempt: Judged): HedgeOutcome.Pushback | undefined => {
  const millis = headers["grpc-retry-pushback-ms"]
  if (millis !== undefined) return wholeNumber.test(millis) ? Number(millis) : "DoNotRetry"
  const after = headers["retry-after"]
  if (after === undefined) return undefined
  if (wholeNumber.test(after)) return Number(after) * 1000
  const date = httpDate.test(after) ? Date.parse(after.includes("GMT") ? after : `${after} GMT`) : Number.NaN
  const now = attempt?.clock?.unsafeCurrentTimeMillis() ?? Date.now()
  return Number.isNaN(date) ? "DoNotRetry" : Math.max(0, date - now)
}

// --- responses inside errors -----------------------------------------------------------------------------------------

/**
 * A failure that holds a response. It goes through the engine as a success, so that the engine owns it like any other response: it is released
 * exactly once, unless it is the result.
 */
export class Held {
  constructor(readonly error: HttpClientError.ResponseError) {}
}

const heldIn = (cause: Cause.Cause<unknown>): Held | undefined => {
  const error = cause._tag === "Fail" ? cause.error : undefined
  return HttpClientError.isHttpClientError(error) && error._tag === "ResponseError"
    ? new Held(error)
    : undefined
}

const heldOnFiber: <R>(
  attempt: Effect.Effect<Response, unknown, R>
) => Effect.Effect<Response | Held, unknown, R> = Effect.catchAllCause((cause) => {
  const held = heldIn(cause)
  return held === undefined ? Effect.failCause(cause) : Effect.succeed(held)
})

type Transport = HedgeAttempt.Fiberless<Response, unknown>

class HeldTransport extends HedgeAttempt.Fiberless<Response | Held, unknown> {
  constructor(private readonly attempt: Transport) {
    super()
  }

  override commit(): Effect.Effect<Response | Held, unknown> {
    return heldOnFiber(this.attempt)
  }

  override launch(
    ...[attempt, caller, resume]: HedgeAttempt.LaunchArguments<Response | Held, unknown>
  ): HedgeAttempt.Started | undefined {
    return this.attempt.launch(attempt, caller, (exit) => {
      const held = exit._tag === "Failure" ? heldIn(exit.cause) : undefined
      resume(held === undefined ? exit : Exit.succeed(held))
    })
  }
}

/** Whether it is a transport's own, with nothing around it, which needs no fiber. */
const isTransport = (attempt: Effect.Effect<Response, unknown, unknown>): attempt is Transport =>
  attempt instanceof HedgeAttempt.Fiberless

/** Runs an attempt so that what it ends with can be judged and released. */
export const held = <R>(
  attempt: Effect.Effect<Response, unknown, R>
): Effect.Effect<Response | Held, unknown, R> =>
  isTransport(attempt) ? new HeldTransport(attempt) : heldOnFiber(attempt)

/** What the caller gets: the response, or the failure that held one. */
export const unheld = (result: Response | Held): Effect.Effect<Response, HttpClientError.ResponseError> =>
  result instanceof Held ? Effect.fail(result.error) : Effect.succeed(result)

/** The response that an attempt ended with, be it within a failure. */
export const responseOf = (result: Response | Held): Response =>
  result instanceof Held ? result.error.response : result

// --- responses of server-sent events ---------------------------------------------------------------------------------

const eventStream = "text/event-stream"

/** The request, which says that it wants events unless it says something else. */
export const acceptingEvents = (request: Request): Request =>
  request.headers.accept === undefined ? HttpClientRequest.accept(request, eventStream) : request

/** A response that is no stream of events, as the failure that holds it. */
export const heldUnlessEvents = (response: Response): Held | undefined => {
  const { headers, request, status } = response
  if (Math.floor(status / 100) !== 2) {
    const description = "non 2xx status code"
    return new Held(
      new HttpClientError.ResponseError({ request, response, reason: "StatusCode", description })
    )
  }
  const type = headers["content-type"]
  if (type === undefined || type.toLowerCase().startsWith(eventStream)) return undefined
  const description = `content type ${type} instead of ${eventStream}`
  return new Held(new HttpClientError.ResponseError({ request, response, reason: "Decode", description }))
}

/** An event that is longer than a reader should have to hold. */
export const eventTooLong = (response: Response, most: number): HttpClientError.ResponseError =>
  new HttpClientError.ResponseError({
    request: response.request,
    response,
    reason: "Decode",
    description: `an event of more than ${most} characters`
  })

// --- release ---------------------------------------------------------------------------------------------------------

/**
 * Gives up a response: its connection or stream is closed at once, however much of its body is still to come. Nothing but the interruption of a
 * body read aborts a response, on any transport; so a read is started and interrupted, also within a finalizer.
 */
export const release = (response: Response): Effect.Effect<void> =>
  Effect.suspend(() => {
    controllers.get(response)?.abort()
    return Effect.interruptible(Effect.raceFirst(response.text, Effect.void))
  }).pipe(
    Effect.catchAllCause(() => Effect.void),
    Effect.asVoid
  )

// --- HttpClient.withScope --------------------------------------------------------------------------------------------

/** Where `HttpClient.withScope` notes the controller of a request. Its own executions abort for nothing else. */
const scopedRequests = globalValue(
  "@effect/platform/HttpClient/scopedRequests",
  () => new WeakMap<Request, AbortController>()
)

/** The controllers of responses that a scoped client gave. */
const controllers = new WeakMap<Response, AbortController>()

/** The controller of a request that is sent within a scope. One whose scope has closed is left over from an earlier execution. */
export const scopedController = (request: Request): AbortController | undefined => {
  const controller = scopedRequests.get(request)
  return controller?.signal.aborted === true ? undefined : controller
}

/** Another object: `HttpClient.withScope` knows requests by their identity. */
export const copyOf = (request: Request): Request => HttpClientRequest.setUrl(request, request.url)

/**
 * An attempt through a client that may be scoped, on a copy of the request: interrupting it aborts the copy, which the scope alone would do much later.
 */
export const sendInScope = <R>(
  request: Request,
  postprocess: Stages<unknown, R>["postprocess"]
): Effect.Effect<Response | Held, unknown, R> => {
  const copy = copyOf(request)
  const sent = postprocess(Effect.succeed(copy))
  return isTransport(sent) ? held(sent) : abortable(copy, held(sent))
}

const abortable = <E, R>(
  copy: Request,
  sent: Effect.Effect<Response | Held, E, R>
): Effect.Effect<Response | Held, E, R> =>
  Effect.onExit(sent, (exit) =>
    Effect.sync(() => {
      const controller = scopedRequests.get(copy)
      if (controller === undefined) return
      if (exit._tag === "Success") controllers.set(responseOf(exit.value), controller)
      else controller.abort()
    })
  )

/** The response ends with the scope of `HttpClient.withScope` above the hedge, as it would without one. */
export const releaseAtAbort =
  ({ signal }: AbortController) =>
  (result: Response | Held): Effect.Effect<void> => {
    const response = responseOf(result)
    if (signal.aborted) return release(response)
    signal.addEventListener("abort", () => Effect.runFork(release(response)))
    return Effect.void
  }

// --- bodies ----------------------------------------------------------------------------------------------------------

/** Whether a body can be sent any number of times: everything but streams, raw ones included. */
export const isReplayable = (body: HttpBody.HttpBody): boolean =>
  body._tag !== "Stream" && (body._tag !== "Raw" || isBytesOrText(body.body))

const isBytesOrText = (u: unknown): boolean =>
  Predicate.isNullable(u) ||
  typeof u === "string" ||
  u instanceof ArrayBuffer ||
  ArrayBuffer.isView(u) ||
  u instanceof URLSearchParams ||
  u instanceof Blob ||
  u instanceof FormData
