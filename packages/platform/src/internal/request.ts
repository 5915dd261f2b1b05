import { Headers, HttpClientRequest } from "@effect/platform"
import { Duration, Option } from "effect"
import type { HedgeAttempt } from "effect-hedge"
import { absoluteUrl, isReplayable, withHeaders } from "./http.js"
import { type AnyOptions, defaultIdempotencyHeader } from "./options.js"

type Request = HttpClientRequest.HttpClientRequest
type CopyOptions = Omit<AnyOptions, "classify" | "policy">

/** What becomes of a request: whether more than one copy may be sent, and what each copy is. */
export interface Copies {
  readonly eligible: (request: Request) => boolean
  /** What an attempt sends. */
  readonly copyFor: (request: Request, attempt: HedgeAttempt.HedgeAttempt) => Request
}

const safeMethods = new Set(["GET", "HEAD", "OPTIONS"])

/** Requests that are no reads, but carry a key by which their server knows copies. */
export const keyedBy = ({
  idempotencyHeader = defaultIdempotencyHeader
}: CopyOptions): ((request: Request) => boolean) => {
  const header = idempotencyHeader.toLowerCase()
  return (request) => !safeMethods.has(request.method) && Boolean(request.headers[header])
}

export const copies = (options: CopyOptions): Copies => {
  const isKeyed = keyedBy(options)
  const mayRepeat = (request: Request): boolean =>
    safeMethods.has(request.method) || isKeyed(request) || options.eligible?.(request) === true

  const { attempt: attemptHeader, callId: callIdHeader, deadline: deadlineHeader } = options.headers ?? {}
  const stamped = (copy: Request, attempt: HedgeAttempt.HedgeAttempt): Request => {
    let result = copy
    if (attemptHeader !== undefined && attempt.index > 0) {
      result = HttpClientRequest.setHeader(result, attemptHeader, String(attempt.index))
    }
    if (callIdHeader !== undefined) {
      result = HttpClientRequest.setHeader(result, callIdHeader, attempt.callId)
    }
    if (deadlineHeader === undefined) return result
    return Option.match(attempt.unsafeTimeLeft(), {
      onNone: () => result,
      onSome: (left) =>
        HttpClientRequest.setHeader(result, deadlineHeader, String(Math.floor(Duration.toMillis(left))))
    })
  }

  const replayed = (request: Request): Request =>
    options.replay === undefined || isReplayable(request.body) ? request : options.replay(request)
  const toReplica = replicaRouter(options)

  return {
    eligible: (request) => mayRepeat(request) && (options.replay !== undefined || isReplayable(request.body)),
    copyFor: (request, attempt) =>
      stamped(attempt.index === 0 ? request : toReplica(replayed(request), attempt.index), attempt)
  }
}

const secrets = ["authorization", "cookie", "proxy-authorization"]

const withoutSecrets = (request: Request): Request =>
  withHeaders(
    request,
    secrets.reduce((headers, name) => Headers.remove(headers, name), request.headers)
  )

/** Sends hedge i to the list's i-th base URL, and starts over behind the last. */
const replicaRouter = ({
  replicas,
  credentials
}: CopyOptions): ((copy: Request, index: number) => Request) => {
  if (replicas === undefined) return (copy) => copy
  const bases = replicas.map((replica) => new URL(replica).href.replace(/\/+$/, ""))
  return (copy, index) => {
    const url = absoluteUrl(copy)
    if (url === undefined) return copy
    const base = bases[(index - 1) % bases.length]!
    const routed = HttpClientRequest.setUrl(copy, base + url.pathname + url.search + url.hash)
    return credentials === "omit" ? withoutSecrets(routed) : routed
  }
}
