import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, FiberRef, HashMap, Scheduler } from "effect"
import { Hedge, HedgeSchedule } from "effect-hedge"
import { allowShortcut, shortcutFor } from "../src/internal/shortcut.js"

class Service extends Context.Tag("Service")<Service, string>() {}

const ways = [
  ["the shortcut", true],
  ["the public way", false]
] as const

const policy = { schedule: HedgeSchedule.onFailure }

describe.each(ways)("fibers started by %s", (_, short) => {
  const started = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.acquireUseRelease(
      Effect.sync(() => allowShortcut(short)),
      () => effect,
      () => Effect.sync(() => allowShortcut(true))
    )

  it.effect("are started that way in this version of Effect", () =>
    started(
      Effect.withFiberRuntime((fiber) => {
        assert.strictEqual(shortcutFor(fiber) !== undefined, short)
        return Effect.void
      })
    )
  )

  it.effect("see the caller's services and FiberRefs", () =>
    Effect.gen(function* () {
      const ref = yield* FiberRef.make("initial")
      yield* FiberRef.set(ref, "the caller's")
      const seen = yield* started(
        Hedge.hedge(Effect.all([Service, FiberRef.get(ref)]), policy).pipe(
          Effect.provideService(Service, "service")
        )
      )
      assert.deepStrictEqual(seen, ["service", "the caller's"])
    }).pipe(Effect.scoped)
  )

  it.effect("hand on what the winner wrote, and only that", () =>
    Effect.gen(function* () {
      const ref = yield* FiberRef.make("initial")
      yield* started(Hedge.hedge(FiberRef.set(ref, "the winner's"), policy))
      assert.strictEqual(yield* FiberRef.get(ref), "the winner's")
      assert.isTrue(HashMap.isEmpty(yield* FiberRef.get(FiberRef.currentLogAnnotations)))
    }).pipe(Effect.scoped)
  )

  it.effect("fork and join FiberRefs as the refs say", () =>
    Effect.gen(function* () {
      const sum = yield* FiberRef.make(1, { fork: () => 10, join: (parent, child) => parent + child })
      yield* started(
        Hedge.hedge(
          FiberRef.update(sum, (n) => n + 1),
          policy
        )
      )
      const hedged = yield* FiberRef.get(sum)
      yield* FiberRef.set(sum, 1)
      yield* Effect.flatMap(Effect.fork(FiberRef.update(sum, (n) => n + 1)), (fiber) => fiber)
      assert.strictEqual(hedged, yield* FiberRef.get(sum))
    }).pipe(Effect.scoped)
  )

  it.effect("hand on nothing of a ref that was set for a while and set back", () =>
    Effect.gen(function* () {
      let joins = 0
      const join = (parent: number, child: number) => {
        joins += 1
        return Math.max(parent, child)
      }
      const ref = yield* FiberRef.make(1, { join })
      yield* FiberRef.set(ref, 2)
      const before = yield* Effect.getFiberRefs
      yield* started(Hedge.hedge(Effect.locally(Effect.yieldNow(), ref, 3), policy))
      const after = yield* Effect.getFiberRefs
      assert.strictEqual(yield* FiberRef.get(ref), 2)
      assert.isAbove(joins, 0)
      assert.strictEqual(after.locals.get(ref), before.locals.get(ref))
    }).pipe(Effect.scoped)
  )

  it.effect("leave the caller its scheduler, whatever they do with theirs", () =>
    Effect.gen(function* () {
      const other = new Scheduler.MixedScheduler(16)
      const before = yield* FiberRef.get(FiberRef.currentScheduler)
      const seen = yield* started(
        Hedge.hedge(Effect.withScheduler(FiberRef.get(FiberRef.currentScheduler), other), policy)
      )
      assert.strictEqual(seen, other)
      assert.strictEqual(yield* FiberRef.get(FiberRef.currentScheduler), before)
      const inherited = Hedge.hedge(FiberRef.get(FiberRef.currentScheduler), policy)
      assert.strictEqual(yield* started(Effect.withScheduler(inherited, other)), other)
    })
  )

  it.live("let the event loop turn while they yield without end", () =>
    Effect.gen(function* () {
      let turns = 0
      const turn = () => {
        turns += 1
        if (turns < 3) setImmediate(turn)
      }
      setImmediate(turn)
      const untilTurned = Effect.repeat(Effect.yieldNow(), { until: () => turns === 3 })
      yield* started(Hedge.hedge(untilTurned, policy))
      assert.strictEqual(turns, 3)
    })
  )

  it.effect("end with the attempt that forked them", () =>
    Effect.gen(function* () {
      let ended = false
      const child = Effect.onInterrupt(Effect.never, () =>
        Effect.sync(() => {
          ended = true
        })
      )
      yield* started(Hedge.hedge(Effect.fork(child).pipe(Effect.zipRight(Effect.yieldNow())), policy))
      assert.isTrue(ended)
    })
  )
})
