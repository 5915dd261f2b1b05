import { describe, expect, it } from "@effect/vitest"
import {
  Cause,
  Effect,
  Exit,
  Fiber,
  FiberId,
  FastCheck as fc,
  RuntimeFlags,
  RuntimeFlagsPatch,
  Schedule,
  Scheduler,
  Supervisor
} from "effect"
import { Hedge, HedgeAttempt, HedgeOutcome, HedgeSchedule, HedgeThrottle } from "effect-hedge"

/*
 * Calls of random attempts, whose time is turns of a scheduler, interrupted at each turn there is. Whatever the turn: no attempt is left, no
 * success is lost or kept twice, every finalizer and every release has run once, and nothing starts after the interruption.
 */

/** An attempt: so many turns, then an end; it may be uninterruptible from some turn on, and take turns to unwind. */
interface Course {
  readonly turns: number
  readonly end: "succeed" | "poor" | "fail" | "die" | "interrupt" | "never"
  readonly unwind: number
  readonly stubborn: boolean
}

interface Plan {
  readonly courses: ReadonlyArray<Course>
  readonly schedule: keyof typeof schedules
  readonly scoped: boolean
  /** Attempts run without fibers. One that takes turns to unwind wants one; one that is stubborn answers when it is cancelled. */
  readonly fiberless: boolean
  readonly awaitLosers: boolean
  readonly uninterruptible: boolean
  /** Fibers under a supervisor are started another way. */
  readonly supervised: boolean
  readonly discardTurns: number
  readonly refusals: number
}

const turns = (count: number): Effect.Effect<void> =>
  count === 0
    ? Effect.void
    : Effect.zipRight(
        Effect.yieldNow(),
        Effect.suspend(() => turns(count - 1))
      )

type AnySchedule = Schedule.Schedule<unknown, HedgeSchedule.HedgeState>

const schedules = {
  parallel: () => HedgeSchedule.parallel,
  onFailure: () => HedgeSchedule.onFailure,
  forever: () => Schedule.forever,
  limited: () => Schedule.recurs(2),
  slow: () => Schedule.addDelayEffect(Schedule.forever, () => Effect.as(turns(3), 0)),
  stuck: () => Schedule.addDelayEffect(Schedule.forever, () => Effect.never),
  dying: () =>
    Schedule.addDelayEffect(Schedule.forever, (n) => (n === 0 ? Effect.succeed(0) : Effect.die("schedule")))
}

const plans: fc.Arbitrary<Plan> = fc.record({
  courses: fc.array(
    fc.record({
      turns: fc.nat(4),
      end: fc.constantFrom("succeed", "succeed", "poor", "fail", "fail", "die", "interrupt", "never"),
      unwind: fc.nat(2),
      stubborn: fc.boolean()
    }),
    { minLength: 2, maxLength: 4 }
  ),
  schedule: fc.constantFrom(...(Object.keys(schedules) as ReadonlyArray<keyof typeof schedules>)),
  scoped: fc.boolean(),
  fiberless: fc.boolean(),
  awaitLosers: fc.boolean(),
  uninterruptible: fc.boolean(),
  supervised: fc.boolean(),
  discardTurns: fc.nat(2),
  refusals: fc.nat(2)
})

const noInterruption = Effect.patchRuntimeFlags(RuntimeFlagsPatch.disable(RuntimeFlags.Interruption))

/** Watches fibers, and does nothing about them. */
const watching = Supervisor.fromEffect(Effect.void)

/** What has happened in one run of a plan. */
class Ledger {
  started = 0
  ended = 0
  opened = 0
  closed = 0
  readonly produced: Array<number> = []
  readonly discarded: Array<number> = []
  readonly taken: Array<number> = []
}

const endingOf = (plan: Plan, ledger: Ledger, index: number): Effect.Effect<number, string> =>
  Effect.suspend((): Effect.Effect<number, string> => {
    const { end } = plan.courses[index]!
    ledger.ended += 1
    if (end === "fail") return Effect.fail("fail")
    if (end === "die") return Effect.die("die")
    if (end === "interrupt") return Effect.interrupt
    // a poor success is an odd number
    const value = index * 2 + (end === "poor" ? 1 : 0)
    ledger.produced.push(value)
    return Effect.succeed(value)
  })

const attemptOf = (plan: Plan, ledger: Ledger): Effect.Effect<number, string> =>
  Effect.suspend(() => {
    const index = ledger.started++
    const { end, stubborn, unwind, turns: count } = plan.courses[index]!
    const wait = end === "never" ? Effect.never : turns(count)
    const ending = endingOf(plan, ledger, index)
    if (stubborn && end !== "never") return Effect.zipRight(noInterruption, Effect.zipRight(wait, ending))
    const unwound = Effect.zipRight(
      turns(unwind),
      Effect.sync(() => {
        ledger.ended += 1
      })
    )
    return Effect.zipRight(
      Effect.onInterrupt(wait, () => unwound),
      ending
    )
  })

class Fiberless extends HedgeAttempt.Fiberless<number, string> {
  constructor(
    private readonly plan: Plan,
    private readonly ledger: Ledger
  ) {
    super()
  }

  override launch(...[, caller, resume]: HedgeAttempt.LaunchArguments<number, string>) {
    const { ledger, plan } = this
    const { end, stubborn, unwind, turns: count } = plan.courses[ledger.started]!
    if (unwind > 0) return undefined
    const ending = endingOf(plan, ledger, ledger.started++)
    let cancelled = false
    const turn = (left: number): void => {
      if (cancelled) return
      if (left === 0) resume(Effect.runSyncExit(ending))
      else caller.currentScheduler.scheduleTask(() => turn(left - 1), 0)
    }
    if (end !== "never") turn(count)
    return {
      cancel: () => {
        cancelled = true
        if (stubborn && end !== "never") resume(Effect.runSyncExit(ending))
        else ledger.ended += 1
      }
    }
  }

  override commit(): Effect.Effect<number, string> {
    return attemptOf(this.plan, this.ledger)
  }
}

const callOf = (plan: Plan, ledger: Ledger): Effect.Effect<void, string> => {
  let refusals = plan.refusals
  const options = {
    schedule: schedules[plan.schedule]() as AnySchedule,
    maxAttempts: plan.courses.length,
    awaitLosers: plan.awaitLosers,
    throttle: HedgeThrottle.make({
      name: "at times",
      refusedBy: () => (refusals-- > 0 ? "at times" : undefined),
      take: () => {}
    }),
    classify: (exit: Exit.Exit<number, string>) =>
      Exit.isSuccess(exit) && exit.value % 2 === 1 ? HedgeOutcome.nonFatal() : HedgeOutcome.fromExit(exit),
    onDiscard: (value: number) =>
      Effect.zipRight(
        turns(plan.discardTurns),
        Effect.sync(() => ledger.discarded.push(value))
      )
  }
  const attempt = plan.fiberless ? new Fiberless(plan, ledger) : attemptOf(plan, ledger)
  const resource = Effect.acquireRelease(
    Effect.sync(() => {
      ledger.opened += 1
    }),
    () =>
      Effect.sync(() => {
        ledger.closed += 1
      })
  )
  const opening = Effect.zipRight(resource, attempt)
  const take = (value: number) => Effect.sync(() => void ledger.taken.push(value))
  const taken = plan.scoped
    ? Effect.scoped(Effect.flatMap(Hedge.hedgeScoped(opening, options), take))
    : Effect.flatMap(Hedge.hedge(attempt, options), take)
  const supervised = plan.supervised ? Effect.supervised(taken, watching) : taken
  return plan.uninterruptible ? Effect.uninterruptible(supervised) : supervised
}

/** Runs a plan, interrupting the caller after so many turns; how many turns there were until then. */
const runInterrupted = (plan: Plan, at: number) => {
  const ledger = new Ledger()
  const scheduler = new Scheduler.ControlledScheduler()
  const busy = () => scheduler.tasks.buckets.length > 0
  const before = new Set(Fiber.unsafeRoots())
  const fiber = Effect.runFork(callOf(plan, ledger), { scheduler })
  let turn = 0
  for (; turn < at && busy(); turn++) scheduler.step()
  fiber.unsafeInterruptAsFork(FiberId.none)
  // the caller learns of it in this turn, after what was due before it
  if (busy()) scheduler.step()
  const startedBefore = ledger.started
  for (let left = 2000; left > 0 && busy(); left--) scheduler.step()
  const left = Fiber.unsafeRoots().filter((root) => !before.has(root))
  return { ledger, exit: fiber.unsafePoll(), turn, startedBefore, left }
}

const check = (plan: Plan, at: number): boolean => {
  const { ledger, exit, turn, startedBefore, left } = runInterrupted(plan, at)
  const hangs = plan.uninterruptible && exit === null
  // an uninterruptible caller may wait for an attempt that never answers, or for a schedule
  if (hangs) {
    for (const root of left) root.unsafeInterruptAsFork(FiberId.none)
    expect(plan.schedule === "stuck" || plan.courses.some(({ end }) => end === "never")).toBe(true)
    return turn < at
  }
  expect(exit).not.toBe(null)
  expect(left).toStrictEqual([])
  expect(ledger.ended).toBe(ledger.started)
  expect(ledger.closed).toBe(ledger.opened)
  expect(ledger.taken.length).toBeLessThanOrEqual(1)
  expect([...ledger.taken, ...ledger.discarded].sort()).toStrictEqual([...ledger.produced].sort())
  if (!plan.uninterruptible) expect(ledger.started).toBe(startedBefore)
  if (exit !== null && Exit.isFailure(exit) && ledger.taken.length === 0 && !plan.uninterruptible) {
    // nothing but the caller's own interruption, or what the call had ended with before
    const { cause } = exit
    expect(Cause.isInterrupted(cause) || Cause.isDie(cause) || Cause.isFailure(cause)).toBe(true)
  }
  return turn < at
}

const assert = (property: fc.IProperty<[Plan]>): void => {
  void fc.assert(property, { numRuns: 500 })
}

describe("a call interrupted at any turn", () => {
  it("accounts for every attempt, success, finalizer and release, and starts nothing more", () => {
    assert(
      fc.property(plans, (plan) => {
        for (let at = 0; !check(plan, at); at++) {}
      })
    )
  })

  it("accounts for them when nobody interrupts it, too", () => {
    assert(
      fc.property(plans, (plan) => {
        fc.pre(plan.courses.every(({ end }) => end !== "never"))
        fc.pre(plan.schedule !== "stuck")
        check(plan, 10_000)
      })
    )
  })
})
