import { HttpClientError, type HttpClientRequest } from "@effect/platform"
import { Context, Exit } from "effect"
import type { HedgeAttempt } from "effect-hedge"
import type { Encoded } from "./body.js"
import { CallLanes } from "./callLanes.js"
import { asksForStream, type Lanes } from "./lanes.js"
import { LaneResponse } from "./response.js"
import { Transfer } from "./transfer.js"
import type { Target } from "./url.js"

type Request = HttpClientRequest.HttpClientRequest

/** Why a request is cancelled whose fiber is interrupted, or its attempt. */
export const interrupted = new Error("the request was interrupted")

/** Whether what is sent inside are long streams. */
export class LongStreams extends Context.Reference<LongStreams>()("@effect-hedge/platform-node/LongStreams", {
  defaultValue: () => false
}) {}

/** What lanes say of a request that they cannot put into words. */
const unsendable = new Set([
  "InvalidRequest",
  "UND_ERR_INVALID_ARG",
  "UND_ERR_NOT_SUPPORTED",
  "UND_ERR_REQ_CONTENT_LENGTH_MISMATCH"
])

const requestError = (request: Request, cause: Error, sent: boolean): HttpClientError.RequestError => {
  const isEncode = !sent && unsendable.has((cause as NodeJS.ErrnoException).code ?? "")
  return new HttpClientError.RequestError({ request, reason: isEncode ? "Encode" : "Transport", cause })
}

const withoutHost = ({ host: _, ...others }: Encoded["headers"]): Encoded["headers"] => others

/** A request that has not been sent. */
export const transferOf = (
  lanes: Lanes,
  request: Request,
  { origin, path }: Target,
  { body, headers }: Encoded,
  context: Context.Context<never>,
  hedge: HedgeAttempt.HedgeAttempt | undefined,
  onHead: () => void
): Transfer => {
  const group = lanes.groupOf(
    origin,
    asksForStream(request) || context.unsafeMap.get(LongStreams.key) === true
  )
  const call = hedge === undefined ? undefined : CallLanes.of(hedge)
  return new Transfer(
    group,
    request.method,
    path,
    headers.host ?? group.upstream.authority,
    headers.host === undefined ? headers : withoutHost(headers),
    body,
    hedge?.index,
    call,
    group.reporter === undefined ? undefined : hedge?.callId,
    hedge,
    onHead
  )
}

export const start = (transfer: Transfer): void => {
  transfer.call?.add(transfer)
  transfer.group.start(transfer)
}

/** What a request has come to, whose answer has a head or will have none. */
export const answerOf = (
  request: Request,
  transfer: Transfer
): Exit.Exit<LaneResponse, HttpClientError.HttpClientError> =>
  transfer.isAnswered
    ? Exit.succeed(new LaneResponse(request, transfer))
    : Exit.fail(requestError(request, transfer.failure!, transfer.isSent))
