import { assert, describe, it } from "@effect/vitest"
import {
  Context,
  Effect,
  Exit,
  type Fiber,
  FiberRef,
  FiberRefs,
  HashMap,
  Scheduler,
  Supervisor
} from "effect"
import { Hedge, HedgeSchedule } from "effect-hedge"
import { vi } from "vitest"
import { allowShortcut, shortcutFor } from "../src/internal/shortcut.js"

class Service extends Context.Tag("Service")<Service, string>() {}

const ways = [
  ["the shortcut", true],
  ["the public way", false]
] as const

const policy = { schedule: HedgeSchedule.onFailure }

it.effect("the shortcut is not taken by a fiber of another copy of Effect", () =>
  Effect.withFiberRuntime((fiber) => {
    const foreign = new Proxy(fiber, {
      get: (target, key) => (key === "constructor" ? class {} : Reflect.get(target, key))
    })
    assert.isDefined(shortcutFor(fiber))
    assert.isUndefined(shortcutFor(foreign))
    return Effect.void
  })
)

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

  it.effect("overflow no stack when calls are nested 5,000 deep", () =>
    Effect.gen(function* () {
      let deep: Effect.Effect<string> = Effect.succeed("answer")
      for (let i = 0; i < 5000; i++) deep = Hedge.hedge(deep, policy)
      assert.strictEqual(yield* started(deep), "answer")
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

describe("the shortcut, tried out with fibers of a class that Effect 3 does not have", () => {
  type Poll = (effect: Effect.Effect<unknown>) => Exit.Exit<unknown> | null

  for (const [name, poll, works] of [
    ["is used if they run at once", (effect) => Effect.runSyncExit(effect), true],
    ["is not used if they do not run at once", () => null, false],
    ["is not used if they end with something else", () => Exit.succeed("something else"), false],
    ["is not used if they fail", () => Exit.die("fails"), false],
    [
      "is not used if they throw",
      () => {
        throw new Error("throws")
      },
      false
    ]
  ] as ReadonlyArray<readonly [string, Poll, boolean]>) {
    it(name, async () => {
      class OtherFiber {
        readonly _fiberRefs = FiberRefs.empty()
        readonly currentSupervisor = Supervisor.none
        private exit: Exit.Exit<unknown> | null = null
        start(effect: Effect.Effect<unknown>): void {
          this.exit = poll(effect)
        }
        unsafePoll(): Exit.Exit<unknown> | null {
          return this.exit
        }
      }
      vi.resetModules()
      const fresh = await import("../src/internal/shortcut.js")
      const fiber = new OtherFiber() as unknown as Fiber.RuntimeFiber<unknown, unknown>
      assert.strictEqual(fresh.shortcutFor(fiber) !== undefined, works)
    })
  }
})
