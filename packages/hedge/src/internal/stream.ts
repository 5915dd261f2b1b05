import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { HedgeAttempt } from "../HedgeAttempt.js"
import { scopedTask, type Task } from "./task.js"

export type AnyStream = Stream.Stream<unknown, unknown>
type Elements = Chunk.Chunk<unknown>
/** Asks a stream for more: elements, or its end. */
type Pull = Effect.Effect<Either.Either<Elements, unknown>, unknown>

export const isStream = (u: unknown): u is AnyStream => Predicate.hasProperty(u, Stream.StreamTypeId)

/** A stream that has yielded: its first elements, and how to ask for more. */
interface Begun {
  readonly chunk: Elements
  readonly pull: Pull
}

/**
 * A stream that begins with a call: each attempt pulls a stream of its own until there is an element, and the consumer pulls the others from
 * the winner. An attempt's stream lives in the attempt's scope, which the consumer's adopts (R8); its exit holds its first element, for the
 * engine, classify and onDiscard to see.
 */
export const hedgedStream = (
  call: (task: Task) => Effect.Effect<unknown, unknown>,
  f: (attempt: HedgeAttempt) => AnyStream
): AnyStream =>
  Stream.unwrapScoped(
    Effect.suspend(() => {
      const begun = new WeakMap<HedgeAttempt, Begun>()
      let winner: Begun | undefined
      const task = scopedTask((attempt) =>
        Effect.exit(
          Effect.map(begin(f, attempt), (stream) => {
            begun.set(attempt, stream)
            return Chunk.unsafeHead(stream.chunk)
          })
        )
      )
      const adopt: Task["adopt"] = (attempt) => {
        winner = begun.get(attempt)
        return task.adopt!(attempt)
      }
      return Effect.matchCauseEffect(call({ ...task, adopt }), {
        onFailure: (cause) => (Cause.isEmpty(cause) ? Effect.succeed(Stream.empty) : Effect.failCause(cause)),
        onSuccess: () => Effect.succeed(goOn(winner!))
      })
    })
  )

const goOn = ({ chunk, pull }: Begun): AnyStream => {
  const yielding = (elements: Elements): Channel.Channel<Elements, unknown, unknown> =>
    Channel.flatMap(Channel.write(elements), () => rest)
  const rest = Channel.unwrap(
    Effect.map(pull, Either.match({ onLeft: () => Channel.void, onRight: yielding }))
  )
  return Stream.fromChannel(yielding(chunk))
}

/** Runs a stream up to its first element. One that has none fails with an empty cause: it ended, and nothing was wrong. */
const begin = (
  f: (attempt: HedgeAttempt) => AnyStream,
  attempt: HedgeAttempt
): Effect.Effect<Begun, unknown> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const graft = yield* nursery(scope)
    const pull = yield* Channel.toPull(Stream.toChannel(f(attempt)))
    return { chunk: yield* graft(firstOf(pull)), pull }
  }) as Effect.Effect<Begun, unknown>

const firstOf = (pull: Pull): Effect.Effect<Elements, unknown> => {
  const next: Effect.Effect<Elements, unknown> = Effect.flatMap(pull, (more) => {
    if (Either.isLeft(more)) return Effect.failCause(Cause.empty)
    return Chunk.isEmpty(more.right) ? next : Effect.succeed(more.right)
  })
  return next
}

type Graft = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>

/**
 * What an attempt's stream forks must live on when the attempt's fiber has ended with its first element: it becomes the child of a fiber that ends
 * with the scope.
 */
const nursery = (scope: Scope.Scope): Effect.Effect<Graft> =>
  Effect.flatMap(Deferred.make<Graft>(), (deferred) => {
    const keep = Effect.transplant((graft) => Effect.zipRight(Deferred.succeed(deferred, graft), forever))
    return Effect.zipRight(Effect.forkIn(keep, scope), Deferred.await(deferred))
  })

/** Unlike `Effect.never` it does not keep the process alive. */
const forever = Effect.async<never>(() => {})
