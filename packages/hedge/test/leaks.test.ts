import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it, vi } from "@effect/vitest"
import { Chunk, Effect, Exit, Fiber, FiberRef, Layer, ManagedRuntime, Schedule, Scope, Stream } from "effect"
import { Hedge, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import { roots, settled } from "./support.js"

/*
 * C22. Nothing of a call is left when its last attempt has unwound.
 */

const throttle = HedgeThrottle.unlimited

/** The timers that are set through the globals, as everything but the test runner sets them. */
const pending = new Set<unknown>()

beforeAll(() => {
  const { clearInterval, clearTimeout, setInterval, setTimeout } = globalThis
  vi.stubGlobal("setTimeout", (run: (...args: Array<unknown>) => void, ...rest: Array<never>) => {
    const timer = setTimeout(
      (...args: Array<unknown>) => {
        pending.delete(timer)
        run(...args)
      },
      ...(rest as unknown as [number])
    )
    pending.add(timer)
    return timer
  })
  vi.stubGlobal("setInterval", (...args: Parameters<typeof setInterval>) => {
    const timer = setInterval(...args)
    pending.add(timer)
    return timer
  })
  vi.stubGlobal("clearTimeout", (timer: NodeJS.Timeout) => {
    pending.delete(timer)
    clearTimeout(timer)
  })
  vi.stubGlobal("clearInterval", (timer: NodeJS.Timeout) => {
    pending.delete(timer)
    clearInterval(timer)
  })
})

afterAll(() => vi.unstubAllGlobals())

const left = () => ({ roots: Effect.runSync(roots), timers: pending.size })

const immediate = Effect.async<number>((resume) => {
  setImmediate(() => resume(Effect.succeed(1)))
})

/** The heap that is in use once everything that can be collected has been. */
const heap = async (): Promise<number> => {
  let used = Number.POSITIVE_INFINITY
  for (let round = 0; round < 6; round++) {
    await Effect.runPromise(settled)
    globalThis.gc!()
    used = Math.min(used, process.memoryUsage().heapUsed)
  }
  return used
}

/** A FiberRef, so that winners have something to leave behind. */
const ref = FiberRef.unsafeMake(0)

const calls: ReadonlyArray<
  readonly [name: string, call: Effect.Effect<unknown, unknown>, layer: Layer.Layer<never>]
> = [
  [
    "answered by the primary",
    Hedge.hedge(immediate, { schedule: HedgeSchedule.fixed("1 hour"), deadline: "2 hours", throttle }),
    Layer.empty
  ],
  [
    "answered by the primary, under an ordinary schedule",
    Hedge.hedge(immediate, { schedule: Schedule.spaced("1 hour"), throttle }),
    Layer.empty
  ],
  [
    "won by a hedge, whose primary never answers",
    Hedge.hedgeWith(
      ({ index }) => (index === 0 ? Effect.never : Effect.zipLeft(immediate, FiberRef.set(ref, index))),
      {
        schedule: HedgeSchedule.parallel,
        maxAttempts: 3,
        throttle,
        onDiscard: () => Effect.void
      }
    ),
    Layer.empty
  ],
  [
    "in which every attempt fails",
    Effect.exit(
      Hedge.hedge(Effect.zipRight(immediate, Effect.fail("down")), { schedule: HedgeSchedule.onFailure })
    ),
    Layer.empty
  ],
  [
    "in scopes of their own",
    Effect.scoped(
      Hedge.hedgeScoped(
        Effect.acquireRelease(immediate, () => Effect.void),
        {
          schedule: HedgeSchedule.parallel,
          throttle
        }
      )
    ),
    Layer.empty
  ]
]

const streams: typeof calls = [
  [
    "that a hedge won, and that were read to their end",
    Stream.runDrain(
      Hedge.hedgeStreamWith(
        ({ index }) =>
          index === 0 ? Stream.never : Stream.concat(Stream.fromEffect(immediate), Stream.make(2)),
        { schedule: HedgeSchedule.parallel, throttle }
      )
    ),
    Layer.empty
  ],
  [
    "that were given up after an element",
    Stream.runHead(
      Hedge.hedgeStream(Stream.repeatEffect(immediate), { schedule: HedgeSchedule.fixed("1 hour"), throttle })
    ),
    Layer.empty
  ]
]

/** Runs calls in lots, and says how the heap stood after each half. */
const halves = async (
  run: (lot: number) => Promise<unknown>,
  count: number
): Promise<readonly [first: number, second: number]> => {
  const lot = 1000
  const half = async () => {
    for (let done = 0; done < count / 2; done += lot) await run(lot)
    return heap()
  }
  return [await half(), await half()]
}

const leavesNothing = async (call: Effect.Effect<unknown, unknown>, count: number) => {
  const before = left()
  const lot = (size: number) =>
    Effect.runPromise(
      Effect.all(
        Array.from({ length: size }, () => call),
        { concurrency: "unbounded", discard: true }
      )
    )
  // what the first calls of a process build up is not theirs
  await lot(1000)
  const [first, second] = await halves(lot, count)
  expect(second / first).toBeLessThan(1.05)
  expect(left()).toStrictEqual(before)
}

describe("C22: 100,000 calls", () => {
  const perKind = 100_000 / (calls.length + 1)
  const count = Math.ceil(perKind / 2000) * 2000

  for (const [name, call] of calls) {
    it(
      `(${count} of them ${name}) leave fibers, timers and the heap where they were`,
      () => leavesNothing(call, count),
      120_000
    )
  }

  it(`(${count} of them under a policy's layer) leave fibers, timers and the heap where they were`, async () => {
    const before = left()
    const runtime = ManagedRuntime.make(HedgePolicy.layer({ schedule: HedgeSchedule.parallel, throttle }))
    const call = Hedge.withPolicy(immediate)
    const lot = (size: number) =>
      runtime.runPromise(
        Effect.all(
          Array.from({ length: size }, () => call),
          { concurrency: "unbounded", discard: true }
        )
      )
    await lot(1000)
    const [first, second] = await halves(lot, count)
    expect(second / first).toBeLessThan(1.05)
    await runtime.dispose()
    await Effect.runPromise(settled)
    expect(left()).toStrictEqual(before)
  }, 120_000)
})

describe("C22: 4,000 streams", () => {
  for (const [name, stream] of streams) {
    it(
      `${name}, leave fibers, timers and the heap where they were`,
      () => leavesNothing(stream, 4000),
      120_000
    )
  }
})

describe("a stream that is read", () => {
  it("holds none of its chunks but the one that is asked for", async () => {
    const chunks: Array<WeakRef<Chunk.Chunk<{ readonly n: number }>>> = []
    const made = Effect.sync(() => {
      const chunk = Chunk.makeBy(10, (n) => ({ n }))
      chunks.push(new WeakRef(chunk))
      return chunk
    })
    const stream = Stream.repeatEffectChunk(Effect.zipLeft(made, immediate))
    const hedged = Hedge.hedgeStream(stream, { schedule: HedgeSchedule.fixed("1 hour"), throttle })
    const alive = await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const pull = yield* Stream.toPull(hedged)
          for (let i = 0; i < 50; i++) yield* Effect.asVoid(pull)
          yield* Effect.promise(heap)
          return chunks.filter((chunk) => chunk.deref() !== undefined).length
        })
      )
    )
    expect(chunks).toHaveLength(50)
    expect(alive).toBeLessThanOrEqual(2)
  })
})

describe("C22: 1,000 calls in flight", () => {
  for (const [order, closeFirst] of [
    ["as the policy's layer closes", true],
    ["before the policy's layer closes", false]
  ] as const) {
    it(`whose callers are interrupted ${order} leave nothing, and their finalizers have run`, async () => {
      const before = left()
      let starts = 0
      let finalized = 0
      const attempt = Effect.suspend(() => {
        starts += 1
        return Effect.onInterrupt(Effect.never, () =>
          Effect.zipRight(
            immediate,
            Effect.sync(() => {
              finalized += 1
            })
          )
        )
      })
      const scope = Effect.runSync(Scope.make())
      const context = await Effect.runPromise(
        Layer.buildWithScope(
          HedgePolicy.layer({
            schedule: HedgeSchedule.parallel,
            throttle,
            maxAttempts: 3,
            deadline: "1 hour"
          }),
          scope
        )
      )
      const call = Effect.provide(Hedge.withPolicy(attempt), context)
      const callers = Array.from({ length: 1000 }, () => Effect.runFork(call))
      await Effect.runPromise(settled)
      expect(starts).toBe(3000)
      expect(pending.size).toBeGreaterThan(1000)
      const close = () => Effect.runPromise(Scope.close(scope, Exit.void))
      const closing = closeFirst ? close() : undefined
      const interrupted = Effect.runPromise(Fiber.interruptAll(callers))
      await Promise.all([closing ?? close(), interrupted])
      expect(finalized).toBe(3000)
      await Effect.runPromise(settled)
      expect(left()).toStrictEqual(before)
    })
  }
})

describe("C22: the process exits by itself right after the last call", () => {
  const prelude = `
    import { Effect, Exit, Layer, Schedule, Stream } from "effect"
    import { Hedge, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
    const answer = Effect.async((resume) => { setImmediate(() => resume(Effect.succeed(1))) })
    const policy = { schedule: HedgeSchedule.fixed("1 hour"), deadline: "2 hours", attemptTimeout: "90 minutes" }
  `
  const programs: ReadonlyArray<readonly [name: string, program: string]> = [
    ["that the primary answered before its stagger and deadline", "Hedge.hedge(answer, policy)"],
    [
      "that an ordinary schedule would have staggered",
      'Hedge.hedge(answer, { ...policy, schedule: Schedule.spaced("1 hour") })'
    ],
    [
      "whose schedule was still working out a step",
      "Hedge.hedge(answer, { ...policy, schedule: Schedule.addDelayEffect(Schedule.forever, () => Effect.never) })"
    ],
    [
      "that a hedge won from a primary that never answers",
      "Hedge.hedgeWith(({ index }) => (index === 0 ? Effect.never : answer), { ...policy, schedule: HedgeSchedule.parallel })"
    ],
    [
      "that waited for a pushback when its primary answered",
      `Hedge.hedgeWith(({ index }) => (index === 0 ? Effect.zipRight(answer, answer) : Effect.fail("busy")), {
        ...policy,
        schedule: HedgeSchedule.parallel,
        maxAttempts: 3,
        maxPushback: "1 hour",
        classify: (exit) => (Exit.isSuccess(exit) ? { _tag: "Win" } : { _tag: "NonFatal", pushback: "30 minutes" })
      })`
    ],
    [
      "that failed by its deadline",
      'Effect.ignore(Hedge.hedge(Effect.never, { schedule: HedgeSchedule.fixed("1 hour"), deadline: "5 millis" }))'
    ],
    [
      "that ran under a policy's layer",
      "Hedge.withPolicy(answer).pipe(Effect.provide(HedgePolicy.layer(policy)))"
    ],
    [
      "whose stream a hedge won from one that never begins",
      `Stream.runDrain(
        Hedge.hedgeStreamWith(({ index }) => (index === 0 ? Stream.never : Stream.fromEffect(answer)), {
          ...policy,
          schedule: HedgeSchedule.parallel
        })
      )`
    ],
    [
      "of a thousand at once",
      "Effect.all(Array.from({ length: 1000 }, () => Hedge.hedge(answer, policy)), { concurrency: 'unbounded' })"
    ]
  ]
  for (const [name, program] of programs) {
    it(name, async () => {
      const code = `${prelude}
        await Effect.runPromise(${program})
        process.stdout.write("answered")`
      const child = spawn(process.execPath, ["--input-type=module", "--eval", code], {
        cwd: fileURLToPath(new URL("..", import.meta.url)),
        stdio: ["ignore", "pipe", "pipe"],
        timeout: 25_000,
        killSignal: "SIGKILL"
      })
      let output = ""
      child.stdout.on("data", (data) => {
        output += data
      })
      child.stderr.on("data", (data) => {
        output += data
      })
      const [exitCode, signal] = await once(child, "close")
      expect({ output, exitCode, signal }).toStrictEqual({ output: "answered", exitCode: 0, signal: null })
    })
  }
})
