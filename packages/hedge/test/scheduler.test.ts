import { afterEach, describe, expect, it, vi } from "@effect/vitest"
import { Effect, Fiber, FiberId, FiberRef, Scheduler } from "effect"
import { Hedge, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import { settled } from "./support.js"

const policy = { schedule: HedgeSchedule.onFailure, throttle: HedgeThrottle.unlimited }

/** What has become of the process's rejections that nobody handles: here, the errors that are thrown within a scheduler's turn. */
const uncaught = async (run: () => Promise<void>): Promise<ReadonlyArray<unknown>> => {
  const errors: Array<unknown> = []
  const onError = (error: unknown) => {
    errors.push(error)
  }
  const kept = (["unhandledRejection", "uncaughtException"] as const).map(
    (event) => [event, process.rawListeners(event) as Array<(...args: Array<unknown>) => void>] as const
  )
  for (const [event] of kept) {
    process.removeAllListeners(event)
    process.on(event, onError)
  }
  try {
    await run()
  } finally {
    for (const [event, listeners] of kept) {
      process.removeAllListeners(event)
      for (const listener of listeners) process.on(event, listener)
    }
  }
  return errors
}

describe("a scheduler that runs tasks at once", () => {
  const atOnce: Scheduler.Scheduler = { shouldYield: () => false, scheduleTask: (task) => task() }

  it("lets an attempt end its call by its first step: it is interrupted, too", async () => {
    let answer = (): void => {}
    let interrupted = false
    const attempts = [
      Effect.async<string>((resume) => {
        answer = () => resume(Effect.succeed("primary"))
      }),
      Effect.suspend(() => {
        answer()
        return Effect.onInterrupt(Effect.never, () =>
          Effect.sync(() => {
            interrupted = true
          })
        )
      })
    ]
    const call = Hedge.hedgeWith(({ index }) => attempts[index]!, {
      schedule: HedgeSchedule.parallel,
      throttle: HedgeThrottle.unlimited
    })
    const fiber = Effect.runFork(call, { scheduler: atOnce })
    await Effect.runPromise(settled)
    expect(fiber.unsafePoll()).toMatchObject({ _tag: "Success", value: "primary" })
    expect(interrupted).toBe(true)
  })
})

describe("what attempts run on", () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it("outlives an observer that throws: attempts of the same turn, and of later ones, go on", async () => {
    const error = new Error("thrown by an observer")
    const errors = await uncaught(async () => {
      const throwing = Effect.zipRight(
        Effect.withFiberRuntime<void>((attempt) => {
          attempt.addObserver(() => {
            throw error
          })
          return Effect.void
        }),
        Effect.yieldNow()
      )
      const thrower = Effect.runFork(Hedge.hedge(throwing, policy))
      const beside = Effect.runFork(Hedge.hedge(Effect.as(Effect.yieldNow(), "beside"), policy))
      await Effect.runPromise(settled)
      expect(beside.unsafePoll()).toMatchObject({ _tag: "Success", value: "beside" })
      const later = Effect.runFork(Hedge.hedge(Effect.as(Effect.yieldNow(), "later"), policy))
      await Effect.runPromise(settled)
      expect(later.unsafePoll()).toMatchObject({ _tag: "Success", value: "later" })
      thrower.unsafeInterruptAsFork(FiberId.none)
    })
    expect(errors).toStrictEqual([error])
  })

  it("runs each task of a turn once, in order, though some throw", async () => {
    const scheduler = await Effect.runPromise(Hedge.hedge(FiberRef.get(FiberRef.currentScheduler), policy))
    const ran: Array<number> = []
    const errors = await uncaught(async () => {
      for (const index of [0, 1, 2, 3]) {
        scheduler.scheduleTask(() => {
          ran.push(index)
          // none would throw for ever if it were run again
          if (index % 2 === 1 && ran.length < 10) throw index
          if (index === 0) scheduler.scheduleTask(() => ran.push(4), 0)
        }, 0)
      }
      await Effect.runPromise(settled)
    })
    expect(ran).toStrictEqual([0, 1, 2, 3, 4])
    expect(errors).toStrictEqual([1, 3])
  })

  it("is one scheduler for all attempts, and not Effect's own", async () => {
    const scheduler = Hedge.hedge(FiberRef.get(FiberRef.currentScheduler), policy)
    const [one, another] = await Effect.runPromise(Effect.all([scheduler, scheduler]))
    expect(one).toBe(another)
    expect(one).not.toBe(Scheduler.defaultScheduler)
  })

  it("runs tasks with a priority in its order, as Effect's scheduler does", async () => {
    const ofAttempts = await Effect.runPromise(Hedge.hedge(FiberRef.get(FiberRef.currentScheduler), policy))
    for (const scheduler of [Scheduler.defaultScheduler, ofAttempts]) {
      const ran: Array<number> = []
      for (const priority of [5, 1, 3]) scheduler.scheduleTask(() => ran.push(priority), priority)
      await Effect.runPromise(settled)
      expect(ran).toStrictEqual([1, 3, 5])
    }
  })

  it("outlives fake timers that are taken away while it lets the event loop turn", async () => {
    vi.useFakeTimers()
    const endless = Effect.runFork(Hedge.hedge(Effect.forever(Effect.yieldNow()), policy))
    // its turns are microtasks, until it waits for a timer that no one lets ring
    for (let turn = 0; turn < 10_000; turn++) await undefined
    expect(vi.getTimerCount()).toBeGreaterThan(0)
    vi.useRealTimers()
    const later = Effect.runFork(Hedge.hedge(Effect.as(Effect.yieldNow(), "later"), policy))
    await Effect.runPromise(settled)
    expect(later.unsafePoll()).toMatchObject({ _tag: "Success", value: "later" })
    // the turn that it waits for is lost, as it would be without a hedge
    expect(endless.unsafePoll()).toBe(null)
  })
})

describe("a stagger", () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  const call = () =>
    Effect.runFork(
      Hedge.hedgeWith(({ index }) => (index === 1 ? Effect.succeed("hedge") : Effect.never), {
        schedule: HedgeSchedule.fixed("80 millis"),
        throttle: HedgeThrottle.unlimited
      })
    )

  it("ends under fake timers, though those before it were taken away from a call that still waits", async () => {
    vi.useFakeTimers()
    const abandoned = call()
    await vi.advanceTimersByTimeAsync(50)
    vi.useRealTimers()
    vi.useFakeTimers()
    await vi.advanceTimersByTimeAsync(1000)
    const next = call()
    await vi.advanceTimersByTimeAsync(200)
    expect(next.unsafePoll()).toMatchObject({ _tag: "Success", value: "hedge" })
    vi.useRealTimers()
    await Effect.runPromise(Fiber.interrupt(abandoned))
  })

  it("ends in real time, though fake timers were taken away from a call that still waits", async () => {
    vi.useFakeTimers()
    const abandoned = call()
    await vi.advanceTimersByTimeAsync(50)
    vi.useRealTimers()
    expect(await Effect.runPromise(Fiber.join(call()))).toBe("hedge")
    await Effect.runPromise(Fiber.interrupt(abandoned))
  })
})
