import { expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, FastCheck as fc, Stream, TestClock, TestContext } from "effect"
import { Hedge, HedgeOutcome, HedgeSchedule } from "effect-hedge"
import { useImmediateTimers } from "../immediateTimers.js"
import { poll, roots, settled } from "../support.js"
import { policy, type Step, script } from "./script.js"

/*
 * Random streams, consumers and schedules. `STREAM_RUNS` says how many, `STREAM_SEED` which.
 */

interface Case {
  readonly streams: ReadonlyArray<ReadonlyArray<Step>>
  readonly delay: number
  /** Attempts whose first element classify rejects. */
  readonly rejected: ReadonlyArray<number>
  readonly take: number
  readonly interruptedAt: number | undefined
  readonly closingTakes: number
}

const time = fc.integer({ min: 1, max: 60 })
const after = fc.option(time, { nil: 0 })
const chunk = fc.record({ after, chunk: fc.array(fc.constant("x"), { maxLength: 3 }) })
const end: fc.Arbitrary<ReadonlyArray<Step>> = fc.oneof(
  fc.constant([]),
  fc.record({ after, fail: fc.constant("down") }).map((step) => [step]),
  fc.record({ after, die: fc.constant("boom") }).map((step) => [step]),
  fc.constant([{ never: true } as const])
)
const stream = fc.tuple(fc.array(chunk, { maxLength: 4 }), end).map(([chunks, last]) => [...chunks, ...last])

/** Names every element by its attempt and its place. */
const named = (steps: ReadonlyArray<Step>, attempt: number): ReadonlyArray<Step> => {
  let place = 0
  return steps.map((step) =>
    "chunk" in step ? { ...step, chunk: step.chunk.map(() => `${attempt}.${place++}`) } : step
  )
}

const aCase: fc.Arbitrary<Case> = fc.record({
  streams: fc.array(stream, { minLength: 2, maxLength: 4 }).map((all) => all.map(named)),
  delay: fc.oneof(fc.constant(0), time),
  rejected: fc.uniqueArray(fc.integer({ min: 0, max: 3 }), { maxLength: 3 }),
  take: fc.oneof(fc.constant(Infinity), fc.integer({ min: 1, max: 5 })),
  interruptedAt: fc.option(fc.integer({ min: 0, max: 200 }), { nil: undefined }),
  closingTakes: fc.constantFrom(0, 25)
})

const isRejected = ({ rejected }: Case, first: string): boolean => rejected.includes(Number(first[0]))

const run = (given: Case) =>
  Effect.gen(function* () {
    const before = yield* roots
    const { log, stream } = script(
      given.streams,
      given.closingTakes === 0 ? Effect.void : Effect.sleep(given.closingTakes)
    )
    const hedged = Hedge.hedgeStreamWith(
      stream,
      policy(
        {
          maxAttempts: given.streams.length,
          classify: (exit) =>
            Exit.isSuccess(exit) && isRejected(given, exit.value)
              ? HedgeOutcome.nonFatal()
              : HedgeOutcome.fromExit(exit)
        },
        HedgeSchedule.fixed(given.delay)
      )
    )
    const read: Array<string> = []
    const fiber = yield* Effect.fork(
      Stream.runForEach(Stream.take(hedged, given.take), (element) => Effect.sync(() => read.push(element)))
    )
    yield* settled
    yield* TestClock.adjust(given.interruptedAt ?? 2000)
    const ended = yield* poll(fiber)
    yield* Fiber.interruptFork(fiber)
    yield* TestClock.adjust(2000)
    yield* settled
    return { log, read, ended, exit: yield* poll(fiber), left: (yield* roots) - before }
  }).pipe(Effect.provide(TestContext.TestContext))

const elementsOf = (steps: ReadonlyArray<Step>): ReadonlyArray<string> =>
  steps.flatMap((step) => ("chunk" in step ? step.chunk : []))

const check = (
  given: Case,
  { log, read, ended, exit, left }: Effect.Effect.Success<ReturnType<typeof run>>
) => {
  const { streams, take } = given
  expect(exit).not.toBe(null)
  expect(left).toBe(0)
  // every stream that was opened is closed, once
  const indexes = (event: string) =>
    log.filter((line) => line.startsWith(event)).map((line) => Number(line.split(" ")[1]))
  expect([...indexes("close")].sort()).toStrictEqual([...indexes("open")].sort())
  expect(new Set(indexes("open")).size).toBe(indexes("open").length)

  // what was read is one stream's, from its beginning on
  const winner = read.length === 0 ? undefined : Number(read[0]![0])
  if (winner !== undefined) expect(read).toStrictEqual(elementsOf(streams[winner]!).slice(0, read.length))
  // an element that is rejected can only be the primary's
  if (winner !== undefined && winner > 0) expect(isRejected(given, read[0]!)).toBe(false)

  // nobody but the winner was asked for more than a first element
  for (const index of indexes("open")) {
    if (index === winner) continue
    const first = streams[index]!.findIndex((step) => !("chunk" in step) || step.chunk.length > 0)
    const most = (first < 0 ? streams[index]!.length : first) + 1
    expect(indexes("pull").filter((pulled) => pulled === index).length).toBeLessThanOrEqual(most)
  }

  // a consumer that was not interrupted got everything that it asked for, and the winner's own end
  if (ended === null || winner === undefined) return
  const all = elementsOf(streams[winner]!)
  expect(read).toStrictEqual(all.slice(0, take))
  const last = streams[winner]!.at(-1)
  const enough = read.length === take
  if (enough || last === undefined || "chunk" in last) expect(ended).toStrictEqual(Exit.void)
  else if ("fail" in last) expect(ended).toStrictEqual(Exit.fail("down"))
  else expect(ended).toStrictEqual(Exit.die("boom"))
}

useImmediateTimers()

it("whatever streams do, the winner's elements arrive, and every stream is closed once", async () => {
  await fc.assert(
    fc.asyncProperty(aCase, async (given) => check(given, await Effect.runPromise(run(given)))),
    {
      numRuns: Number(process.env.STREAM_RUNS ?? 200),
      seed: Number(process.env.STREAM_SEED ?? 20_260_101),
      interruptAfterTimeLimit: 60_000
    }
  )
}, 120_000)
