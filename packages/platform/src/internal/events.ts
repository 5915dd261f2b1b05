import type { HttpClient, HttpClientError, HttpClientRequest, HttpClientResponse } from "@effect/platform"
import { Chunk, type Context, Effect, Scope, Stream } from "effect"
import { Hedge, type HedgeAttempt, type HedgePolicy, type LatencyEstimator } from "effect-hedge"
import type { EventsOptions, EventsOptionsWithPolicy, ServerSentEvent } from "../HttpHedge.js"
import { eventsOf } from "./eventParser.js"
import { acceptingEvents, Held, held, heldUnlessEvents, release, type Stages, stagesOf } from "./http.js"
import { keysOf, routeOf } from "./keys.js"
import { type AnyEventsOptions, checkClient, checkOptions } from "./options.js"
import { forEvents, policiesOf } from "./policies.js"
import { copies } from "./request.js"
import { defaultPolicy } from "./withHedge.js"

type Request = HttpClientRequest.HttpClientRequest
type Response = HttpClientResponse.HttpClientResponse
type Client<E, R> = HttpClient.HttpClient.With<E, R>
type Events<E, R> = (request: Request) => Stream.Stream<ServerSentEvent, E | HttpClientError.ResponseError, R>

export function events<EX, RP>(
  options: EventsOptionsWithPolicy<EX, RP>
): <E, R>(self: Client<E, R>) => Events<E | EX, R | RP>
export function events(
  options?: EventsOptions
): <E, R>(self: Client<E, R>) => Events<E | Hedge.HedgeError, R | HedgePolicy.DefaultPolicy>
export function events(input: AnyEventsOptions = {}) {
  const options = checkOptions(input)
  return (self: Client<never, never>): Events<unknown, unknown> => {
    const stages = stagesOf<unknown, never>(checkClient(self))
    const callOf = eventCallsOf(stages, options)
    return (request) =>
      Stream.unwrap(Effect.map(stages.preprocess(acceptingEvents(request)), callOf)) as Stream.Stream<
        ServerSentEvent,
        HttpClientError.ResponseError
      >
  }
}

/** The time to the first event is another thing to learn than the time to a whole answer. */
const keyOfEvents = (request: Request): LatencyEstimator.Key => [routeOf(request), "events"]

/** The hedged stream that a request becomes, whatever the client below does before it sends one being done. */
const eventCallsOf = ({ postprocess }: Stages<unknown, never>, options: AnyEventsOptions) => {
  const { eligible, copyFor, stamped } = copies(options)
  const policyOf = policiesOf(
    (policy) => forEvents(policy, options),
    keysOf({ key: options.key ?? keyOfEvents })
  )
  const attempt =
    (request: Request) =>
    (attempt: HedgeAttempt.HedgeAttempt): AttemptStream => {
      const copy = copyFor(request, attempt)
      const sent = (copy: Request) => answer(held(postprocess(Effect.succeed(copy))))
      return Stream.unwrapScoped(
        stamped === undefined ? sent(copy) : Effect.flatMap(stamped(copy, attempt), sent)
      )
    }
  return (request: Request) =>
    Stream.unwrap(
      Effect.contextWith((context: Context.Context<never>) => {
        const policy = policyOf(options.policy ?? defaultPolicy(context), context, request, eligible(request))
        return failIfHeld(Hedge.hedgeStreamWith(attempt(request), policy))
      })
    )
}

type AttemptStream = Stream.Stream<ServerSentEvent | Held, unknown>

/**
 * The events of a response, or the failure that it is. It is released with the scope unless its body has begun: that ends with the stream. A client
 * that hedges by itself does not do so here: this call hedges.
 */
const answer = (
  sent: Effect.Effect<Response | Held, unknown>
): Effect.Effect<AttemptStream, unknown, Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(restore(sent), (result) => {
      const failure = result instanceof Held ? result : heldUnlessEvents(result)
      const response = result instanceof Held ? result.error.response : result
      let begun = false
      const releaseUnread = Effect.suspend(() => (begun ? Effect.void : release(response)))
      const stream: AttemptStream =
        failure === undefined
          ? eventsOf(response, () => {
              begun = true
            })
          : Stream.succeed(failure)
      return Effect.as(
        Effect.flatMap(Effect.scope, (scope) => Scope.addFinalizer(scope, releaseUnread)),
        stream
      )
    })
  ).pipe(Hedge.withoutHedging)

/** How long the body of a failure may take that is the result. */
const bodyWithin = "1 second"

/** The result, if it is a failure: with its body read, as long as it can be, for whoever looks into the error. */
const failIfHeld = (stream: AttemptStream): Stream.Stream<ServerSentEvent, unknown> =>
  Stream.mapChunksEffect(stream, (chunk) => {
    const first = Chunk.isEmpty(chunk) ? undefined : Chunk.unsafeHead(chunk)
    if (!(first instanceof Held)) return Effect.succeed(chunk as Chunk.Chunk<ServerSentEvent>)
    const { error } = first
    return Effect.zipRight(Effect.ignore(Effect.timeout(error.response.text, bodyWithin)), Effect.fail(error))
  })
