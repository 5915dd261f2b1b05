import { describe, expect, it } from "@effect/vitest"
import {
  Cause,
  Chunk,
  Context,
  Effect,
  Exit,
  Fiber,
  FiberRef,
  Layer,
  Option,
  Queue,
  Schedule,
  Scope,
  Stream,
  TestClock
} from "effect"
import { Hedge, HedgeAttempt, HedgeOutcome, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"
import { poll, roots, settled } from "../support.js"
import { atOnce, of, ofAnything, policy, script } from "./script.js"

const never = { never: true } as const
const elements = <A, E, R>(stream: Stream.Stream<A, E, R>) =>
  Effect.map(Stream.runCollect(stream), Chunk.toReadonlyArray)

/** Runs an effect while time passes, and says how it ended. */
const within = <A, E>(millis: number, effect: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(effect)
    yield* settled
    yield* TestClock.adjust(millis)
    yield* settled
    return yield* poll(fiber)
  })

describe("the first element decides (R1, R4)", () => {
  it.effect("a stream that begins before the stagger ends is the only one", () =>
    Effect.gen(function* () {
      const { log, stream } = script([
        [
          { after: 49, chunk: ["a"] },
          { after: 1000, chunk: ["b"] }
        ]
      ])
      const exit = yield* within(2000, elements(Hedge.hedgeStreamWith(stream, policy())))
      expect(exit).toStrictEqual(Exit.succeed(["a", "b"]))
      expect(log).toStrictEqual(["open 0", "pull 0", "pull 0", "pull 0", "close 0 Success"])
    })
  )

  it.effect("a late one is hedged; the first that begins wins and streams on, in order", () =>
    Effect.gen(function* () {
      const { log, stream } = script([
        [{ after: 500, chunk: ["late"] }],
        [{ after: 20, chunk: ["a", "b"] }, { chunk: ["c"] }, { after: 500, chunk: ["d", "e"] }]
      ])
      const exit = yield* within(1000, elements(Hedge.hedgeStreamWith(stream, policy())))
      expect(exit).toStrictEqual(Exit.succeed(["a", "b", "c", "d", "e"]))
      expect(of(log, "close")).toStrictEqual(["close 0 Failure", "close 1 Success"])
    })
  )

  it.effect("a loser's finalizers run as soon as another has begun, the winner's when the stream ends", () =>
    Effect.gen(function* () {
      const { log, stream } = script([
        [never],
        [
          { after: 20, chunk: ["a"] },
          { after: 100, chunk: ["b"] }
        ]
      ])
      const fiber = yield* Effect.fork(elements(Hedge.hedgeStreamWith(stream, policy())))
      yield* settled
      yield* TestClock.adjust(70)
      yield* settled
      expect(of(log, "close")).toStrictEqual(["close 0 Failure"])
      yield* TestClock.adjust(100)
      expect(yield* Fiber.join(fiber)).toStrictEqual(["a", "b"])
      expect(of(log, "close")).toStrictEqual(["close 0 Failure", "close 1 Success"])
    })
  )

  it.effect("does not wait for a loser's finalizers; with awaitLosers it does", () =>
    Effect.gen(function* () {
      for (const awaitLosers of [false, true]) {
        const { stream } = script([[never], [{ after: 10, chunk: ["a"] }]], Effect.sleep(500))
        const first = Stream.runHead(
          Stream.take(Hedge.hedgeStreamWith(stream, atOnce(2, { awaitLosers })), 1)
        )
        const started = yield* TestClock.currentTimeMillis
        const fiber = yield* Effect.fork(Effect.zipRight(first, TestClock.currentTimeMillis))
        yield* settled
        yield* TestClock.adjust(2000)
        // the winner's finalizer takes its 500 ms as well
        expect((yield* Fiber.join(fiber)) - started).toBe(awaitLosers ? 1010 : 510)
      }
    })
  )

  it.effect("empty chunks are no element: they neither win nor end anything", () =>
    Effect.gen(function* () {
      const { log, stream } = script([
        [{ chunk: [] }, { after: 500, chunk: ["late"] }],
        [{ chunk: [] }, { after: 5, chunk: [] }, { chunk: ["a"] }, { chunk: [] }, { chunk: ["b"] }]
      ])
      const exit = yield* within(100, elements(Hedge.hedgeStreamWith(stream, policy())))
      expect(exit).toStrictEqual(Exit.succeed(["a", "b"]))
      expect(of(log, "close")).toStrictEqual(["close 0 Failure", "close 1 Success"])
    })
  )

  it.effect("each run of the result is a call of its own, and so is each try of Stream.retry", () =>
    Effect.gen(function* () {
      let opened = 0
      const stream = Stream.suspend(() => (++opened <= 2 ? Stream.fail("down") : Stream.make(opened)))
      const hedged = Hedge.hedgeStream(stream, {
        schedule: HedgeSchedule.onFailure,
        throttle: HedgeThrottle.unlimited
      })
      const before = opened
      expect(before).toBe(0)
      expect(yield* elements(Stream.retry(hedged, Schedule.recurs(1)))).toStrictEqual([3])
      expect(yield* elements(hedged)).toStrictEqual([4])
    })
  )
})

describe("classify judges the exit of the first element", () => {
  const notEmptyText = HedgePolicy.make({
    schedule: HedgeSchedule.fixed(50),
    throttle: HedgeThrottle.unlimited,
    maxAttempts: 3,
    classify: (exit: Exit.Exit<string, string>) =>
      Exit.isSuccess(exit) && exit.value === "" ? HedgeOutcome.nonFatal() : HedgeOutcome.fromExit(exit)
  })

  it.effect("a stream that begins badly loses to one that begins well, and is closed at once", () =>
    Effect.gen(function* () {
      const discarded: Array<string> = []
      const { log, stream } = script([
        [{ after: 5, chunk: ["", "x"] }],
        [{ after: 10, chunk: [""] }],
        [{ after: 20, chunk: ["a"] }, { chunk: [""] }]
      ])
      const modified = HedgePolicy.modify(notEmptyText, {
        onDiscard: (first) => Effect.sync(() => discarded.push(first))
      })
      const exit = yield* within(100, elements(Hedge.hedgeStreamWith(stream, modified)))
      expect(exit).toStrictEqual(Exit.succeed(["a", ""]))
      expect(discarded).toStrictEqual(["", ""])
      expect(of(log, "close").slice(0, 2)).toStrictEqual(["close 1 Success", "close 0 Success"])
    })
  )

  it.effect("if all begin badly, the primary's stream is the result, whole (R5)", () =>
    Effect.gen(function* () {
      const { log, stream } = script([
        [
          { after: 5, chunk: ["", "x"] },
          { after: 50, chunk: ["y"] }
        ],
        [{ after: 10, chunk: [""] }],
        [{ after: 20, chunk: [""] }]
      ])
      const exit = yield* within(200, elements(Hedge.hedgeStreamWith(stream, notEmptyText)))
      expect(exit).toStrictEqual(Exit.succeed(["", "x", "y"]))
      expect(of(log, "close")).toStrictEqual(["close 1 Success", "close 2 Success", "close 0 Success"])
    })
  )

  it.effect("a failure before the first element sends the next attempt at once", () =>
    Effect.gen(function* () {
      const { log, stream } = script([[{ after: 5, fail: "down" }], [{ after: 5, chunk: ["a"] }]])
      const exit = yield* within(10, elements(Hedge.hedgeStreamWith(stream, policy())))
      expect(exit).toStrictEqual(Exit.succeed(["a"]))
      expect(of(log, "close")).toStrictEqual(["close 0 Failure", "close 1 Success"])
    })
  )

  it.effect("if all fail before the first element, the stream fails as the primary did (R5)", () =>
    Effect.gen(function* () {
      const { stream } = script([[{ after: 5, fail: "first" }], [{ after: 5, fail: "second" }]])
      const recorder = yield* HedgeTest.recordEvents
      const exit = yield* within(
        10,
        elements(Hedge.hedgeStreamWith(stream, policy())).pipe(Effect.provide(recorder.layer))
      )
      // of several failures that stand side by side, Effect's streams keep the first
      expect(exit).toStrictEqual(Exit.fail("first"))
      expect(yield* recorder.tagged("CallEnded")).toMatchObject([
        {
          outcome: "NonFatal",
          exit: Exit.failCause(Cause.parallel(Cause.fail("first"), Cause.fail("second")))
        }
      ])
    })
  )

  it.effect("a stream that dies before its first element ends the call", () =>
    Effect.gen(function* () {
      const { log, stream } = script([[{ after: 60, die: "boom" }], [{ after: 100, chunk: ["a"] }]])
      const exit = yield* within(60, elements(Hedge.hedgeStreamWith(stream, policy())))
      expect(exit).toStrictEqual(Exit.die("boom"))
      expect([...of(log, "close")].sort()).toStrictEqual(["close 0 Failure", "close 1 Failure"])
    })
  )

  it.effect("a stream that ends without an element has an empty cause, and is an answer by default", () =>
    Effect.gen(function* () {
      const { log, stream } = script([[{ after: 60, chunk: [] }], [never]])
      const recorder = yield* HedgeTest.recordEvents
      const exit = yield* within(
        60,
        elements(Hedge.hedgeStreamWith(stream, policy())).pipe(Effect.provide(recorder.layer))
      )
      expect(exit).toStrictEqual(Exit.succeed([]))
      expect(yield* recorder.tagged("CallEnded")).toMatchObject([
        { outcome: "Win", winner: 0, exit: Exit.failCause(Cause.empty) }
      ])
      expect([...of(log, "close")].sort()).toStrictEqual(["close 0 Success", "close 1 Failure"])
    })
  )

  it.effect("classify may say that it is none", () =>
    Effect.gen(function* () {
      const wantsElements = policy({
        classify: (exit) =>
          Exit.isFailure(exit) && Cause.isEmpty(exit.cause)
            ? HedgeOutcome.nonFatal()
            : HedgeOutcome.fromExit(exit)
      })
      const one = script([[{ after: 5, chunk: [] }], [{ after: 5, chunk: ["a"] }]])
      expect(yield* within(10, elements(Hedge.hedgeStreamWith(one.stream, wantsElements)))).toStrictEqual(
        Exit.succeed(["a"])
      )
      const none = script([[{ after: 5, chunk: [] }], [{ after: 5, fail: "down" }]])
      expect(yield* within(10, elements(Hedge.hedgeStreamWith(none.stream, wantsElements)))).toStrictEqual(
        Exit.succeed([])
      )
    })
  )
})

describe("after the first element", () => {
  it.effect("a failure reaches the consumer as it is, and no hedge is sent", () =>
    Effect.gen(function* () {
      for (const [step, exit] of [
        [{ fail: "broken" }, Exit.fail("broken")],
        [{ die: "boom" }, Exit.die("boom")]
      ] as const) {
        const { log, stream } = script([[{ chunk: ["a"] }, { after: 500, ...step }]])
        const seen: Array<string> = []
        const consumed = Stream.runForEach(Hedge.hedgeStreamWith(stream, policy()), (element) =>
          Effect.sync(() => seen.push(element))
        )
        expect(yield* within(1000, consumed)).toStrictEqual(exit)
        expect(seen).toStrictEqual(["a"])
        expect(of(log, "open")).toStrictEqual(["open 0"])
        expect(of(log, "close")).toStrictEqual(["close 0 Failure"])
      }
    })
  )

  it.effect("nothing is pulled before the consumer asks", () =>
    Effect.gen(function* () {
      const { log, stream } = script([[{ chunk: ["a", "b"] }, { chunk: ["c"] }, { chunk: ["d"] }]])
      const scope = yield* Scope.make()
      const pull = yield* Scope.extend(Stream.toPull(Hedge.hedgeStreamWith(stream, policy())), scope)
      expect(log).toStrictEqual([])
      for (const [chunk, pulls] of [
        [["a", "b"], 1],
        [["c"], 2],
        [["d"], 3]
      ] as const) {
        expect(Chunk.toReadonlyArray(yield* pull)).toStrictEqual(chunk)
        yield* TestClock.adjust("1 hour")
        yield* settled
        expect(of(log, "pull")).toHaveLength(pulls)
      }
      expect(yield* Effect.exit(pull)).toStrictEqual(Exit.fail(Option.none()))
      yield* Scope.close(scope, Exit.void)
      expect(of(log, "close")).toStrictEqual(["close 0 Success"])
    })
  )

  it.effect("a consumer that takes what it needs closes the winner", () =>
    Effect.gen(function* () {
      const { log, stream } = script([[{ chunk: ["a", "b"] }, never]])
      expect(yield* elements(Stream.take(Hedge.hedgeStreamWith(stream, policy()), 2))).toStrictEqual([
        "a",
        "b"
      ])
      expect(log).toStrictEqual(["open 0", "pull 0", "close 0 Success"])
    })
  )

  it.effect("a consumer that stops reading keeps the winner open until its scope closes", () =>
    Effect.gen(function* () {
      const { log, stream } = script([[never], [{ chunk: ["a"] }, { chunk: ["b"] }]])
      const scope = yield* Scope.make()
      const pull = yield* Scope.extend(Stream.toPull(Hedge.hedgeStreamWith(stream, atOnce(2))), scope)
      yield* pull
      yield* TestClock.adjust("1 hour")
      yield* settled
      expect(of(log, "close")).toStrictEqual(["close 0 Failure"])
      yield* Scope.close(scope, Exit.fail("given up"))
      expect(of(log, "close")).toStrictEqual(["close 0 Failure", "close 1 Failure"])
    })
  )

  it.effect("a million elements arrive in order, and the chunks are the winner's own", () =>
    Effect.gen(function* () {
      const chunks = Array.from({ length: 1000 }, (_, i) => Chunk.makeBy(1000, (j) => i * 1000 + j))
      const hedged = Hedge.hedgeStream(Stream.fromChunks(...chunks), {
        schedule: HedgeSchedule.fixed(50),
        throttle: HedgeThrottle.unlimited
      })
      const read = Chunk.toReadonlyArray(yield* Stream.runCollect(Stream.chunks(hedged)))
      expect(read.length).toBe(1000)
      expect(read.every((chunk, i) => chunk === chunks[i])).toBe(true)
    })
  )
})

describe("time", () => {
  it.effect("the deadline spans the call until its answer begins, and no longer (R9)", () =>
    Effect.gen(function* () {
      const inTime = script([
        [
          { after: 40, chunk: ["a"] },
          { after: 1000, chunk: ["b"] }
        ]
      ])
      const withDeadline = HedgePolicy.make({
        schedule: HedgeSchedule.fixed(50),
        throttle: HedgeThrottle.unlimited,
        deadline: 100
      })
      expect(yield* within(2000, elements(Hedge.hedgeStreamWith(inTime.stream, withDeadline)))).toStrictEqual(
        Exit.succeed(["a", "b"])
      )
      const late = script([[never], [never]])
      const exit = yield* within(100, elements(Hedge.hedgeStreamWith(late.stream, withDeadline)))
      expect(exit).toMatchObject({
        _tag: "Failure",
        cause: { error: { _tag: "HedgeError", reason: "DeadlineExceeded" } }
      })
      expect([...of(late.log, "close")].sort()).toStrictEqual(["close 0 Failure", "close 1 Failure"])
    })
  )

  it.effect("an attempt's timeout runs until its first element", () =>
    Effect.gen(function* () {
      const { stream } = script([
        [never],
        [
          { after: 10, chunk: ["a"] },
          { after: 500, chunk: ["b"] }
        ]
      ])
      const timed = HedgePolicy.make({
        schedule: HedgeSchedule.onFailure,
        throttle: HedgeThrottle.unlimited,
        attemptTimeout: 30
      })
      expect(yield* within(1000, elements(Hedge.hedgeStreamWith(stream, timed)))).toStrictEqual(
        Exit.succeed(["a", "b"])
      )
    })
  )

  it.effect("an element that is due with the stagger wins, and nothing is sent (C8)", () =>
    Effect.gen(function* () {
      const attempts = yield* HedgeTest.script([{ after: 50, succeed: "a" }])
      const stream = Hedge.hedgeStream(Stream.fromEffect(attempts.effect), policy())
      expect(yield* within(100, elements(stream))).toStrictEqual(Exit.succeed(["a"]))
      expect(yield* attempts.observed).toMatchObject({ starts: 1, finalizers: 1 })
    })
  )
})

describe("a consumer that is interrupted (R6)", () => {
  for (const [when, millis] of [
    ["before the stagger ends", 20],
    ["with two attempts in flight", 60],
    ["while the winner streams", 110]
  ] as const) {
    it.effect(`${when} closes every stream, and waits for that`, () =>
      Effect.gen(function* () {
        const before = yield* roots
        const { log, stream } = script(
          [
            [
              { after: 100, chunk: ["a"] },
              { after: 10_000, chunk: ["b"] }
            ],
            [never]
          ],
          Effect.sleep(300)
        )
        const fiber = yield* Effect.fork(elements(Hedge.hedgeStreamWith(stream, policy())))
        yield* settled
        yield* TestClock.adjust(millis)
        yield* settled
        yield* Fiber.interruptFork(fiber)
        yield* TestClock.adjust(299)
        expect(yield* poll(fiber)).toBe(null)
        yield* TestClock.adjust(1)
        yield* settled
        expect(Exit.isInterrupted((yield* poll(fiber))!)).toBe(true)
        expect(of(log, "close")).toHaveLength(of(log, "open").length)
        yield* TestClock.adjust("1 hour")
        expect(of(log, "open").length).toBe(millis === 20 ? 1 : 2)
        expect(yield* roots).toBe(before)
      })
    )
  }

  it.effect("though it cannot be: the call completes (C54)", () =>
    Effect.gen(function* () {
      const { log, stream } = script([
        [never],
        [
          { after: 10, chunk: ["a"] },
          { after: 10, chunk: ["b"] }
        ]
      ])
      let read: ReadonlyArray<string> = []
      const fiber = yield* Effect.fork(
        Effect.uninterruptible(
          Effect.map(elements(Hedge.hedgeStreamWith(stream, policy())), (all) => {
            read = all
          })
        )
      )
      yield* settled
      yield* TestClock.adjust(20)
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust(100)
      yield* settled
      expect(read).toStrictEqual(["a", "b"])
      expect(of(log, "close")).toStrictEqual(["close 0 Failure", "close 1 Success"])
    })
  )
})

describe("what an attempt's stream finds and leaves", () => {
  it.effect("its first pull is inside the attempt, later ones are the consumer's", () =>
    Effect.gen(function* () {
      const which = Effect.map(
        HedgeAttempt.current,
        Option.map(({ index }) => index)
      )
      const stream = Stream.repeatEffect(which)
      const hedged = Hedge.hedgeStreamWith(
        ({ index }) => (index === 0 ? Stream.never : stream),
        ofAnything(2)
      )
      expect(yield* elements(Stream.take(hedged, 2))).toStrictEqual([Option.some(1), Option.none()])
    })
  )

  it.effect("the winner's FiberRef writes reach the consumer, a loser's do not (R7)", () =>
    Effect.gen(function* () {
      const ref = FiberRef.unsafeMake("before")
      const stream = ({ index }: HedgeAttempt.HedgeAttempt) =>
        Stream.fromEffect(
          Effect.zipRight(
            FiberRef.set(ref, `attempt ${index}`),
            index === 1 ? Effect.succeed(1) : Effect.never
          )
        )
      yield* Stream.runDrain(Hedge.hedgeStreamWith(stream, ofAnything(3)))
      expect(yield* FiberRef.get(ref)).toBe("attempt 1")
    })
  )

  it.effect(
    "what the winner forked before its first element lives as long as the stream, a loser's no longer",
    () =>
      Effect.gen(function* () {
        const ended: Array<number> = []
        // a producer that its stream forks, as streams of callbacks and sockets do
        const stream = ({ index }: HedgeAttempt.HedgeAttempt) =>
          Stream.unwrap(
            Effect.gen(function* () {
              const queue = yield* Queue.unbounded<number>()
              const produce = Effect.delay(queue.offer(index), 10)
              yield* Effect.fork(
                Effect.onInterrupt(Effect.forever(index === 0 ? Effect.never : produce), () =>
                  Effect.sync(() => ended.push(index))
                )
              )
              return Stream.fromQueue(queue)
            })
          )
        const fiber = yield* Effect.fork(
          elements(Stream.take(Hedge.hedgeStreamWith(stream, ofAnything(2)), 3))
        )
        yield* settled
        yield* TestClock.adjust(15)
        yield* settled
        expect(ended).toStrictEqual([0])
        yield* TestClock.adjust(20)
        expect(yield* Fiber.join(fiber)).toStrictEqual([1, 1, 1])
        expect(ended).toStrictEqual([0, 1])
      })
  )

  it.effect(
    "what it acquires in a Scope first goes with its attempt, what it acquires later with the consumer's",
    () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const opened = (name: string) =>
          Effect.acquireRelease(Effect.succeed(name), () => Effect.sync(() => log.push(`close ${name}`)))
        const stream = ({ index }: HedgeAttempt.HedgeAttempt) =>
          Stream.concat(
            Stream.fromEffect(
              Effect.zipLeft(opened(`first ${index}`), index === 0 ? Effect.never : Effect.void)
            ),
            Stream.fromEffect(opened(`second ${index}`))
          )
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* Stream.runForEach(Hedge.hedgeStreamWith(stream, ofAnything(2)), (name) =>
              Effect.zipRight(
                settled,
                Effect.sync(() => log.push(name))
              )
            )
            log.push("the consumer goes on")
          })
        )
        expect(log).toStrictEqual([
          "close first 0",
          "first 1",
          "second 1",
          "close first 1",
          "the consumer goes on",
          "close second 1"
        ])
      })
  )

  it.effect("a service that it needs is the consumer's", () =>
    Effect.gen(function* () {
      class Region extends Context.Tag("test/Region")<Region, string>() {}
      const stream = Stream.repeatEffect(Region)
      const hedged = Stream.take(Hedge.hedgeStream(stream, { schedule: HedgeSchedule.fixed(50) }), 2)
      expect(yield* elements(hedged).pipe(Effect.provideService(Region, "eu"))).toStrictEqual(["eu", "eu"])
    })
  )
})

describe("hedgeStream and the rest of the module", () => {
  it.effect("withoutHedging around a stream's run: one attempt", () =>
    Effect.gen(function* () {
      const { log, stream } = script([[{ after: 200, chunk: ["a"] }]])
      const hedged = Hedge.hedgeStreamWith(stream, policy())
      expect(yield* within(200, Hedge.withoutHedging(elements(hedged)))).toStrictEqual(Exit.succeed(["a"]))
      expect(of(log, "open")).toStrictEqual(["open 0"])
    })
  )

  it.effect("inside a hedge a nested stream is not hedged, inside the primary it is (R15)", () =>
    Effect.gen(function* () {
      const starts: Array<string> = []
      const inner = (outer: number) =>
        Hedge.hedgeStreamWith(({ index }) => {
          starts.push(`${outer}.${index}`)
          return Stream.never
        }, policy())
      const hedged = Hedge.hedgeStreamWith(({ index }) => inner(index), policy({}, HedgeSchedule.fixed(20)))
      const fiber = yield* Effect.fork(Stream.runDrain(hedged))
      yield* settled
      yield* TestClock.adjust(1000)
      yield* Fiber.interrupt(fiber)
      expect(starts).toStrictEqual(["0.0", "1.0", "0.1"])
    })
  )

  it.effect("withPolicy takes a stream, too, and closing the layer waits for its losers", () =>
    Effect.gen(function* () {
      const { log, stream } = script([[never], [{ after: 10, chunk: ["a"] }]], Effect.sleep(500))
      let index = 0
      const next = Stream.suspend(() => stream({ index: index++ }))
      class Tokens extends HedgePolicy.Tag("test/Tokens")<Tokens>() {}
      const layer = Tokens.layer({ schedule: HedgeSchedule.fixed(50), throttle: HedgeThrottle.unlimited })
      const started = yield* TestClock.currentTimeMillis
      const fiber = yield* Effect.fork(
        Effect.zipRight(
          Stream.runHead(next.pipe(Hedge.withPolicy(Tokens))).pipe(Effect.provide(layer)),
          TestClock.currentTimeMillis
        )
      )
      yield* settled
      yield* TestClock.adjust(3000)
      expect((yield* Fiber.join(fiber)) - started).toBe(560)
      expect(of(log, "close")).toHaveLength(2)
      const uncalled = Stream.make(1).pipe(Hedge.withPolicy)
      expect(
        yield* elements(uncalled).pipe(
          Effect.provide(HedgePolicy.layer({ schedule: HedgeSchedule.fixed(50) }))
        )
      ).toStrictEqual([1])
    })
  )

  it.effect("a policy that learns learns the time to the first element", () =>
    Effect.gen(function* () {
      const stream = Stream.concat(
        Stream.fromEffect(Effect.sleep(30)),
        Stream.fromEffect(Effect.sleep("1 minute"))
      )
      const layer = HedgePolicy.layerAdaptive({ extraLoad: 0.1 })
      const inspection = Effect.gen(function* () {
        yield* Stream.runDrain(stream.pipe(Hedge.withPolicy))
        const known = yield* HedgePolicy.inspect(yield* HedgePolicy.DefaultPolicy)
        return Option.getOrThrow(known)
      })
      const fiber = yield* Effect.fork(inspection.pipe(Effect.provide(layer)))
      yield* settled
      yield* TestClock.adjust("2 minutes")
      const { samples } = yield* Fiber.join(fiber)
      expect(samples).toBe(1)
    })
  )

  it("refuses what is no stream and no function", () => {
    const refused = (f: () => unknown) => {
      try {
        f()
        return "not refused"
      } catch (error) {
        return (error as HedgePolicy.HedgePolicyError).message
      }
    }
    expect(refused(() => Hedge.hedgeStream(Effect.void as never, ofAnything(2)))).toContain("a Stream")
    expect(refused(() => Hedge.hedgeStreamWith(Stream.empty as never, ofAnything(2)))).toContain(
      "to a Stream"
    )
    expect(refused(() => Hedge.hedgeStream({ schedule: 5 } as never))).toContain("schedule")
  })

  it.effect("a function that throws, or yields no stream, dies with that", () =>
    Effect.gen(function* () {
      const thrown = Hedge.hedgeStreamWith((): Stream.Stream<string> => {
        throw new Error("boom")
      }, ofAnything(2))
      expect(yield* Effect.exit(Stream.runDrain(thrown))).toStrictEqual(Exit.die(new Error("boom")))
      const none = Hedge.hedgeStreamWith((() => 42) as never as () => Stream.Stream<string>, ofAnything(2))
      expect(Cause.isDie(yield* Effect.flip(Effect.sandbox(Stream.runDrain(none))))).toBe(true)
    })
  )

  it.effect("the layer of a program serves both effects and streams", () =>
    Effect.gen(function* () {
      const layer = Layer.mergeAll(HedgePolicy.layer({ schedule: HedgeSchedule.fixed(50) }), HedgeTest.layer)
      const program = Effect.zip(
        Effect.succeed(1).pipe(Hedge.withPolicy),
        elements(Stream.make(2).pipe(Hedge.withPolicy))
      )
      expect(yield* program.pipe(Effect.provide(layer))).toStrictEqual([1, [2]])
    })
  )
})
