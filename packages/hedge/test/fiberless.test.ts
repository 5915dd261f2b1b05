import { afterEach, describe, expect, it, vi } from "@effect/vitest"
import {
  Cause,
  Context,
  Effect,
  Exit,
  Fiber,
  FiberRef,
  Layer,
  Option,
  type Scheduler,
  Scope,
  Stream,
  TestClock
} from "effect"
import {
  Hedge,
  HedgeAttempt,
  type HedgeEvent,
  HedgeOutcome,
  HedgePolicy,
  HedgeSchedule,
  HedgeThrottle,
  HedgeTracing
} from "effect-hedge"
import * as HedgeTest from "effect-hedge/testing"
import { poll, roots, settled } from "./support.js"

/*
 * Attempts without fibers. The model (`model/run.ts`), `interruption.test.ts` and `handover.test.ts` run them, too: here is what these do not show.
 */

const throttle = HedgeThrottle.unlimited
const parallel = { schedule: HedgeSchedule.parallel, throttle }
const onFailure = { schedule: HedgeSchedule.onFailure, throttle }

type Resume = (exit: Exit.Exit<string, string>) => void

/** One launch that a client was asked for. */
interface Launch {
  readonly attempt: HedgeAttempt.HedgeAttempt
  readonly caller: Fiber.RuntimeFiber<unknown, unknown>
  readonly resume: Resume
  cancels: number
}

/** What a client does when it is asked to launch: answers `false` if it wants a fiber. */
type OnLaunch = (launch: Launch) => boolean | void
type OnCancel = (launch: Launch) => void

const both =
  (first: OnCancel, second: OnLaunch): OnLaunch =>
  (launch) => {
    first(launch)
    return second(launch)
  }

/** A client whose answers come by callbacks, and which a test tells what to do. */
class Client extends HedgeAttempt.Fiberless<string, string> {
  readonly launches: Array<Launch> = []
  readonly discarded: Array<string> = []
  /** How many attempts were given a fiber. */
  fibers = 0

  constructor(
    private readonly onLaunch: OnLaunch = () => {},
    private readonly onCancel: OnCancel = () => {}
  ) {
    super()
  }

  readonly onDiscard = (value: string): Effect.Effect<void> => Effect.sync(() => this.discarded.push(value))

  override launch(...[attempt, caller, resume]: HedgeAttempt.LaunchArguments<string, string>) {
    const launch: Launch = { attempt, caller, resume, cancels: 0 }
    this.launches.push(launch)
    if (this.onLaunch(launch) === false) return undefined
    return {
      cancel: () => {
        launch.cancels += 1
        this.onCancel(launch)
      }
    }
  }

  override commit(): Effect.Effect<string, string> {
    this.fibers += 1
    return Effect.map(
      HedgeAttempt.current,
      Option.match({ onNone: () => "no attempt", onSome: ({ index }) => `fiber of attempt ${index}` })
    )
  }

  get cancels(): ReadonlyArray<number> {
    return this.launches.map(({ cancels }) => cancels)
  }

  tell(index: number, exit: Exit.Exit<string, string> = Exit.succeed(`attempt ${index}`)): void {
    this.launches[index]!.resume(exit)
  }
}

const answering = new Client(({ attempt, resume }) => resume(Exit.succeed(`attempt ${attempt.index}`)))

const atOnce: Scheduler.Scheduler = { scheduleTask: (task) => task(), shouldYield: () => false }

const schedulers = [
  ["", {}],
  [", on a scheduler that runs tasks at once", { scheduler: atOnce }]
] as const

const started = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.zipLeft(Effect.fork(effect), settled)

const isInterruption = (exit: Exit.Exit<unknown, unknown> | null): boolean =>
  exit !== null && Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)

describe("an effect that can be launched without a fiber", () => {
  const policyLayer = HedgePolicy.layer(parallel)

  for (const [how, hedged] of [
    ["hedge", Hedge.hedge(answering, parallel)],
    ["hedgeWith", Hedge.hedgeWith(() => answering, parallel)],
    ["withPolicy", Effect.provide(Hedge.withPolicy(answering), policyLayer)],
    ["hedge, where hedging is off", Hedge.withoutHedging(Hedge.hedge(answering, parallel))]
  ] as const) {
    it.effect(`is launched by ${how}`, () => Effect.map(hedged, (answer) => expect(answer).toBe("attempt 0")))
  }

  for (const [how, effect, answer] of [
    ["in hedgeScoped", Effect.scoped(Hedge.hedgeScoped(answering, parallel)), "fiber of attempt 0"],
    [
      "in a hedged stream",
      Effect.map(
        Stream.runHead(Hedge.hedgeStream(Stream.fromEffect(answering), parallel)),
        Option.getOrThrow
      ),
      "fiber of attempt 0"
    ],
    ["with something around it", Hedge.hedge(Effect.map(answering, String), parallel), "fiber of attempt 0"],
    ["outside of hedges", answering, "no attempt"]
  ] as const) {
    it.effect(`is an effect like any other ${how}`, () =>
      Effect.map(effect, (given) => expect(given).toBe(answer))
    )
  }

  it.effect("starts no fiber, and leaves its caller's FiberRefs alone", () =>
    Effect.gen(function* () {
      const client = new Client()
      const before = yield* roots
      const fiber = yield* started(
        Effect.gen(function* () {
          const refs = yield* Effect.getFiberRefs
          const answer = yield* Hedge.hedge(client, parallel)
          const after = yield* Effect.getFiberRefs
          const changed = [...after.locals].filter(([ref, stack]) => refs.locals.get(ref) !== stack)
          return [answer, changed.map(([ref]) => ref)]
        })
      )
      expect(client.launches).toHaveLength(2)
      expect(yield* roots).toBe(before)
      client.tell(1)
      yield* settled
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed(["attempt 1", []]))
    })
  )

  it.effect("is given its attempt, and the fiber whose context and FiberRefs are its own", () =>
    Effect.gen(function* () {
      class Service extends Context.Tag("test/Service")<Service, string>() {}
      const ref = FiberRef.unsafeMake("initial")
      const client = new Client()
      const fiber = yield* started(
        Hedge.hedge(client, { ...parallel, deadline: "1 second" }).pipe(
          Effect.locally(ref, "the caller's"),
          Effect.provideService(Service, "service")
        )
      )
      yield* TestClock.adjust("400 millis")
      const [primary, hedge] = client.launches
      expect([primary!.attempt.index, hedge!.attempt.index]).toStrictEqual([0, 1])
      expect(primary!.attempt.callId).toBe(hedge!.attempt.callId)
      expect(hedge!.attempt.clock.unsafeCurrentTimeMillis()).toBe(400)
      expect((yield* primary!.attempt.timeLeft).pipe(Option.map(String))).toStrictEqual(
        Option.some("Duration(600ms)")
      )
      for (const { caller } of client.launches) {
        expect(caller).toBe(fiber)
        expect(Context.unsafeGet(caller.currentContext, Service)).toBe("service")
        expect(caller.getFiberRef(ref)).toBe("the caller's")
      }
      yield* Fiber.interrupt(fiber)
    })
  )

  it.effect("has its attempt's span", () =>
    Effect.gen(function* () {
      const client = new Client()
      const fiber = yield* started(Effect.provide(Hedge.hedge(client, parallel), HedgeTracing.layer))
      const spans = client.launches.map(({ attempt: { span } }) => (span?._tag === "Span" ? span : undefined))
      expect(spans.map((span) => [span?.name, span?.attributes.get("hedge.attempt")])).toStrictEqual([
        ["hedge.attempt", 0],
        ["hedge.attempt", 1]
      ])
      client.tell(1)
      yield* Fiber.join(fiber)
      yield* settled
      expect(spans.map((span) => [span?.status._tag, span?.attributes.get("hedge.outcome")])).toStrictEqual([
        ["Ended", "Cancelled"],
        ["Ended", "Win"]
      ])
    })
  )

  it.effect("may say that it waits in a queue: the stagger begins when it is sent", () =>
    Effect.gen(function* () {
      const client = new Client(({ attempt }) => attempt.queued())
      const fiber = yield* started(Hedge.hedge(client, { ...parallel, schedule: HedgeSchedule.fixed(80) }))
      yield* TestClock.adjust("1 minute")
      expect(client.launches).toHaveLength(1)
      client.launches[0]!.attempt.sent()
      yield* TestClock.adjust(79)
      expect(client.launches).toHaveLength(1)
      yield* TestClock.adjust(1)
      expect(client.launches).toHaveLength(2)
      yield* Fiber.interrupt(fiber)
    })
  )

  it.effect("may wait in a queue while a later one is sent: the next stagger is that one's", () =>
    Effect.gen(function* () {
      const client = new Client(({ attempt }) => {
        if (attempt.index === 1) attempt.queued()
      })
      const policy = { ...parallel, schedule: HedgeSchedule.fixed(80), maxAttempts: 4 }
      const fiber = yield* started(Hedge.hedge(client, policy))
      yield* TestClock.adjust(100)
      expect(client.launches).toHaveLength(2)
      client.tell(0, Exit.fail("down"))
      expect(client.launches).toHaveLength(3)
      yield* TestClock.adjust(80)
      expect(client.launches).toHaveLength(4)
      yield* Fiber.interrupt(fiber)
    })
  )

  it.effect("may say so when nobody waits any more, too", () =>
    Effect.gen(function* () {
      const client = new Client()
      const fiber = yield* started(Hedge.hedge(client, onFailure))
      client.tell(0)
      yield* Fiber.join(fiber)
      const { attempt } = client.launches[0]!
      attempt.queued()
      attempt.sent()
      yield* TestClock.adjust("1 minute")
      expect(client.launches).toHaveLength(1)
    })
  )

  it.effect("in a hedge's attempt hedges nothing itself", () =>
    Effect.gen(function* () {
      const client = new Client(({ resume }) => resume(Exit.fail("down")))
      const inner = Hedge.hedge(client, { ...onFailure, maxAttempts: 3 })
      yield* Effect.exit(Hedge.hedge(inner, onFailure))
      expect(client.launches.map(({ attempt: { index } }) => index)).toStrictEqual([0, 1, 2, 0])
    })
  )
})

describe("a launch", () => {
  interface Case {
    readonly name: string
    /** What the primary's launch does. The hedge's answers at once. */
    readonly launch: OnLaunch
    readonly classify?: () => HedgeOutcome.HedgeOutcome
    readonly exit: Exit.Exit<string, string>
    readonly launches: number
  }
  const boom = (): never => {
    throw "boom"
  }
  const tell =
    (exit: Exit.Exit<string, string>): OnLaunch =>
    ({ resume }) =>
      resume(exit)
  const wantsFiber: OnLaunch = () => false
  const answer = tell(Exit.succeed("answer"))
  const hedge = Exit.succeed("hedge")
  const cases: ReadonlyArray<Case> = [
    { name: "that answers is the answer", launch: answer, exit: Exit.succeed("answer"), launches: 1 },
    {
      name: "that answers twice gives its first answer",
      launch: both(answer, tell(Exit.succeed("another"))),
      exit: Exit.succeed("answer"),
      launches: 1
    },
    {
      name: "that answers, and has begun nothing that could be cancelled, is the answer",
      launch: both(answer, wantsFiber),
      exit: Exit.succeed("answer"),
      launches: 1
    },
    {
      name: "that answers and then throws is the answer",
      launch: both(answer, boom),
      exit: Exit.succeed("answer"),
      launches: 1
    },
    { name: "that fails is followed by a hedge", launch: tell(Exit.fail("down")), exit: hedge, launches: 2 },
    { name: "that throws is the call's defect", launch: boom, exit: Exit.die("boom"), launches: 1 },
    {
      name: "that throws is judged: another attempt may do better",
      launch: boom,
      classify: () => HedgeOutcome.nonFatal(),
      exit: Exit.die("boom"),
      launches: 2
    },
    {
      name: "that throws is an end: what it tells later is ignored",
      launch: both(({ resume }) => queueMicrotask(() => resume(Exit.succeed("late"))), boom),
      exit: Exit.die("boom"),
      launches: 1
    },
    {
      name: "that wants a fiber gets one",
      launch: wantsFiber,
      exit: Exit.succeed("fiber of attempt 0"),
      launches: 1
    }
  ]
  for (const { name, launch, classify, exit, launches } of cases) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const before = yield* roots
        const client = new Client((asked) =>
          asked.attempt.index === 0 ? launch(asked) : asked.resume(Exit.succeed("hedge"))
        )
        const { onDiscard } = client
        const options = classify === undefined ? { onDiscard } : { onDiscard, classify }
        const fiber = yield* started(Hedge.hedge(client, { ...onFailure, ...options }))
        expect(yield* poll(fiber)).toStrictEqual(exit)
        expect(client.cancels).toStrictEqual(Array.from({ length: launches }, () => 0))
        expect(client.fibers).toBe(launch === wantsFiber ? 1 : 0)
        expect(client.discarded).toStrictEqual(classify === undefined ? [] : ["hedge"])
        expect(yield* roots).toBe(before)
      })
    )
  }

  it.effect("that tells the end of two attempts is followed by two at once, and nothing is lost", () =>
    Effect.gen(function* () {
      const client: Client = new Client(({ attempt: { index } }) => {
        if (index === 1) for (const each of [0, 1]) client.tell(each, Exit.fail("down"))
        if (index === 3) client.tell(3)
      })
      const schedule = HedgeSchedule.fixed(80)
      const policy = { schedule, throttle, maxAttempts: 4, awaitLosers: true }
      const fiber = yield* started(Hedge.hedge(client, policy))
      yield* TestClock.adjust(80)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed("attempt 3"))
      expect(client.cancels).toStrictEqual([0, 0, 1, 0])
    })
  )

  it.effect("that wanted a fiber and answers none the less is ignored: the fiber's answer counts", () =>
    Effect.gen(function* () {
      let resume: Resume | undefined
      const client = new Client((launch) => {
        resume = launch.resume
        return false
      })
      client.commit = () => Effect.as(Effect.sleep(10), "fiber")
      const fiber = yield* started(Hedge.hedge(client, { ...onFailure, onDiscard: client.onDiscard }))
      resume!(Exit.succeed("stray"))
      yield* TestClock.adjust(10)
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed("fiber"))
      expect(client.discarded).toStrictEqual([])
    })
  )

  it.effect("that runs another call, on the stack of its own, may answer with what that gives", () =>
    Effect.gen(function* () {
      const client = new Client(({ resume }) =>
        resume(Effect.runSyncExit(Hedge.hedge(answering, { ...parallel, maxAttempts: 40 })))
      )
      expect(yield* Hedge.hedge(client, parallel)).toBe("attempt 0")
      expect(client.cancels).toStrictEqual([0])
    })
  )

  for (const [how, options] of schedulers) {
    it(`that ends its call by another attempt's answer is cancelled once${how}`, async () => {
      const client: Client = new Client(({ attempt }) => {
        if (attempt.index === 1) client.tell(0)
      })
      const fiber = Effect.runFork(Hedge.hedge(client, parallel), options)
      await Effect.runPromise(settled)
      expect(fiber.unsafePoll()).toStrictEqual(Exit.succeed("attempt 0"))
      expect(client.cancels).toStrictEqual([0, 1])
    })

    for (const index of [0, 1]) {
      it(`of attempt ${index} that interrupts its caller is cancelled once, and followed by none${how}`, async () => {
        const client: Client = new Client(({ attempt, caller }) => {
          if (attempt.index === index) caller.unsafeInterruptAsFork(caller.id())
        })
        const fiber = Effect.runFork(Hedge.hedge(client, { ...onFailure, maxAttempts: 3 }), options)
        if (index === 1) client.tell(0, Exit.fail("down"))
        await Effect.runPromise(settled)
        expect(isInterruption(fiber.unsafePoll())).toBe(true)
        expect(client.cancels).toStrictEqual([0, 1].slice(1 - index))
      })
    }
  }
})

describe("the function of hedgeWith", () => {
  for (const [what, classify, answer] of [
    ["is its attempt's defect, which is judged", () => HedgeOutcome.nonFatal(), Exit.die("boom")],
    [
      "may be followed by a hedge that does better",
      (exit: Exit.Exit<unknown>) => (Exit.isFailure(exit) ? HedgeOutcome.nonFatal() : HedgeOutcome.win),
      Exit.succeed("attempt 1")
    ],
    ["is its attempt's defect, which is Fatal", HedgeOutcome.fromExit, Exit.die("boom")]
  ] as const) {
    it.effect(`that throws ${what}`, () =>
      Effect.gen(function* () {
        const thrower = ({ index }: HedgeAttempt.HedgeAttempt): Effect.Effect<string> => {
          if (index === 0) throw "boom"
          return Effect.succeed(`attempt ${index}`)
        }
        expect(yield* Effect.exit(Hedge.hedgeWith(thrower, { ...onFailure, classify }))).toStrictEqual(answer)
      })
    )
  }

  it("that interrupts its caller is the last that is asked", async () => {
    const asked: Array<number> = []
    const caller: Fiber.RuntimeFiber<string> = Effect.runFork(
      Effect.zipRight(
        Effect.yieldNow(),
        Hedge.hedgeWith(
          ({ index }) => {
            asked.push(index)
            caller.unsafeInterruptAsFork(caller.id())
            return Effect.never
          },
          { ...onFailure, attemptTimeout: "1 day" }
        )
      ).pipe(Effect.orDie)
    )
    await Effect.runPromise(settled)
    expect(isInterruption(caller.unsafePoll())).toBe(true)
    expect(asked).toStrictEqual([0])
  })
})

describe("an attempt without a fiber that has lost", () => {
  interface Case {
    readonly name: string
    readonly cancel?: OnCancel
    /** What it tells in the turn in which it loses, and when it has been cancelled. */
    readonly beforeCancel?: Exit.Exit<string, string>
    readonly afterCancel?: Exit.Exit<string, string>
    readonly cancels: number
    readonly discarded: ReadonlyArray<string>
    readonly exit: "Interrupt" | Exit.Exit<string, string>
  }
  const late = Exit.succeed("late")
  const down = Exit.fail("down")
  const tell =
    (...exits: ReadonlyArray<Exit.Exit<string, string>>): OnCancel =>
    ({ resume }) => {
      for (const exit of exits) resume(exit)
    }
  const cases: ReadonlyArray<Case> = [
    { name: "is cancelled", cancels: 1, discarded: [], exit: "Interrupt" },
    {
      name: "answers before it is cancelled: nothing is left to cancel",
      beforeCancel: late,
      cancels: 0,
      discarded: ["late"],
      exit: late
    },
    {
      name: "fails before it is cancelled: nothing is left to cancel",
      beforeCancel: down,
      cancels: 0,
      discarded: [],
      exit: down
    },
    {
      name: "answers as it is cancelled",
      cancel: tell(late),
      cancels: 1,
      discarded: ["late"],
      exit: late
    },
    {
      name: "answers twice as it is cancelled",
      cancel: tell(late, Exit.succeed("later"), down),
      cancels: 1,
      discarded: ["late"],
      exit: late
    },
    {
      name: "answers once it has been cancelled: that is ignored",
      afterCancel: late,
      cancels: 1,
      discarded: [],
      exit: "Interrupt"
    },
    {
      name: "throws as it is cancelled",
      cancel: () => {
        throw "boom"
      },
      cancels: 1,
      discarded: [],
      exit: Exit.die("boom")
    },
    {
      name: "answers, then throws, as it is cancelled",
      cancel: (launch) => {
        tell(late)(launch)
        throw "boom"
      },
      cancels: 1,
      discarded: ["late"],
      exit: late
    }
  ]

  /** Ways to lose: who ends the call, and what becomes of the attempts but attempt 0. */
  const ways: ReadonlyArray<
    readonly [
      how: string,
      interrupted: HedgeEvent.InterruptReason,
      end: (client: Client, caller: Fiber.RuntimeFiber<string, unknown>) => Effect.Effect<void>
    ]
  > = [
    ["to a hedge that won", "Lost", (client) => Effect.sync(() => client.tell(1))],
    ["to a Fatal outcome", "Lost", (client) => Effect.sync(() => client.tell(1, Exit.die("a defect")))],
    [
      "with its caller, which was interrupted",
      "CallerInterrupted",
      (_, caller) => Effect.sync(() => caller.unsafeInterruptAsFork(caller.id()))
    ]
  ]

  for (const [how, interrupted, end] of ways) {
    for (const { name, cancel, beforeCancel, afterCancel, cancels, discarded, exit } of cases) {
      // until a caller has learned that it was interrupted, its attempts have not lost
      if (interrupted === "CallerInterrupted" && beforeCancel !== undefined) continue
      it.effect(`${how} ${name}`, () =>
        Effect.gen(function* () {
          const client = new Client(
            () => {},
            (launch) => (launch.attempt.index === 0 ? cancel?.(launch) : undefined)
          )
          const recorder = yield* HedgeTest.recordEvents
          const fiber = yield* started(
            Effect.provide(Hedge.hedge(client, { ...parallel, onDiscard: client.onDiscard }), recorder.layer)
          )
          yield* end(client, fiber)
          if (beforeCancel !== undefined) client.tell(0, beforeCancel)
          yield* settled
          if (afterCancel !== undefined) client.tell(0, afterCancel)
          yield* settled
          expect(yield* poll(fiber)).not.toBe(null)
          expect(client.launches[0]!.cancels).toBe(cancels)
          expect(client.discarded).toStrictEqual(discarded)
          const ends = (yield* recorder.tagged("AttemptEnded")).filter(({ attempt }) => attempt === 0)
          expect(ends).toMatchObject([{ outcome: "Cancelled", interrupted }])
          if (exit === "Interrupt") expect(isInterruption(ends[0]!.exit)).toBe(true)
          else expect(ends[0]!.exit).toStrictEqual(exit)
        })
      )
    }
  }

  it("is cancelled after the caller has gone on", async () => {
    const order: Array<string> = []
    const client = new Client(
      () => {},
      () => order.push("cancelled")
    )
    Effect.runFork(Effect.map(Hedge.hedge(client, parallel), () => order.push("answered")))
    await Effect.runPromise(settled)
    client.tell(0)
    await Effect.runPromise(settled)
    expect(order).toStrictEqual(["answered", "cancelled"])
  })

  for (const [awaitLosers, order] of [
    [true, ["cancelled", "released", "answered"]],
    [false, ["answered", "cancelled", "released"]]
  ] as const) {
    it.effect(`${awaitLosers ? "is" : "is not"} waited for${awaitLosers ? ", with awaitLosers" : ""}`, () =>
      Effect.gen(function* () {
        const seen: Array<string> = []
        const client = new Client(
          () => {},
          ({ resume }) => {
            seen.push("cancelled")
            resume(Exit.succeed("late"))
          }
        )
        const onDiscard = () =>
          Effect.delay(
            Effect.sync(() => seen.push("released")),
            10
          )
        yield* started(
          Effect.map(Hedge.hedge(client, { ...parallel, awaitLosers, onDiscard }), () =>
            seen.push("answered")
          )
        )
        client.tell(1)
        yield* TestClock.adjust(10)
        expect(seen).toStrictEqual(order)
      })
    )
  }

  it.effect("has been cancelled when its policy's layer has closed", () =>
    Effect.gen(function* () {
      const client = new Client()
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(HedgePolicy.layer(parallel), scope)
      const fiber = yield* started(Effect.provide(Hedge.withPolicy(client), context))
      client.tell(1)
      const closing = Effect.runFork(Scope.close(scope, Exit.void))
      expect([client.cancels, closing.unsafePoll()]).toStrictEqual([[0, 0], null])
      yield* Fiber.join(closing)
      expect(client.cancels).toStrictEqual([1, 0])
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed("attempt 1"))
    })
  )

  it.effect("by its timeout is discarded if it answers as it is cancelled, while the call goes on", () =>
    Effect.gen(function* () {
      const client = new Client(
        () => {},
        ({ resume }) => resume(Exit.succeed("late"))
      )
      const { onDiscard } = client
      const fiber = yield* started(Hedge.hedge(client, { ...onFailure, attemptTimeout: 100, onDiscard }))
      yield* TestClock.adjust(100)
      expect([client.cancels, client.discarded]).toStrictEqual([[1, 0], ["late"]])
      client.tell(1)
      yield* settled
      expect(yield* poll(fiber)).toStrictEqual(Exit.succeed("attempt 1"))
      expect(client.discarded).toStrictEqual(["late"])
    })
  )
})

describe("the caller of attempts without fibers", () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it("that runs its call by Effect.runSync finds its loser cancelled", () => {
    const client = new Client(({ attempt, resume }) => {
      if (attempt.index === 1) resume(Exit.succeed("hedge"))
    })
    expect(Effect.runSync(Hedge.hedge(client, parallel))).toBe("hedge")
    expect(client.cancels).toStrictEqual([1, 0])
  })

  it("by the live clock has a hedge when its stagger ends, and an attempt cancelled at its timeout", async () => {
    vi.useFakeTimers()
    const client = new Client()
    const policy = { throttle, schedule: HedgeSchedule.fixed(80), attemptTimeout: 100 }
    const fiber = Effect.runFork(Hedge.hedge(client, policy))
    await vi.advanceTimersByTimeAsync(79)
    expect(client.cancels).toStrictEqual([0])
    // the loop's lateness does not count, so a stagger may end a little later
    await vi.advanceTimersByTimeAsync(20)
    expect(client.cancels).toStrictEqual([0, 0])
    await vi.advanceTimersByTimeAsync(2)
    expect(client.cancels).toStrictEqual([1, 0])
    client.tell(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(fiber.unsafePoll()).toStrictEqual(Exit.succeed("attempt 1"))
  })

  const interrupting: OnCancel = ({ caller }) => caller.unsafeInterruptAsFork(caller.id())
  const answeringAtOnce: OnCancel = ({ attempt, resume }) => resume(Exit.succeed(`attempt ${attempt.index}`))
  const nothing: OnCancel = () => {}

  for (const [when, onLaunch, onCancel] of [
    ["by a launch, which then answers", both(interrupting, answeringAtOnce), nothing],
    ["by a launch that has answered", both(answeringAtOnce, interrupting), nothing],
    ["as a loser is cancelled", nothing, interrupting],
    ["as a loser is cancelled, which then answers", nothing, both(interrupting, answeringAtOnce)],
    ["as a loser is cancelled, which has answered", nothing, both(answeringAtOnce, interrupting)]
  ] as const) {
    for (const awaitLosers of [false, true]) {
      for (const [how, options] of schedulers) {
        it(`${awaitLosers ? "that awaits losers, " : ""}interrupted ${when}: every value is taken or discarded, once${how}`, async () => {
          const produced: Array<string> = []
          const taken: Array<string> = []
          const counted =
            (f: OnCancel): OnCancel =>
            ({ resume, ...launch }) =>
              f({
                ...launch,
                resume: (exit) => {
                  produced.push(`attempt ${launch.attempt.index}`)
                  resume(exit)
                }
              })
          const client = new Client(counted(onLaunch), counted(onCancel))
          const { onDiscard } = client
          const call = Hedge.hedge(client, { ...parallel, awaitLosers, onDiscard })
          const fiber = Effect.runFork(
            Effect.map(call, (value) => taken.push(value)),
            options
          )
          if (produced.length === 0) {
            await Effect.runPromise(settled)
            produced.push("attempt 1")
            client.tell(1)
          }
          await Effect.runPromise(settled)
          expect(fiber.unsafePoll()).not.toBe(null)
          expect(produced.length).toBeGreaterThan(0)
          expect([...taken, ...client.discarded].sort()).toStrictEqual(produced.sort())
        })
      }
    }
  }

  it.effect("that cannot be interrupted gets its answer, whoever interrupts it", () =>
    Effect.gen(function* () {
      const client = new Client()
      const taken: Array<string> = []
      const fiber = yield* started(
        Effect.uninterruptible(Effect.map(Hedge.hedge(client, parallel), (value) => taken.push(value)))
      )
      yield* Fiber.interruptFork(fiber)
      yield* settled
      expect(client.cancels).toStrictEqual([0, 0])
      client.tell(0)
      yield* settled
      expect(taken).toStrictEqual(["attempt 0"])
      expect(client.cancels).toStrictEqual([0, 1])
    })
  )
})

describe("an attempt that somebody keeps", () => {
  /** The attempts of a call that has ended, and what they must not keep: its policy, its caller, what had been begun. */
  const ended = async (onLaunch: OnLaunch, end: (client: Client) => void) => {
    const client = new Client(onLaunch)
    const begun: Array<WeakRef<object>> = []
    const launch = client.launch.bind(client)
    client.launch = (...args) => {
      const answer = launch(...args)
      if (answer !== undefined) begun.push(new WeakRef(answer))
      return answer
    }
    const policy = HedgePolicy.make(parallel)
    const fiber = Effect.runFork(Hedge.hedge(client, policy))
    await Effect.runPromise(settled)
    end(client)
    await Effect.runPromise(settled)
    const kept = client.launches.map(({ attempt, resume }) => [attempt, resume])
    return { kept, refs: [...begun, new WeakRef(policy), new WeakRef(fiber)] }
  }

  for (const [how, onLaunch, end] of [
    ["won, or was cancelled", () => {}, (client: Client) => client.tell(1)],
    ["answered as it was launched", ({ resume }: Launch) => resume(Exit.succeed("answer")), () => {}]
  ] as const) {
    it(`${how}, and with it what tells its exit, keeps nothing of its call alive`, async () => {
      const { kept, refs } = await ended(onLaunch, end)
      for (let round = 0; round < 4; round++) {
        await Effect.runPromise(settled)
        globalThis.gc!()
      }
      expect(kept.length).toBeGreaterThan(0)
      expect(refs.map((ref) => ref.deref())).toStrictEqual(refs.map(() => undefined))
    })
  }
})
