import { describe, expect, it } from "@effect/vitest"
import {
  Duration,
  Effect,
  Exit,
  Fiber,
  FiberId,
  FiberRef,
  ManagedRuntime,
  RuntimeFlags,
  RuntimeFlagsPatch,
  Scheduler,
  Scope
} from "effect"
import { Hedge, HedgeAttempt, HedgeOutcome, HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import { settled } from "./support.js"

/*
 * C53. A value is handed over in steps: the attempt's fiber ends, the call settles, the caller is resumed, it takes the value. Whoever interrupts
 * the caller in between must find the value taken or discarded. Every test here does so at each step, counted in microtasks or in turns of a
 * scheduler, before and after the answer.
 */

const throttle = HedgeThrottle.unlimited
const schedule = HedgeSchedule.parallel

class Fiberless extends HedgeAttempt.Fiberless<string> {
  constructor(
    private readonly onLaunch: (resume: (exit: Exit.Exit<string>) => void) => HedgeAttempt.Started,
    private readonly otherwise: Effect.Effect<string>
  ) {
    super()
  }

  override launch(...[, , resume]: HedgeAttempt.LaunchArguments<string>) {
    return this.onLaunch(resume)
  }

  override commit() {
    return this.otherwise
  }
}

/** What became of the values of one call. */
class Account {
  readonly produced: Array<string> = []
  readonly taken: Array<string> = []
  readonly discarded: Array<string> = []
  /** Where an attempt waits for its answer, by its index. */
  readonly answers: Array<(answer: Effect.Effect<void>) => void> = []

  readonly onDiscard = (value: string): Effect.Effect<void> => Effect.sync(() => this.discarded.push(value))

  /** An attempt that is answered from outside. What it produces is noted in the same turn in which its fiber ends. */
  readonly attempt: Effect.Effect<string> = Effect.suspend(() => {
    const index = this.answers.length
    return Effect.map(
      Effect.async<void>((resume) => {
        this.answers.push(resume)
      }),
      () => {
        const value = `attempt ${index}`
        this.produced.push(value)
        return value
      }
    )
  })

  /** The same, and nobody can interrupt it. */
  readonly stubborn: Effect.Effect<string> = Effect.zipRight(
    Effect.patchRuntimeFlags(RuntimeFlagsPatch.disable(RuntimeFlags.Interruption)),
    this.attempt
  )

  /** The same without fibers. */
  fiberless(answersWhenCancelled: boolean): Effect.Effect<string> {
    const launch = (resume: (exit: Exit.Exit<string>) => void) => {
      const value = `attempt ${this.answers.length}`
      let open = true
      const answer = () => {
        if (!open) return
        open = false
        this.produced.push(value)
        resume(Exit.succeed(value))
      }
      this.answers.push(answer)
      return {
        cancel: () => {
          if (answersWhenCancelled) answer()
          open = false
        }
      }
    }
    return new Fiberless(launch, this.attempt)
  }

  take<R>(call: Effect.Effect<string, never, R>): Effect.Effect<void, never, R> {
    return Effect.map(call, (value) => {
      this.taken.push(value)
    })
  }

  check(): void {
    expect(this.taken.length).toBeLessThanOrEqual(1)
    expect([...this.taken, ...this.discarded].sort()).toStrictEqual([...this.produced].sort())
  }
}

const options = (account: Account) => ({ schedule, throttle, onDiscard: account.onDiscard })

const callers: ReadonlyArray<readonly [name: string, make: (account: Account) => Effect.Effect<void>]> = [
  ["a call", (account) => account.take(Hedge.hedge(account.attempt, options(account)))],
  [
    "a call whose attempts cannot be interrupted",
    (account) => account.take(Hedge.hedge(account.stubborn, options(account)))
  ],
  [
    "a call in an interruptible part of an uninterruptible caller",
    (account) =>
      Effect.uninterruptibleMask((restore) =>
        account.take(restore(Hedge.hedge(account.stubborn, options(account))))
      )
  ],
  [
    "a call of three attempts",
    (account) => account.take(Hedge.hedge(account.stubborn, { ...options(account), maxAttempts: 3 }))
  ],
  [
    "a call that awaits its losers",
    (account) => account.take(Hedge.hedge(account.stubborn, { ...options(account), awaitLosers: true }))
  ],
  [
    "a call with a deadline",
    (account) =>
      account.take(Effect.orDie(Hedge.hedge(account.stubborn, { ...options(account), deadline: "1 minute" })))
  ],
  [
    "a call whose winner writes a FiberRef",
    (account) => {
      const ref = FiberRef.unsafeMake("")
      return account.take(
        Hedge.hedge(
          Effect.tap(account.stubborn, (value) => FiberRef.set(ref, value)),
          options(account)
        )
      )
    }
  ],
  [
    "a call whose outcomes are all NonFatal",
    (account) =>
      account.take(
        Hedge.hedge(account.stubborn, { ...options(account), classify: () => HedgeOutcome.nonFatal() })
      )
  ],
  [
    "a call whose discards take their time",
    (account) =>
      account.take(
        Hedge.hedge(account.stubborn, {
          ...options(account),
          onDiscard: (value) => Effect.zipRight(Effect.yieldNow(), account.onDiscard(value))
        })
      )
  ],
  [
    "a call whose attempts have no fibers",
    (account) => account.take(Hedge.hedge(account.fiberless(false), options(account)))
  ],
  [
    "a call whose attempts have no fibers, and answer when they are cancelled",
    (account) => account.take(Hedge.hedge(account.fiberless(true), options(account)))
  ],
  [
    "a call of hedgeScoped",
    (account) => Effect.scoped(account.take(Hedge.hedgeScoped(account.stubborn, options(account))))
  ],
  [
    "a call under a policy's layer",
    (account) =>
      account.take(Effect.orDie(Hedge.withPolicy(account.stubborn))).pipe(
        Effect.provide(
          HedgePolicy.layer({
            schedule,
            throttle,
            onDiscard: (value) => account.onDiscard(value as string)
          })
        )
      )
  ]
]

const microtasks = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await undefined
}

const steps = Array.from({ length: 31 }, (_, i) => i)

describe("C53: a caller that is interrupted", () => {
  for (const [name, make] of callers) {
    for (const winner of [0, 1]) {
      it(`0 to 30 microtasks after attempt ${winner} was answered: ${name}`, async () => {
        for (const offset of steps) {
          const account = new Account()
          const fiber = Effect.runFork(make(account))
          await Effect.runPromise(settled)
          account.answers[winner]!(Effect.void)
          await microtasks(offset)
          fiber.unsafeInterruptAsFork(FiberId.none)
          await Effect.runPromise(settled)
          for (const answer of account.answers) answer(Effect.void)
          await Effect.runPromise(Fiber.await(fiber))
          await Effect.runPromise(settled)
          account.check()
        }
      })

      it(`0 to 30 microtasks before attempt ${winner} is answered: ${name}`, async () => {
        for (const offset of steps) {
          const account = new Account()
          const fiber = Effect.runFork(make(account))
          await Effect.runPromise(settled)
          fiber.unsafeInterruptAsFork(FiberId.none)
          await microtasks(offset)
          account.answers[winner]!(Effect.void)
          await Effect.runPromise(settled)
          for (const answer of account.answers) answer(Effect.void)
          await Effect.runPromise(Fiber.await(fiber))
          await Effect.runPromise(settled)
          account.check()
        }
      })
    }

    it(`at every turn of its scheduler: ${name}`, () => {
      const outcomes = new Set<string>()
      for (let turn = 0; ; turn++) {
        const account = new Account()
        const scheduler = new Scheduler.ControlledScheduler()
        const fiber = Effect.runFork(make(account), { scheduler })
        const run = () => {
          while (scheduler.tasks.buckets.length > 0) scheduler.step()
        }
        run()
        for (const answer of account.answers) answer(Effect.void)
        let turns = 0
        while (turns < turn && scheduler.tasks.buckets.length > 0) {
          scheduler.step()
          turns += 1
        }
        fiber.unsafeInterruptAsFork(FiberId.none)
        run()
        expect(fiber.unsafePoll()).not.toBe(null)
        account.check()
        outcomes.add(account.taken.length === 1 ? "taken" : "not taken")
        if (turns < turn) break
      }
      // the turns reach from before the hand-over until after it
      expect([...outcomes].sort()).toStrictEqual(["not taken", "taken"])
    })
  }

  it("while it answers itself: the winner's own end interrupts the caller", async () => {
    for (const offset of steps) {
      const account = new Account()
      let caller: Fiber.RuntimeFiber<void> | undefined
      const attempt = Effect.tap(account.stubborn, () =>
        Effect.promise(() => microtasks(offset)).pipe(
          Effect.zipRight(Effect.sync(() => caller!.unsafeInterruptAsFork(FiberId.none)))
        )
      )
      caller = Effect.runFork(account.take(Hedge.hedge(attempt, options(account))))
      await Effect.runPromise(settled)
      for (const answer of account.answers) answer(Effect.void)
      await Effect.runPromise(Fiber.await(caller))
      await Effect.runPromise(settled)
      account.check()
    }
  })

  it("as its runtime is disposed of: every value is accounted for, and no attempt is left", async () => {
    for (const offset of steps) {
      const account = new Account()
      const runtime = ManagedRuntime.make(
        HedgePolicy.layer({
          schedule,
          throttle,
          onDiscard: (value) => account.onDiscard(value as string),
          // a loser's end that the closing layer does not notice would let it wait for ever
          loserGrace: Duration.infinity
        })
      )
      const fiber = runtime.runFork(account.take(Effect.orDie(Hedge.withPolicy(account.stubborn))))
      await Effect.runPromise(settled)
      account.answers[1]!(Effect.void)
      await microtasks(offset)
      const disposed = runtime.dispose()
      fiber.unsafeInterruptAsFork(FiberId.none)
      account.answers[0]!(Effect.void)
      await disposed
      await Effect.runPromise(Fiber.await(fiber))
      await Effect.runPromise(settled)
      account.check()
    }
  })
})

describe("C53: a scope that is handed over", () => {
  it("is closed exactly once, at every turn at which its caller may be interrupted", () => {
    for (let turn = 0; ; turn++) {
      const opened: Array<number> = []
      const closed: Array<number> = []
      const answers: Array<(answer: Effect.Effect<void>) => void> = []
      const open = Effect.acquireRelease(
        Effect.suspend(() => {
          const id = opened.length
          opened.push(id)
          return Effect.succeed(id)
        }),
        (id) => Effect.sync(() => closed.push(id))
      )
      const attempt = Effect.tap(open, () =>
        Effect.async<void>((resume) => {
          answers.push(resume)
        })
      )
      const scheduler = new Scheduler.ControlledScheduler()
      const run = () => {
        while (scheduler.tasks.buckets.length > 0) scheduler.step()
      }
      const scope = Effect.runSync(Scope.make())
      const call = Scope.extend(Hedge.hedgeScoped(attempt, { schedule, throttle }), scope)
      const fiber = Effect.runFork(call, { scheduler })
      run()
      for (const answer of answers) answer(Effect.void)
      let turns = 0
      while (turns < turn && scheduler.tasks.buckets.length > 0) {
        scheduler.step()
        turns += 1
      }
      fiber.unsafeInterruptAsFork(FiberId.none)
      run()
      const exit = fiber.unsafePoll()
      const kept = exit !== null && Exit.isSuccess(exit) ? 1 : 0
      expect(opened).toHaveLength(2)
      expect(closed).toHaveLength(2 - kept)
      Effect.runSync(Scope.close(scope, Exit.void))
      expect([...closed].sort()).toStrictEqual([0, 1])
      if (turns < turn) break
    }
  })
})
