import { Cause, Chunk, Exit, Stream } from "effect"
import type { ServerSentEvent } from "../HttpHedge.js"

/**
 * How a stream of events begins whose first ones need not decide: those before the decisive one go through the engine with it, as one element, so
 * that they reach the consumer if it wins. A stream that ended without one has no decisive event.
 */
export class Opening {
  constructor(
    readonly events: Chunk.Chunk<ServerSentEvent>,
    readonly decisive: ServerSentEvent | undefined
  ) {}

  /** What there is to judge. */
  get exit(): Exit.Exit<ServerSentEvent> {
    return this.decisive === undefined ? Exit.failCause(Cause.empty) : Exit.succeed(this.decisive)
  }
}

type IsDecisive = (event: ServerSentEvent) => boolean

/** A stream whose first element is its opening; the others are its events. */
export const withOpening = <E>(
  events: Stream.Stream<ServerSentEvent, E>,
  isDecisive: IsDecisive
): Stream.Stream<ServerSentEvent | Opening, E> =>
  Stream.suspend(() => {
    let before: Chunk.Chunk<ServerSentEvent> | undefined = Chunk.empty()
    const opened = Stream.mapChunks(events, (chunk): Chunk.Chunk<ServerSentEvent | Opening> => {
      if (before === undefined) return chunk
      const all: Chunk.Chunk<ServerSentEvent> = Chunk.appendAll(before, chunk)
      for (let at = before.length; at < all.length; at++) {
        const event = Chunk.unsafeGet(all, at)
        if (!isDecisive(event)) continue
        before = undefined
        return Chunk.prepend(Chunk.drop(all, at + 1), new Opening(Chunk.take(all, at + 1), event))
      }
      before = all
      return Chunk.empty()
    })
    const undecided = Stream.suspend(() =>
      before === undefined || Chunk.isEmpty(before)
        ? Stream.empty
        : Stream.succeed(new Opening(before, undefined))
    )
    return Stream.concat(opened, undecided)
  })
