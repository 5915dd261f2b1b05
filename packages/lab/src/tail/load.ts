/**
 * An open-loop load: every call has a moment at which it is due, whatever became of those before it, and its latency
 * counts from that moment. A generator that falls behind therefore makes latencies longer; it cannot hide them.
 */
import { Cause, Deferred, Effect, type Exit, Fiber } from "effect"
import { now } from "../clock.js"
import type { Load } from "./settings.js"

export interface Outcomes {
  /** By the order in which calls were due; null for a call that failed. */
  readonly latencies: ReadonlyArray<number | null>
  /** Failed calls by what their failure is called. */
  readonly failures: Readonly<Record<string, number>>
}

/** When each call is due, in milliseconds from the start. */
export const dueTimes = ({ calls, fanOut, rate }: Load): ReadonlyArray<number> =>
  Array.from({ length: calls }, (_, index) =>
    rate === null ? 0 : (Math.floor(index / fanOut) * fanOut * 1_000) / rate
  )

/**
 * Runs `call` whenever one is due and waits until all have ended; those that have not `patienceMs` after the last was due
 * are interrupted, and are failures.
 */
export const run = <E, R>(
  call: Effect.Effect<void, E, R>,
  options: {
    readonly load: Load
    readonly patienceMs: number
    readonly nameFailure: (cause: Cause.Cause<E>) => string
    readonly onEnded: (ended: number) => void
    /** Makes one call of all of them one that can be told apart. */
    readonly mark?: (
      call: Effect.Effect<void, E, R>,
      index: number,
      dueAt: number
    ) => Effect.Effect<void, E, R>
  }
): Effect.Effect<Outcomes, never, R> =>
  Effect.scopedWith((scope) =>
    Effect.gen(function* () {
      const due = dueTimes(options.load)
      const latencies: Array<number | null> = due.map(() => null)
      const failures: Record<string, number> = {}
      const allEnded = yield* Deferred.make<void>()
      const startedAt = now()
      const { mark } = options
      const callOf = (index: number) =>
        mark === undefined ? call : mark(call, index, startedAt + due[index]!)
      let launched = 0
      let ended = 0

      const record = (index: number) => (exit: Exit.Exit<void, E>) => {
        if (exit._tag === "Success") latencies[index] = now() - startedAt - due[index]!
        else {
          const name = Cause.isInterruptedOnly(exit.cause) ? "Unanswered" : options.nameFailure(exit.cause)
          failures[name] = (failures[name] ?? 0) + 1
        }
        options.onEnded(++ended)
        if (ended === due.length) Deferred.unsafeDone(allEnded, Effect.void)
      }

      const fibers: Array<Fiber.RuntimeFiber<void, E>> = []
      while (launched < due.length) {
        const elapsed = now() - startedAt
        while (launched < due.length && due[launched]! <= elapsed) {
          const fiber = yield* Effect.forkIn(callOf(launched), scope)
          fiber.addObserver(record(launched++))
          fibers.push(fiber)
        }
        if (launched < due.length) yield* Effect.sleep(due[launched]! - elapsed)
      }
      yield* Deferred.await(allEnded).pipe(Effect.timeoutOption(options.patienceMs))
      yield* Fiber.interruptAll(fibers)
      return { latencies, failures }
    })
  )
