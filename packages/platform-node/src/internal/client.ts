import {
  HttpClient,
  HttpClientError,
  type HttpClientRequest,
  type HttpClientResponse
} from "@effect/platform"
import { Cause, Effect, Exit, type Fiber, FiberRef, RuntimeFlags } from "effect"
import { globalValue } from "effect/GlobalValue"
import { HedgeAttempt } from "effect-hedge"
import { type Encoded, encode, plainBody } from "./body.js"
import { guarded } from "./interruption.js"
import type { Lanes } from "./lanes.js"
import { Launched } from "./launched.js"
import type { LaneResponse } from "./response.js"
import { answerOf, interrupted, start, transferOf } from "./sending.js"
import { isTraced, RequestSpan } from "./trace.js"
import type { Transfer } from "./transfer.js"
import { type Target, targetOf } from "./url.js"

type Request = HttpClientRequest.HttpClientRequest
type Response = HttpClientResponse.HttpClientResponse
type ClientError = HttpClientError.HttpClientError
type Answer = Effect.Effect<LaneResponse, ClientError>
type AnyFiber = Fiber.RuntimeFiber<unknown, unknown>
type Caller = Fiber.RuntimeFiber<Response, ClientError>

const scopeClosed = new Error("the scope of the request was closed")

/** Where `HttpClient.withScope` notes the controller of a request. */
const scopedRequests = globalValue(
  "@effect/platform/HttpClient/scopedRequests",
  () => new WeakMap<Request, AbortController>()
)

/** Sends a request and waits for the head of its answer. */
const send = (
  lanes: Lanes,
  request: Request,
  target: Target,
  encoded: Encoded,
  scope: AbortSignal | undefined,
  fiber: Caller,
  flags: RuntimeFlags.RuntimeFlags
): Answer => {
  const context = fiber.currentContext
  let transfer: Transfer | undefined
  // in one step, since the fiber may yield between two: meanwhile its lanes could be closed, or its body fail
  const head = Effect.async<void>((resume) => {
    const attempt = HedgeAttempt.fromContext(context)
    const onHead = () => resume(Effect.void)
    transfer = transferOf(lanes, request, target, encoded, context, attempt, onHead)
    start(transfer)
    if (scope !== undefined) cancelAtAbort(transfer, scope)
  })
  const onSuccess = (): Answer => {
    if (transfer!.isAnswered && willUnwind(fiber, flags)) transfer!.cancel(interrupted)
    return answerOf(request, transfer!)
  }
  return guarded(head, flags, onSuccess, (cause) => {
    transfer?.cancel(interrupted)
    return Effect.failCause(cause)
  })
}

/** A scope may outlive many requests: it keeps none of them. Those in flight are kept by their lanes. */
const cancelAtAbort = (transfer: Transfer, scope: AbortSignal): void => {
  const held = new WeakRef(transfer)
  scope.addEventListener("abort", () => held.deref()?.cancel(scopeClosed), { once: true })
}

/** Whether a fiber that has been interrupted is about to notice it. */
const willUnwind = (fiber: Caller, flags: RuntimeFlags.RuntimeFlags): boolean =>
  RuntimeFlags.interruption(flags) && !Cause.isEmpty(fiber.getFiberRef(FiberRef.interruptedCause))

/** Ends with the scope of a request that is sent within one. A controller that has aborted already is left over from an earlier execution. */
const scopeOf = (request: Request): AbortSignal | undefined => {
  const signal = scopedRequests.get(request)?.signal
  return signal?.aborted === true ? undefined : signal
}

const execute = (
  lanes: Lanes,
  request: Request,
  fiber: Caller,
  flags: RuntimeFlags.RuntimeFlags
): Effect.Effect<Response, ClientError> => {
  const target = targetOf(request)
  if (target instanceof Error) {
    return Effect.fail(new HttpClientError.RequestError({ request, reason: "InvalidUrl", cause: target }))
  }
  const scope = scopeOf(request)
  const sendOnce = (request: Request): Answer => {
    const plain = plainBody(request.body)
    return plain === undefined
      ? Effect.flatMap(encode(request), (encoded) =>
          send(lanes, request, target, encoded, scope, fiber, flags)
        )
      : send(lanes, request, target, { body: plain.body, headers: request.headers }, scope, fiber, flags)
  }
  if (!isTraced(request, fiber)) return sendOnce(request)
  const span = new RequestSpan(request, target, fiber, fiber.currentSpan)
  const sending = Effect.suspend(() => sendOnce(span.propagatedBy(request)))
  const answer = Effect.withParentSpan(sending, span.span)
  return Effect.onExit(answer, (exit) => Effect.sync(() => span.end(exit)))
}

/** The sending of a request. */
class Sending extends HedgeAttempt.Fiberless<Response, ClientError> {
  constructor(
    private readonly lanes: Lanes,
    private readonly request: Request
  ) {
    super()
  }

  override commit(): Effect.Effect<Response, ClientError> {
    return Effect.withFiberRuntime((fiber: Caller, { runtimeFlags }) =>
      execute(this.lanes, this.request, fiber, runtimeFlags)
    )
  }

  override launch(
    attempt: HedgeAttempt.HedgeAttempt,
    caller: AnyFiber,
    resume: (exit: Exit.Exit<LaneResponse, ClientError>) => void
  ): HedgeAttempt.Started | undefined {
    const { lanes, request } = this
    const target = targetOf(request)
    const plain = plainBody(request.body)
    if (target instanceof Error || plain === undefined || scopeOf(request) !== undefined) return undefined
    const span = isTraced(request, caller)
      ? new RequestSpan(request, target, caller, attempt.span ?? caller.currentSpan)
      : undefined
    const sent = span === undefined ? request : span.propagatedBy(request)
    const encoded = { body: plain.body, headers: sent.headers }
    const launched = new Launched(sent, span, caller, resume)
    const onHead = () => launched.onHead()
    launched.transfer = transferOf(lanes, sent, target, encoded, caller.currentContext, attempt, onHead)
    start(launched.transfer)
    return launched
  }
}

/** The client of some lanes. */
export const make = (lanes: Lanes): HttpClient.HttpClient => {
  const sending = (request: Request) => new Sending(lanes, request)
  return HttpClient.makeWith<never, never, ClientError, never>(
    (request) =>
      Exit.isExit(request) && request._tag === "Success"
        ? sending(request.value as Request)
        : Effect.flatMap(request, sending),
    Effect.succeed
  )
}
