import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { Effect, Exit } from "effect"
import { HedgeAttempt, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import { turn } from "./suite/transport.js"

type Request = HttpClientRequest.HttpClientRequest
type Response = HttpClientResponse.HttpClientResponse
type Sent = Exit.Exit<Response, HttpClientError.HttpClientError>

/** A client whose attempts need no fiber, and answer what they are told. */
class Callbacks {
  launched = 0
  onFibers = 0
  /** The statuses of responses the reading of whose body was given up. */
  readonly released: Array<number> = []

  constructor(readonly answers: (client: Callbacks, request: Request, attempt: number) => Sent) {}

  response(request: Request, status: number): Response {
    const text = Effect.onInterrupt(Effect.never, () => Effect.sync(() => this.released.push(status)))
    const response = HttpClientResponse.fromWeb(request, new globalThis.Response(null, { status }))
    return Object.defineProperty(response, "text", { value: text })
  }

  /** The failure that `filterStatusOk` makes of a response. */
  refused(request: Request, status: number): Sent {
    const response = this.response(request, status)
    return Exit.fail(new HttpClientError.ResponseError({ request, response, reason: "StatusCode" }))
  }

  get client(): HttpClient.HttpClient {
    return HttpClient.makeWith<never, never, HttpClientError.HttpClientError, never>(
      (request) =>
        Exit.isExit(request) && Exit.isSuccess(request)
          ? new Sending(this, request.value as Request)
          : Effect.die("the request is known"),
      Effect.succeed
    )
  }
}

class Sending extends HedgeAttempt.Fiberless<Response, HttpClientError.HttpClientError> {
  constructor(
    readonly client: Callbacks,
    readonly request: Request
  ) {
    super()
  }

  launch(
    ...[attempt, , resume]: HedgeAttempt.LaunchArguments<Response, HttpClientError.HttpClientError>
  ): HedgeAttempt.Started {
    this.client.launched++
    resume(this.client.answers(this.client, this.request, attempt.index))
    return { cancel: () => {} }
  }

  commit(): Effect.Effect<Response, HttpClientError.HttpClientError> {
    return Effect.flatMap(HedgeAttempt.current, (attempt) => {
      this.client.onFibers++
      return this.client.answers(
        this.client,
        this.request,
        attempt._tag === "Some" ? attempt.value.index : -1
      )
    })
  }
}

const policy = HedgePolicy.make({
  schedule: HedgeSchedule.onFailure,
  throttle: HedgeThrottle.unlimited,
  maxAttempts: 2
})

const get = (client: HttpClient.HttpClient) =>
  client.pipe(HttpHedge.withHedge({ policy })).get("http://127.0.0.1:1/")

describe("a client whose attempts need no fiber", () => {
  const ways = {
    "by itself": { way: get, launched: 2, onFibers: 0 },
    "in a scope": {
      way: (client: HttpClient.HttpClient) => Effect.scoped(get(client)),
      launched: 2,
      onFibers: 0
    },
    "with something around each attempt": {
      way: (client: HttpClient.HttpClient) =>
        get(
          HttpClient.transformResponse(
            client,
            Effect.map((it) => it)
          )
        ),
      launched: 0,
      onFibers: 2
    }
  }

  for (const [name, { launched, onFibers, way }] of Object.entries(ways)) {
    it.effect(`${name}: a response that a failure holds is released when the hedge wins`, () =>
      Effect.gen(function* () {
        const callbacks = new Callbacks((client, request, attempt) =>
          attempt === 0 ? client.refused(request, 503) : Exit.succeed(client.response(request, 200))
        )
        const { status } = yield* way(callbacks.client)
        assert.strictEqual(status, 200)
        yield* turn
        assert.deepStrictEqual(callbacks.released, [503])
        assert.deepStrictEqual([callbacks.launched, callbacks.onFibers], [launched, onFibers])
      })
    )

    it.effect(
      `${name}: the failure of the primary is the caller's if no attempt is answered, and not released`,
      () =>
        Effect.gen(function* () {
          const callbacks = new Callbacks((client, request, attempt) =>
            client.refused(request, attempt === 0 ? 500 : 502)
          )
          const error = yield* Effect.flip(way(callbacks.client))
          assert(error._tag === "ResponseError")
          assert.strictEqual(error.response.status, 500)
          yield* turn
          assert.deepStrictEqual(callbacks.released, [502])
          assert.deepStrictEqual([callbacks.launched, callbacks.onFibers], [launched, onFibers])
        })
    )
  }
})
