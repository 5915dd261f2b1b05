import type { HttpClient, HttpClientError, HttpClientRequest, HttpClientResponse } from "@effect/platform"
import { Chunk, type Context, Effect, type Scope, Stream } from "effect"
import { Hedge, type HedgeAttempt, type HedgePolicy, type LatencyEstimator } from "effect-hedge"
import type { EventsOptions, EventsOptionsWithPolicy, ServerSentEvent } from "../HttpHedge.js"
import { eventsOf } from "./eventParser.js"
import {
  acceptingEvents,
  copyOf,
  Held,
  held,
  heldUnlessEvents,
  release,
  responseOf,
  type Stages,
  stagesOf
} from "./http.js"
import { keysOf, routeOf } from "./keys.js"
import { Opening, withOpening } from "./opening.js"
import { type AnyEventsOptions, checkClient, checkEventsOptions } from "./options.js"
import { forEvents, policiesOf } from "./policies.js"
import { copies } from "./request.js"
import { defaultPolicy, targetsOf } from "./withHedge.js"

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
  const options = checkEventsOptions(input)
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

type AttemptStream = Stream.Stream<ServerSentEvent | Opening | Held, unknown>

/** The hedged stream that a request becomes, whatever the client below does before it sends one being done. */
const eventCallsOf = ({ postprocess }: Stages<unknown, never>, options: AnyEventsOptions) => {
  const { eligible, copyFor } = copies(options)
  const { decisive, key = keyOfEvents } = options
  const policyOf = policiesOf((policy) => forEvents(policy, options), keysOf({ key }))

  const targets = targetsOf(options)

  const send = (copy: Request) => answer(held(postprocess(Effect.succeed(copyOf(copy)))), decisive)

  return (request: Request) => {
    const attempt = (attempt: HedgeAttempt.HedgeAttempt): AttemptStream => {
      attempt.targets ??= targets
      return Stream.unwrapScoped(send(copyFor(request, attempt)))
    }
    return Stream.unwrap(
      Effect.contextWith((context: Context.Context<never>) => {
        const policy = policyOf(options.policy ?? defaultPolicy(context), context, request, eligible(request))
        return asEvents(Hedge.hedgeStreamWith(attempt, policy))
      })
    )
  }
}

/**
 * The events of a response, or the failure that it is. It is released with the scope unless its body has begun: that ends with the stream. A client
 * that hedges by itself does not do so here: this call hedges.
 */
const answer = (
  sent: Effect.Effect<Response | Held, unknown>,
  decisive: AnyEventsOptions["decisive"]
): Effect.Effect<AttemptStream, unknown, Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(restore(sent), (result) => {
      let begun = false
      const onBegun = () => {
        begun = true
      }
      const releaseUnread = Effect.suspend(() => (begun ? Effect.void : release(responseOf(result))))
      return Effect.as(
        Effect.addFinalizer(() => releaseUnread),
        streamOf(result, onBegun, decisive)
      )
    })
  ).pipe(Hedge.withoutHedging)

const streamOf = (
  result: Response | Held,
  onBegun: () => void,
  decisive: AnyEventsOptions["decisive"]
): AttemptStream => {
  const failure = result instanceof Held ? result : heldUnlessEvents(result)
  if (failure !== undefined) return Stream.succeed(failure)
  const events = eventsOf(result as Response, onBegun)
  return decisive === undefined ? events : withOpening(events, decisive)
}

/** How long the body of a failure may take that is the result. */
const bodyWithin = "1 second"

/** What the consumer gets: events, or the failure, with its body read as long as it can be, for whoever looks into the error. */
const asEvents = (stream: AttemptStream): Stream.Stream<ServerSentEvent, unknown> =>
  Stream.mapChunksEffect(stream, (chunk) => {
    const first = Chunk.isEmpty(chunk) ? undefined : Chunk.unsafeHead(chunk)
    if (first instanceof Held) {
      const { error } = first
      return Effect.zipRight(
        Effect.ignore(Effect.timeout(error.response.text, bodyWithin)),
        Effect.fail(error)
      )
    }
    const events = first instanceof Opening ? Chunk.appendAll(first.events, Chunk.drop(chunk, 1)) : chunk
    return Effect.succeed(events as Chunk.Chunk<ServerSentEvent>)
  })
