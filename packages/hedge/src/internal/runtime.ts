/**
 * Everything that touches fibers and the clock; the event loop's timers are in `loop`. A port to another major version of Effect starts here.
 */
import type { Cause, Fiber } from "effect"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import * as HashMap from "effect/HashMap"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as RuntimeFlagsPatch from "effect/RuntimeFlagsPatch"
import * as Scheduler from "effect/Scheduler"
import { longestTimer, platform } from "./loop.js"
import {
  copyOf,
  type Locals,
  listOf,
  localsOfChild,
  type RefInternals,
  type Shortcut,
  type Stack,
  shortcutFor,
  written
} from "./shortcut.js"

// --- clock ---------------------------------------------------------------------------------------------------------

const liveClock = Context.get(DefaultServices.liveServices, Clock.Clock)

/** Milliseconds that only grow. The live clock's own are those of the wall, which may be set back. */
export const nowMillis = (clock: Clock.Clock): number =>
  clock === liveClock ? platform.performance.now() : clock.unsafeCurrentTimeMillis()

// --- alarm ---------------------------------------------------------------------------------------------------------

const ring = (alarm: Alarm): void => alarm.rung()

/** The one timer of a call, set to the earliest thing that is due. */
export class Alarm {
  private due = Infinity
  private timer: unknown = undefined
  private sleeper: Fiber.RuntimeFiber<void> | undefined = undefined

  constructor(
    private readonly host: Host,
    private readonly target: { readonly onAlarm: () => void }
  ) {}

  set(due: number): void {
    if (due === this.due) return
    this.clear()
    const millis = Math.max(0, due - nowMillis(this.host.clock))
    if (millis > longestTimer) return
    this.due = due
    if (this.host.live) {
      this.timer = platform.setTimeout(ring, millis, this)
      return
    }
    const sleeper = this.host.start(this.host.clock.sleep(Duration.millis(millis)))
    this.sleeper = sleeper
    const onWoken = () => {
      if (this.sleeper === sleeper) this.rung()
    }
    // a clock that does not sleep would ring within the ringing
    if (sleeper.unsafePoll() === null) sleeper.addObserver(onWoken)
    else this.host.yieldTo(onWoken)
  }

  rung(): void {
    this.host.reach(this.due)
    this.due = Infinity
    this.timer = undefined
    this.sleeper = undefined
    this.target.onAlarm()
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
      this.host.interrupt(sleeper)
    }
  }
}

// --- fibers --------------------------------------------------------------------------------------------------------

type AnyFiber = Fiber.RuntimeFiber<unknown, unknown>
type AnyContext = Context.Context<never>
const valueIn = <A>(locals: Locals, ref: FiberRef.FiberRef<A>): A =>
  locals.get(ref)?.[0][1] ?? (ref as unknown as RefInternals).initial

const write = <A>(locals: Locals, ref: FiberRef.FiberRef<A>, author: FiberId.Single, value: A): void => {
  locals.set(ref, written(locals.get(ref), author, value))
}

type Task = () => void

const mostDrains = 2048
const resolved = Promise.resolve()

/**
 * What Effect's default scheduler does, for all attempts together: it runs tasks as a promise's callback, and lets the event loop turn after 2,048 in
 * a row. The default one keeps a runner for each fiber in a WeakMap, whose keys outlive the next collections of young objects with all that hangs on
 * them, and several arrays and closures for each task (`npm run bench`, rows "unhedged call").
 */
class AttemptScheduler implements Scheduler.Scheduler {
  private tasks: Array<Task> | undefined = undefined
  private draining = false
  private drains = 0

  shouldYield(fiber: AnyFiber): number | false {
    return Scheduler.defaultScheduler.shouldYield(fiber)
  }

  scheduleTask(task: Task, priority: number, fiber?: AnyFiber): void {
    if (priority !== 0) Scheduler.defaultScheduler.scheduleTask(task, priority, fiber)
    else if (this.tasks !== undefined) this.tasks.push(task)
    else {
      this.tasks = listOf(task)
      if (!this.draining) this.drainSoon()
    }
  }

  private drainSoon(): void {
    if (this.drains < mostDrains) {
      this.draining = true
      void resolved.then(this.drain)
      return
    }
    // nothing but these tasks waits for the timer: if it never rings, because it was a fake, later ones run all the same
    const tasks = this.tasks!
    this.rest()
    platform.setTimeout(this.resume, 0, tasks)
  }

  private rest(): void {
    this.tasks = undefined
    this.draining = false
    this.drains = 0
  }

  private readonly drain = (): void => {
    const tasks = this.tasks!
    this.tasks = undefined
    this.drains += 1
    let next = 0
    try {
      while (next < tasks.length) tasks[next++]!()
    } finally {
      // a task that throws, as an observer of a fiber may, stops no other
      if (next < tasks.length) this.tasks = [...tasks.slice(next), ...(this.tasks ?? [])]
      if (this.tasks === undefined) this.rest()
      else this.drainSoon()
    }
  }

  private readonly resume = (tasks: ReadonlyArray<Task>): void => {
    for (const task of tasks) this.scheduleTask(task, 0)
  }
}

const attemptScheduler = new AttemptScheduler()
const schedulerOfAttempts = written(undefined, FiberId.none, attemptScheduler)

/** The log annotation of attempts 1, 2, … */
const attemptAnnotation = "hedge.attempt"

let callers: RuntimeFlags.RuntimeFlags | undefined
let ofFibers = RuntimeFlags.none

/** The flags of a call's own fibers. Callers nearly always have the same, so the last answer is kept. */
const flagsOfFibers = (flags: RuntimeFlags.RuntimeFlags): RuntimeFlags.RuntimeFlags => {
  if (flags !== callers) {
    callers = flags
    ofFibers = RuntimeFlags.enable(
      RuntimeFlags.disable(flags, RuntimeFlags.WindDown),
      RuntimeFlags.Interruption
    )
  }
  return ofFibers
}

let depth = 0
const deepest = 16

/**
 * The fiber that asked for a call, as it was then: what a call's own fibers start from.
 *
 * They are nobody's children, and interruptible even if the caller is not (R7).
 */
export class Host {
  readonly context: AnyContext
  readonly clock: Clock.Clock
  /** Whether timers may be the platform's (R10). */
  readonly live: boolean
  readonly interruptible: boolean
  /** The FiberRefs that a fiber starts from which adds nothing to them. */
  readonly refs: FiberRefs.FiberRefs
  private reached = Number.NEGATIVE_INFINITY
  private readonly flags: RuntimeFlags.RuntimeFlags
  private readonly shortcut: Shortcut | undefined

  constructor(
    readonly fiber: AnyFiber,
    flags: RuntimeFlags.RuntimeFlags
  ) {
    this.context = fiber.currentContext
    this.clock = Context.unsafeGet(fiber.currentDefaultServices, Clock.Clock)
    this.live = this.clock === liveClock
    this.interruptible = RuntimeFlags.interruptible(flags)
    this.flags = flagsOfFibers(flags)
    this.shortcut = shortcutFor(fiber)
    this.refs = this.shortcut === undefined ? fiber.getFiberRefs() : this.shortcut.refsOf(fiber)
  }

  /** The time of a call. When an alarm has rung, what it was set to has come, even if a clock's rounding says that it has not quite. */
  now(): number {
    return Math.max(this.reached, nowMillis(this.clock))
  }

  reach(time: number): void {
    this.reached = time
  }

  /** Starts a fiber, which runs at once up to its first wait, unless fibers start one another too deeply. */
  start<A, E>(effect: Effect.Effect<A, E>): Fiber.RuntimeFiber<A, E> {
    const id = FiberId.unsafeMake()
    return this.run(effect, id, this.localsOf(id))
  }

  /**
   * Starts the fiber of an attempt, with its context and, for a hedge, its number as a log annotation. Both count as written by the caller, so
   * that the attempt does not hand them on. (`Effect.annotateLogs` or `provideService` would put a region around the attempt, at whose end an
   * interruption swallows a late success.)
   */
  startAttempt<A, E>(
    effect: Effect.Effect<A, E>,
    context: AnyContext,
    index: number
  ): Fiber.RuntimeFiber<A, E> {
    const author = this.fiber.id()
    const id = FiberId.unsafeMake()
    const locals = this.localsOf(id)
    write(locals, FiberRef.currentContext, author, context)
    if (valueIn(locals, FiberRef.currentScheduler) === Scheduler.defaultScheduler) {
      locals.set(FiberRef.currentScheduler, schedulerOfAttempts)
    }
    if (index > 0) {
      const annotations = valueIn(locals, FiberRef.currentLogAnnotations)
      const own = HashMap.set(annotations, attemptAnnotation, index)
      write(locals, FiberRef.currentLogAnnotations, author, own)
    }
    return this.run(effect, id, locals)
  }

  /** `Runtime.runFork` forks them itself. */
  private localsOf(child: FiberId.Runtime): Locals {
    const { locals } = this.refs
    return this.shortcut === undefined ? copyOf(locals) : localsOfChild(locals, child)
  }

  private run<A, E>(
    effect: Effect.Effect<A, E>,
    id: FiberId.Runtime,
    locals: Locals
  ): Fiber.RuntimeFiber<A, E> {
    const { flags, shortcut } = this
    const fiberRefs = FiberRefs.unsafeMake(locals)
    const immediate = depth < deepest
    depth += 1
    try {
      if (shortcut !== undefined) return shortcut.start(effect, id, fiberRefs, flags, immediate)
      const context = FiberRefs.getOrDefault(fiberRefs, FiberRef.currentContext)
      const runtime = Runtime.make({ context, runtimeFlags: flags, fiberRefs })
      return Runtime.runFork(runtime, effect, { immediate })
    } finally {
      depth -= 1
    }
  }

  interrupt(fiber: AnyFiber): void {
    fiber.unsafeInterruptAsFork(this.fiber.id())
  }

  /** Whether somebody has asked for the caller's own interruption. */
  get isInterrupted(): boolean {
    return this.fiber.getFiberRef(FiberRef.interruptedCause)._tag !== "Empty"
  }

  /** What an attempt leaves in its caller: its FiberRefs, if it wrote one that is handed on; never what the engine gave it. */
  writtenRefs(fiber: AnyFiber): FiberRefs.FiberRefs | undefined {
    const after = this.shortcut === undefined ? fiber.getFiberRefs() : this.shortcut.refsOf(fiber)
    let written = false
    after.locals.forEach((stack, ref) => {
      if (!written && this.isHandedOn(ref, stack)) written = true
    })
    if (!written) return undefined
    const context = FiberRefs.delete(after, FiberRef.currentContext)
    const own =
      valueIn(after.locals as Locals, FiberRef.currentScheduler) === attemptScheduler
        ? FiberRefs.delete(context, FiberRef.currentScheduler)
        : context
    const annotations = FiberRefs.getOrDefault(after, FiberRef.currentLogAnnotations)
    return FiberRefs.updateAs(own, {
      fiberId: fiber.id(),
      fiberRef: FiberRef.currentLogAnnotations,
      value: this.withoutAttempt(annotations)
    })
  }

  private isHandedOn(ref: FiberRef.FiberRef<any>, stack: Stack): boolean {
    if (ref === FiberRef.currentContext || ref === FiberRef.currentRuntimeFlags) return false
    const callers = this.refs.locals.get(ref)
    const { initial, join } = ref as unknown as RefInternals
    if (stack === callers) return false
    const [author, value] = stack[0]
    if (author === this.fiber.id() || value === attemptScheduler) return false
    // what the caller never had it gets, even if the join makes its initial value of it: from then on it is forked
    if (callers === undefined) return !Equal.equals(value, initial)
    // not written over what the caller has, but after a deletion: that is for Effect to join
    if (stack[1] !== callers[0]) return true
    const before = callers[0][1]
    return !Equal.equals(join(before, value), before)
  }

  /** An attempt's annotations as its caller would have them. */
  private withoutAttempt(annotations: HashMap.HashMap<string, unknown>): HashMap.HashMap<string, unknown> {
    const before = HashMap.get(
      FiberRefs.getOrDefault(this.refs, FiberRef.currentLogAnnotations),
      attemptAnnotation
    )
    return before._tag === "Some"
      ? HashMap.set(annotations, attemptAnnotation, before.value)
      : HashMap.remove(annotations, attemptAnnotation)
  }

  /** Runs `f` in a later turn of the caller's scheduler. */
  yieldTo(f: () => void): void {
    const { fiber } = this
    fiber.currentScheduler.scheduleTask(f, fiber.getFiberRef(FiberRef.currentSchedulingPriority))
  }
}

const uninterruptibly = /*#__PURE__*/ Effect.withRuntimeFlagsPatch(
  /*#__PURE__*/ RuntimeFlagsPatch.disable(RuntimeFlags.Interruption)
)
const interruptibly = /*#__PURE__*/ Effect.withRuntimeFlagsPatch(
  /*#__PURE__*/ RuntimeFlagsPatch.enable(RuntimeFlags.Interruption)
)

/**
 * Waits interruptibly for `wait`, then runs a handler that cannot be interrupted: one of the two always runs. At a third of the cost of the
 * canceler of `Effect.async` (`npm run bench`, row "unhedged call").
 */
export const guardedWait = <A>(
  wait: Effect.Effect<void>,
  onSuccess: () => Effect.Effect<A, unknown>,
  onFailure: (cause: Cause.Cause<unknown>) => Effect.Effect<A, unknown>
): Effect.Effect<A, unknown> =>
  uninterruptibly(Effect.matchCauseEffect(interruptibly(wait), new Handlers(onSuccess, onFailure)))

class Handlers<A> {
  constructor(
    readonly onSuccess: () => Effect.Effect<A, unknown>,
    readonly onFailure: (cause: Cause.Cause<unknown>) => Effect.Effect<A, unknown>
  ) {}
}

/** The exit of a fiber that ran `Effect.exit(effect)`: an attempt's own exit, or the interruption that ended it. */
export const flatExit = <A, E>(exit: Exit.Exit<Exit.Exit<A, E>>): Exit.Exit<A, E> =>
  exit._tag === "Success" ? exit.value : Exit.failCause(exit.cause)
