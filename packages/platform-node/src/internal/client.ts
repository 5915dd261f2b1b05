import {
  HttpClient,
  HttpClientError,
  type HttpClientRequest,
  type HttpClientResponse
} from "@effect/platform"
import { Cause, Effect, type Fiber, FiberRef, type RuntimeFlags } from "effect"
import { HedgeAttempt } from "effect-hedge"
import { CallLanes } from "./callLanes.js"
import { LaneGroup } from "./group.js"
import { guarded } from "./interruption.js"
import { LaneResponse } from "./response.js"
import { Transfer } from "./transfer.js"
import { resolve } from "./upstream.js"
import { targetOf } from "./url.js"

type Request = HttpClientRequest.HttpClientRequest
type Response = HttpClientResponse.HttpClientResponse
type Answer = Effect.Effect<Response, HttpClientError.HttpClientError>
type Caller = Fiber.RuntimeFiber<Response, HttpClientError.HttpClientError>

const interrupted = new Error("the request was interrupted")

export class Lanes {
  private readonly groups = new Map<string, LaneGroup>()

  groupOf(origin: string): LaneGroup {
    let group = this.groups.get(origin)
    if (group === undefined) {
      group = new LaneGroup(resolve(origin))
      this.groups.set(origin, group)
    }
    return group
  }

  close(): void {
    for (const group of this.groups.values()) group.close(new Error("the client was closed"))
  }
}

const send = (lanes: Lanes, request: Request, fiber: Caller, flags: RuntimeFlags.RuntimeFlags): Answer => {
  const target = targetOf(request)
  if (target instanceof Error)
    return Effect.fail(new HttpClientError.RequestError({ request, reason: "InvalidUrl", cause: target }))
  const group = lanes.groupOf(target.origin)
  const attempt = HedgeAttempt.fromContext(fiber.currentContext)
  const call = attempt === undefined ? undefined : CallLanes.of(attempt)
  let transfer: Transfer
  const head = Effect.async<Response, HttpClientError.HttpClientError>((resume) => {
    transfer = new Transfer(
      {
        method: request.method,
        path: target.path,
        authority: group.upstream.authority,
        scheme: group.upstream.secure ? "https" : "http",
        headers: request.headers,
        body: request.body._tag === "Uint8Array" ? request.body.body : undefined
      },
      group,
      call,
      attempt?.index,
      {
        onHead: () => resume(Effect.succeed(new LaneResponse(request, transfer))),
        onFailed: (cause) =>
          resume(Effect.fail(new HttpClientError.RequestError({ request, reason: "Transport", cause })))
      }
    )
    call?.add(transfer)
    group.start(transfer)
  })
  return guarded(head, flags, {
    onSuccess: (response) => {
      if (!Cause.isEmpty(fiber.getFiberRef(FiberRef.interruptedCause))) transfer.cancel(interrupted)
      return Effect.succeed(response)
    },
    onFailure: (cause) => {
      transfer.cancel(interrupted)
      return Effect.failCause(cause)
    }
  })
}

export const make = (lanes: Lanes): HttpClient.HttpClient =>
  HttpClient.makeWith<never, never, HttpClientError.HttpClientError, never>(
    Effect.flatMap((request) =>
      Effect.withFiberRuntime<Response, HttpClientError.HttpClientError>((fiber, { runtimeFlags }) =>
        send(lanes, request, fiber, runtimeFlags)
      )
    ),
    Effect.succeed
  )
