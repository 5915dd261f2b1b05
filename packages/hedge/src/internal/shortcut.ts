/**
 * A shorter way to a new fiber than `Runtime.runFork`, which copies the FiberRefs twice and forks each of them. It reaches into the class of
 * Effect's fibers, so it is tried out once before it is used; where it does not work, or a supervisor wants to know of every fiber, the public way
 * is taken. It makes an unhedged call about a third cheaper (`npm run bench`, rows "unhedged call").
 *
 * `Fiber.roots` does not list fibers that were started so: to be put into that set and taken out again is what a fiber pays for that nobody
 * waits for, and the set's tables, once they are old, keep what was in them.
 */
import { Effect, type Exit, type Fiber, FiberId, FiberRefs, RuntimeFlags, Supervisor } from "effect"
import { identity } from "effect/Function"

type AnyFiber = Fiber.RuntimeFiber<unknown, unknown>

/** What fibers of Effect 3 have beyond their public type. */
interface Internals extends Fiber.RuntimeFiber<any, any> {
  readonly _fiberRefs: FiberRefs.FiberRefs
  readonly start: (effect: Effect.Effect<unknown, unknown>) => void
  readonly resume: (effect: Effect.Effect<unknown, unknown>) => void
}

type FiberClass = new (
  id: FiberId.Runtime,
  refs: FiberRefs.FiberRefs,
  flags: RuntimeFlags.RuntimeFlags
) => Internals

/** Whether a child starts with the very value of its parent. A patch that is empty has the tag `Empty`, or, of runtime flags, is 0. */
const forksToItself = (fork: unknown): boolean =>
  fork === identity ||
  fork === 0 ||
  (typeof fork === "object" && fork !== null && "_tag" in fork && fork._tag === "Empty")

export class Shortcut {
  constructor(readonly fiberClass: FiberClass) {}

  refsOf(fiber: AnyFiber): FiberRefs.FiberRefs {
    return (fiber as Internals)._fiberRefs
  }

  start<A, E>(
    effect: Effect.Effect<A, E>,
    refs: FiberRefs.FiberRefs,
    flags: RuntimeFlags.RuntimeFlags,
    immediate: boolean
  ): Fiber.RuntimeFiber<A, E> {
    const id = FiberId.unsafeMake()
    const fiber = new this.fiberClass(id, forked(refs, id), flags)
    if (immediate) fiber.start(effect)
    else fiber.resume(effect)
    return fiber
  }
}

/** What a child starts with: in nearly all cases what its parent has, which is not copied then. */
const forked = (refs: FiberRefs.FiberRefs, child: FiberId.Runtime): FiberRefs.FiberRefs => {
  for (const ref of refs.locals.keys()) {
    if (!forksToItself((ref as { readonly fork?: unknown }).fork)) return FiberRefs.forkAs(refs, child)
  }
  return refs
}

/** Starts a fiber the short way and sees whether it does what it should. */
const tryOut = (fiber: AnyFiber): Shortcut | undefined => {
  try {
    const shortcut = new Shortcut(fiber.constructor as FiberClass)
    const flags = RuntimeFlags.make(RuntimeFlags.Interruption, RuntimeFlags.CooperativeYielding)
    const answer = Effect.map(Effect.fiberId, () => shortcut)
    const exit: Exit.Exit<unknown> | null = shortcut
      .start(answer, shortcut.refsOf(fiber), flags, true)
      .unsafePoll()
    return exit?._tag === "Success" && exit.value === shortcut ? shortcut : undefined
  } catch {
    return undefined
  }
}

let shortcut: Shortcut | undefined
let tried = false
let allowed = true

/** The shortcut, if it works for this fiber. */
export const shortcutFor = (fiber: AnyFiber): Shortcut | undefined => {
  if (!tried) {
    tried = true
    shortcut = tryOut(fiber)
  }
  const usable =
    allowed && shortcut?.fiberClass === fiber.constructor && fiber.currentSupervisor === Supervisor.none
  return usable ? shortcut : undefined
}

/** For tests, which hold the public way and the shortcut to the same rules. */
export const allowShortcut = (allow: boolean): void => {
  allowed = allow
}
