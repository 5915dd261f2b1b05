import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Logger, Scope, TestClock } from "effect"
import { Hedge, HedgeOutcome, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import { poll, roots, settled } from "./support.js"

const throttle = HedgeThrottle.unlimited

/** How an attempt goes on once it has opened its resource. */
interface Course {
  readonly after: number
  readonly end?: Effect.Effect<never, string>
  /** How long the resource takes to close. */
  readonly closing?: number
  readonly closes?: Effect.Effect<void>
}

/** Attempts that each open a resource, and a log of what happens to them. */
const resources = (courses: ReadonlyArray<Course>) => {
  const log: Array<string> = []
  let opened = 0
  const attempt = Effect.suspend(() => {
    const id = opened++
    const { after, end, closing, closes } = courses[id]!
    return Effect.acquireRelease(
      Effect.sync(() => {
        log.push(`open ${id}`)
        return id
      }),
      (_, exit) =>
        Effect.zipRight(
          closing === undefined ? Effect.void : Effect.sleep(closing),
          Effect.zipRight(
            Effect.sync(() => log.push(`close ${id} ${exit._tag}`)),
            closes ?? Effect.void
          )
        )
    ).pipe(Effect.zipLeft(Effect.zipRight(Effect.sleep(after), end ?? Effect.void)))
  })
  return { log, attempt }
}

/** Runs an effect in a scope that stays open until it is closed by hand. */
const inScope = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const fiber = yield* Effect.fork(Scope.extend(effect, scope))
    yield* settled
    return { scope, fiber }
  })

describe("hedgeScoped", () => {
  for (const winner of [0, 1, 2]) {
    it.effect(
      `closes the losers' scopes at once, and attempt ${winner}'s, which won, with the caller's`,
      () =>
        Effect.gen(function* () {
          const { log, attempt } = resources([0, 1, 2].map((id) => ({ after: id === winner ? 10 : 1000 })))
          const { scope, fiber } = yield* inScope(
            Hedge.hedgeScoped(attempt, { schedule: HedgeSchedule.parallel, maxAttempts: 3, throttle })
          )
          yield* TestClock.adjust(10)
          yield* settled
          expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(winner))
          const losers = [0, 1, 2].filter((id) => id !== winner)
          expect([...log.slice(3)].sort()).toStrictEqual(losers.map((id) => `close ${id} Failure`))
          yield* Scope.close(scope, Exit.void)
          expect(log.slice(5)).toStrictEqual([`close ${winner} Success`])
        })
    )
  }

  it.effect("closes the winner's scope with the exit of the caller's", () =>
    Effect.gen(function* () {
      const { log, attempt } = resources([{ after: 0 }])
      const { scope } = yield* inScope(
        Hedge.hedgeScoped(attempt, { schedule: HedgeSchedule.onFailure, throttle })
      )
      yield* Scope.close(scope, Exit.fail("the caller's"))
      expect(log).toStrictEqual(["open 0", "close 0 Failure"])
    })
  )

  it.effect("does not wait for losers' scopes, and with awaitLosers does", () =>
    Effect.gen(function* () {
      for (const awaitLosers of [false, true]) {
        const { log, attempt } = resources([{ after: 1000, closing: 500 }, { after: 10 }])
        const { fiber } = yield* inScope(
          Hedge.hedgeScoped(attempt, { schedule: HedgeSchedule.parallel, throttle, awaitLosers })
        )
        yield* TestClock.adjust(10)
        expect((yield* poll(fiber)) === null).toBe(awaitLosers)
        yield* TestClock.adjust(500)
        yield* settled
        expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(1))
        expect(log).toStrictEqual(["open 0", "open 1", "close 0 Failure"])
      }
    })
  )

  it.effect("when all attempts fail closes each one's scope when it ends", () =>
    Effect.gen(function* () {
      const { log, attempt } = resources([
        { after: 30, end: Effect.fail("first") },
        { after: 10, end: Effect.fail("second") }
      ])
      const { scope, fiber } = yield* inScope(
        Hedge.hedgeScoped(attempt, { schedule: HedgeSchedule.parallel, throttle })
      )
      yield* TestClock.adjust(10)
      expect(log.slice(2)).toStrictEqual(["close 1 Failure"])
      yield* TestClock.adjust(20)
      yield* settled
      expect(yield* poll(fiber)).toMatchObject({ _tag: "Failure" })
      expect(log.slice(2)).toStrictEqual(["close 1 Failure", "close 0 Failure"])
      yield* Scope.close(scope, Exit.void)
      expect(log).toHaveLength(4)
    })
  )

  it.effect(
    "when all attempts are poor successes keeps the primary's scope, and closes the others' at once",
    () =>
      Effect.gen(function* () {
        const { log, attempt } = resources([{ after: 10 }, { after: 20 }, { after: 30 }])
        const { scope, fiber } = yield* inScope(
          Hedge.hedgeScoped(attempt, {
            schedule: HedgeSchedule.parallel,
            throttle,
            maxAttempts: 3,
            classify: () => HedgeOutcome.nonFatal()
          })
        )
        yield* TestClock.adjust(30)
        yield* settled
        expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(0))
        expect(log.slice(3)).toStrictEqual(["close 1 Success", "close 2 Success"])
        yield* Scope.close(scope, Exit.void)
        expect(log.slice(5)).toStrictEqual(["close 0 Success"])
      })
  )

  it.effect("closes a poor primary's scope when a hedge wins", () =>
    Effect.gen(function* () {
      const { log, attempt } = resources([{ after: 10 }, { after: 20 }])
      const { fiber } = yield* inScope(
        Hedge.hedgeScoped(attempt, {
          schedule: HedgeSchedule.parallel,
          throttle,
          classify: (exit) =>
            Exit.isSuccess(exit) && exit.value === 0 ? HedgeOutcome.nonFatal() : HedgeOutcome.win
        })
      )
      yield* TestClock.adjust(20)
      yield* settled
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(1))
      expect(log.slice(2)).toStrictEqual(["close 0 Success"])
    })
  )

  it.effect("interrupted with its caller closes every scope, and the caller waits for that", () =>
    Effect.gen(function* () {
      const before = yield* roots
      const { log, attempt } = resources([
        { after: 1000, closing: 300 },
        { after: 1000, closing: 200 }
      ])
      const { fiber } = yield* inScope(
        Hedge.hedgeScoped(attempt, { schedule: HedgeSchedule.fixed(50), throttle })
      )
      yield* TestClock.adjust(100)
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust(299)
      expect(yield* poll(fiber)).toBe(null)
      yield* TestClock.adjust(1)
      yield* settled
      expect(yield* poll(fiber)).toMatchObject({ _tag: "Failure" })
      expect(log.slice(2)).toStrictEqual(["close 1 Failure", "close 0 Failure"])
      expect(yield* roots).toBe(before)
    })
  )

  it.effect("at its deadline closes every scope, in the background", () =>
    Effect.gen(function* () {
      const { log, attempt } = resources([
        { after: 1000, closing: 300 },
        { after: 1000, closing: 200 }
      ])
      const { fiber } = yield* inScope(
        Hedge.hedgeScoped(attempt, { schedule: HedgeSchedule.parallel, throttle, deadline: 100 })
      )
      yield* TestClock.adjust(100)
      expect(yield* poll(fiber)).toMatchObject({ _tag: "Failure" })
      expect(log).toHaveLength(2)
      yield* TestClock.adjust(300)
      yield* settled
      expect(log.slice(2)).toStrictEqual(["close 1 Failure", "close 0 Failure"])
    })
  )

  it.effect("gives a value to onDiscard before its scope closes", () =>
    Effect.gen(function* () {
      const { log, attempt } = resources([{ after: 10 }, { after: 20 }])
      yield* inScope(
        Hedge.hedgeScoped(attempt, {
          schedule: HedgeSchedule.parallel,
          throttle,
          classify: () => HedgeOutcome.nonFatal(),
          onDiscard: (id) =>
            Effect.zipRight(
              Effect.sleep(5),
              Effect.sync(() => log.push(`discard ${id}`))
            )
        })
      )
      yield* TestClock.adjust(25)
      expect(log.slice(2)).toStrictEqual(["discard 1", "close 1 Success"])
    })
  )

  it.effect("closes the scope though onDiscard dies", () =>
    Effect.gen(function* () {
      const { log, attempt } = resources([{ after: 1000 }, { after: 20 }])
      const { fiber } = yield* inScope(
        Hedge.hedgeScoped(attempt, {
          schedule: HedgeSchedule.parallel,
          throttle,
          classify: () => HedgeOutcome.nonFatal(),
          onDiscard: () => Effect.die("boom")
        })
      )
      yield* TestClock.adjust(20)
      yield* settled
      expect(yield* poll(fiber)).toStrictEqual(Exit.die("boom"))
      expect([...log.slice(2)].sort()).toStrictEqual(["close 0 Failure", "close 1 Success"])
    })
  )

  it.effect("is unharmed by a loser's finalizer that dies: it is logged", () =>
    Effect.gen(function* () {
      const logged: Array<unknown> = []
      const logger = Logger.make(({ message }) => {
        logged.push(message)
      })
      const { log, attempt } = resources([{ after: 1000, closes: Effect.die("boom") }, { after: 10 }])
      const { scope, fiber } = yield* inScope(
        Hedge.hedgeScoped(attempt, { schedule: HedgeSchedule.parallel, throttle }).pipe(
          Effect.provide(Logger.replace(Logger.defaultLogger, logger))
        )
      )
      yield* TestClock.adjust(10)
      yield* settled
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(1))
      expect(logged).toHaveLength(1)
      yield* Scope.close(scope, Exit.void)
      expect(log.slice(2)).toStrictEqual(["close 0 Failure", "close 1 Success"])
    })
  )

  it.effect("lets a winner's finalizer that dies show where the caller's scope closes", () =>
    Effect.gen(function* () {
      const { attempt } = resources([{ after: 0, closes: Effect.die("boom") }])
      const { scope } = yield* inScope(
        Hedge.hedgeScoped(attempt, { schedule: HedgeSchedule.onFailure, throttle })
      )
      expect(yield* Effect.exit(Scope.close(scope, Exit.void))).toStrictEqual(Exit.die("boom"))
    })
  )

  it.effect("into a scope that has been closed meanwhile closes the winner's at once", () =>
    Effect.gen(function* () {
      const { log, attempt } = resources([{ after: 100 }])
      const { scope, fiber } = yield* inScope(
        Hedge.hedgeScoped(attempt, { schedule: HedgeSchedule.onFailure, throttle })
      )
      yield* TestClock.adjust(50)
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust(50)
      yield* settled
      expect(yield* poll(fiber)).not.toBe(null)
      expect(log).toStrictEqual(["open 0", "close 0 Success"])
    })
  )

  it.effect("keeps the fibers that the winner forked into its scope until the caller's closes", () =>
    Effect.gen(function* () {
      const ended: Array<string> = []
      let starts = 0
      const attempt = Effect.suspend(() => {
        const id = starts++
        const child = Effect.onInterrupt(Effect.never, () => Effect.sync(() => ended.push(`child of ${id}`)))
        return Effect.zipRight(Effect.forkScoped(child), Effect.sleep(id === 1 ? 10 : 1000))
      })
      const { scope } = yield* inScope(
        Hedge.hedgeScoped(attempt, { schedule: HedgeSchedule.parallel, throttle })
      )
      yield* TestClock.adjust(10)
      yield* settled
      expect(ended).toStrictEqual(["child of 0"])
      yield* Scope.close(scope, Exit.void)
      expect(ended).toStrictEqual(["child of 0", "child of 1"])
    })
  )

  it.effect("closes the scope of an attempt that succeeds too late", () =>
    Effect.gen(function* () {
      let late = false
      let starts = 0
      const attempt = Effect.suspend(() => {
        const first = starts++ === 0
        return Effect.acquireRelease(Effect.void, () =>
          Effect.sync(() => {
            late ||= first
          })
        ).pipe(Effect.zipRight(first ? Effect.uninterruptible(Effect.sleep(500)) : Effect.sleep(10)))
      })
      const { fiber } = yield* inScope(
        Hedge.hedgeScoped(attempt, { schedule: HedgeSchedule.parallel, throttle })
      )
      yield* TestClock.adjust(499)
      expect(yield* poll(fiber)).toStrictEqual(Exit.void)
      expect(late).toBe(false)
      yield* TestClock.adjust(1)
      yield* settled
      expect(late).toBe(true)
    })
  )

  it.effect("takes a policy, data first and data last", () =>
    Effect.gen(function* () {
      const policy = HedgePolicy.make({ schedule: HedgeSchedule.onFailure, throttle })
      const first = resources([{ after: 0 }])
      const last = resources([{ after: 0 }])
      yield* Effect.scoped(Hedge.hedgeScoped(first.attempt, policy))
      yield* Effect.scoped(last.attempt.pipe(Hedge.hedgeScoped(policy)))
      expect([first.log, last.log]).toStrictEqual([
        ["open 0", "close 0 Success"],
        ["open 0", "close 0 Success"]
      ])
    })
  )
})

describe("hedge, of an effect that needs a scope", () => {
  it.effect("leaves a loser's resource to the caller's scope, as its documentation says", () =>
    Effect.gen(function* () {
      const { log, attempt } = resources([{ after: 1000 }, { after: 10 }])
      const { scope } = yield* inScope(Hedge.hedge(attempt, { schedule: HedgeSchedule.parallel, throttle }))
      yield* TestClock.adjust(10)
      yield* settled
      expect(log).toStrictEqual(["open 0", "open 1"])
      yield* Scope.close(scope, Exit.void)
      expect([...log.slice(2)].sort()).toStrictEqual(["close 0 Success", "close 1 Success"])
    })
  )
})
