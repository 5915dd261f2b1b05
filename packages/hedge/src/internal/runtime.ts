/**
 * Everything that touches fibers, timers and the clock. A port to another major version of Effect starts here.
 */
import {
  type Cause,
  Clock,
  Context,
  DefaultServices,
  Duration,
  Effect,
  Exit,
  type Fiber,
  FiberRef,
  FiberRefs,
  Runtime,
  RuntimeFlags,
  RuntimeFlagsPatch
} from "effect"

export type Caller = Fiber.RuntimeFiber<unknown, unknown>

/** What the platform may offer; read at each use, so that a test may replace it. */
interface Platform {
  readonly setTimeout: <A>(f: (a: A) => void, millis: number, a: A) => unknown
  readonly clearTimeout: (handle: unknown) => void
  readonly setImmediate?: <A>(f: (a: A) => void, a: A) => unknown
  readonly performance: { readonly now: () => number }
}

const platform = globalThis as unknown as Platform

// --- clock ---------------------------------------------------------------------------------------------------------

const liveClock = Context.get(DefaultServices.liveServices, Clock.Clock)

export const clockOf = (fiber: Caller): Clock.Clock =>
  Context.unsafeGet(fiber.currentDefaultServices, Clock.Clock)

export const isLive = (clock: Clock.Clock): boolean => clock === liveClock

/** Milliseconds that only grow. The live clock's own are those of the wall, which may be set back. */
export const nowMillis = (clock: Clock.Clock): number =>
  clock === liveClock ? platform.performance.now() : clock.unsafeCurrentTimeMillis()

// --- alarm ---------------------------------------------------------------------------------------------------------

/** No timer can be set for longer: the platform's would fire at once. */
const longestTimer = 2 ** 31 - 1

/** A live timer may ring up to a millisecond early; waiting for the rest would cost another one. */
export const timerSlack = (clock: Clock.Clock): number => (clock === liveClock ? 1 : 0)

const ring = (alarm: Alarm): void => alarm.rung()

/** The one timer of a call, set to the earliest thing that is due. */
export class Alarm {
  private due = Infinity
  private timer: unknown = undefined
  private sleeper: Fiber.RuntimeFiber<void> | undefined = undefined

  constructor(
    private readonly clock: Clock.Clock,
    private readonly caller: Caller,
    private readonly onRing: () => void
  ) {}

  set(due: number, now: number): void {
    if (due === this.due) return
    this.clear()
    const millis = due - now
    if (millis > longestTimer) return
    this.due = due
    if (this.clock === liveClock) {
      this.timer = platform.setTimeout(ring, Math.max(0, millis), this)
      return
    }
    const sleeper = startFiber(
      this.caller,
      this.caller.currentContext,
      RuntimeFlags.make(RuntimeFlags.Interruption, RuntimeFlags.CooperativeYielding),
      this.clock.sleep(Duration.millis(Math.max(0, millis)))
    )
    this.sleeper = sleeper
    sleeper.addObserver(() => {
      if (this.sleeper === sleeper) this.rung()
    })
  }

  rung(): void {
    this.due = Infinity
    this.timer = undefined
    this.sleeper = undefined
    this.onRing()
  }

  clear(): void {
    this.due = Infinity
    if (this.timer !== undefined) {
      platform.clearTimeout(this.timer)
      this.timer = undefined
    }
    if (this.sleeper !== undefined) {
      const sleeper = this.sleeper
      this.sleeper = undefined
      sleeper.unsafeInterruptAsFork(this.caller.id())
    }
  }
}

// --- the event loop's lateness (R11) ---------------------------------------------------------------------------------

const beatMillis = 5
const toleratedMillis = 3

/**
 * Sums the time in which the event loop was stuck, so that nobody could have seen an answer. A beat every 5 ms is shared by all who
 * watch; what it is late by beyond 3 ms counts. A timer's own lateness says nothing: the loop may have been stuck in between.
 */
class LoopMeter {
  private watchers = 0
  private stuck = 0
  private expected = 0
  private timer: unknown = undefined

  watch(): void {
    this.watchers += 1
    if (this.watchers === 1) this.expect()
  }

  unwatch(): void {
    this.watchers -= 1
    if (this.watchers === 0) platform.clearTimeout(this.timer)
  }

  /** Grows while somebody watches; the beat that is due now is counted as far as it is late. */
  stuckMillis(now: number): number {
    return this.stuck + Math.max(0, now - this.expected - toleratedMillis)
  }

  private readonly beat = (): void => {
    this.stuck = this.stuckMillis(platform.performance.now())
    this.expect()
  }

  private expect(): void {
    this.expected = platform.performance.now() + beatMillis
    this.timer = platform.setTimeout(this.beat, beatMillis, undefined)
  }
}

export const loopMeter = new LoopMeter()

/** Runs `f` after the input that is already waiting has been read. */
export const afterPendingInput = <A>(f: (a: A) => void, a: A): void => {
  if (platform.setImmediate === undefined) platform.setTimeout(f, 0, a)
  else platform.setImmediate(f, a)
}

// --- fibers --------------------------------------------------------------------------------------------------------

const noInterruption = RuntimeFlagsPatch.disable(RuntimeFlags.Interruption)
const interruption = RuntimeFlagsPatch.enable(RuntimeFlags.Interruption)

export const isInterruptible = (flags: RuntimeFlags.RuntimeFlags): boolean =>
  RuntimeFlags.interruptible(flags)

/** The flags of an attempt: the caller's, but interruptible. */
export const attemptFlags = (flags: RuntimeFlags.RuntimeFlags): RuntimeFlags.RuntimeFlags =>
  RuntimeFlags.enable(RuntimeFlags.disable(flags, RuntimeFlags.WindDown), RuntimeFlags.Interruption)

/**
 * Waits interruptibly for `wait`, then runs a handler that cannot be interrupted: one of the two always runs. At a third of the cost of the
 * canceler of `Effect.async` (`npm run bench`, row "unhedged call").
 */
export const guardedWait = <A>(
  wait: Effect.Effect<void>,
  onSettled: () => Effect.Effect<A, unknown>,
  onInterrupted: (cause: Cause.Cause<unknown>) => Effect.Effect<A, unknown>
): Effect.Effect<A, unknown> =>
  Effect.withRuntimeFlagsPatch(
    Effect.matchCauseEffect(Effect.withRuntimeFlagsPatch(wait, interruption), {
      onFailure: onInterrupted,
      onSuccess: onSettled
    }),
    noInterruption
  )

let depth = 0

/** A fiber that is nobody's child. It runs at once, up to its first wait, unless fibers are being started within fibers too deeply. */
export const startFiber = <A, E>(
  caller: Caller,
  context: Context.Context<never>,
  flags: RuntimeFlags.RuntimeFlags,
  effect: Effect.Effect<A, E, never>
): Fiber.RuntimeFiber<A, E> => {
  const runtime = Runtime.make({ context, runtimeFlags: flags, fiberRefs: caller.getFiberRefs() })
  if (depth >= 16) return Runtime.runFork(runtime, effect, { immediate: false })
  depth += 1
  try {
    return Runtime.runFork(runtime, effect)
  } finally {
    depth -= 1
  }
}

/** What `fiber` would leave in its parent: its FiberRefs, if one was written; never its context, which is scoped. */
export const writtenRefs = (caller: Caller, fiber: Caller): FiberRefs.FiberRefs | undefined => {
  const before = caller.getFiberRefs().locals
  const after = fiber.getFiberRefs()
  for (const [ref, stack] of after.locals) {
    if (ref === FiberRef.currentContext || ref === FiberRef.currentRuntimeFlags) continue
    if (before.get(ref) !== stack) return FiberRefs.delete(after, FiberRef.currentContext)
  }
  return undefined
}

/** Whether somebody has asked for this fiber's interruption. */
export const isInterrupted = (fiber: Caller): boolean =>
  fiber.getFiberRef(FiberRef.interruptedCause)._tag !== "Empty"

/** Runs `f` in a later turn of the fiber's scheduler. */
export const yieldTo = (fiber: Caller, f: () => void): void => {
  fiber.currentScheduler.scheduleTask(f, fiber.getFiberRef(FiberRef.currentSchedulingPriority))
}

/** The exit of a fiber that ran `Effect.exit(effect)`: an attempt's own exit, or the interruption that ended it. */
export const flatExit = <A, E>(exit: Exit.Exit<Exit.Exit<A, E>>): Exit.Exit<A, E> =>
  exit._tag === "Success" ? exit.value : Exit.failCause(exit.cause)
