/**
 * A shorter way to a new fiber than `Runtime.runFork`, which copies the FiberRefs twice and forks each of them. It reaches into the class of
 * Effect's fibers, so it is tried out once before it is used; where it does not work, or a supervisor wants to know of every fiber, the public way
 * is taken. It makes an unhedged call about a third cheaper (`npm run bench`, rows "unhedged call").
 *
 * `Fiber.roots` does not list fibers that were started so: to be put into that set and taken out again is what a fiber pays for that nobody
 * waits for, and the set's tables, once they are old, keep what was in them.
 */
import {
  Effect,
  Equal,
  type Exit,
  type Fiber,
  FiberId,
  type FiberRef,
  FiberRefs,
  RuntimeFlags,
  Supervisor
} from "effect"
import { identity } from "effect/Function"

type AnyFiber = Fiber.RuntimeFiber<unknown, unknown>

/** What fibers of Effect 3 have beyond their public type. */
interface Internals extends Fiber.RuntimeFiber<any, any> {
  readonly _fiberRefs: FiberRefs.FiberRefs
  readonly start: (effect: Effect.Effect<unknown, unknown>) => void
  readonly resume: (effect: Effect.Effect<unknown, unknown>) => void
}

/** The values that a fiber has of FiberRefs, each with who wrote it, the latest first. */
export type Stack = readonly [readonly [FiberId.Single, any], ...Array<readonly [FiberId.Single, any]>]
export type Locals = Map<FiberRef.FiberRef<any>, Stack>

type FiberClass = new (
  id: FiberId.Runtime,
  refs: FiberRefs.FiberRefs,
  flags: RuntimeFlags.RuntimeFlags
) => Internals

/** What FiberRefs have beyond their public type. A patch that is empty has the tag `Empty`, or, of runtime flags, is 0. */
interface Forking {
  readonly fork?: unknown
  readonly patch?: (patch: unknown) => (value: unknown) => unknown
}

/** Whether a child starts with the very value of its parent. */
const forksToItself = ({ fork, patch }: Forking, value: unknown): boolean =>
  fork === identity ||
  fork === 0 ||
  (typeof fork === "object" && fork !== null && "_tag" in fork && fork._tag === "Empty") ||
  (patch !== undefined && Equal.equals(patch(fork)(value), value))

export class Shortcut {
  constructor(readonly fiberClass: FiberClass) {}

  refsOf(fiber: AnyFiber): FiberRefs.FiberRefs {
    return (fiber as Internals)._fiberRefs
  }

  start<A, E>(
    effect: Effect.Effect<A, E>,
    refs: FiberRefs.FiberRefs,
    writeTo: ((locals: Locals) => void) | undefined,
    flags: RuntimeFlags.RuntimeFlags,
    immediate: boolean
  ): Fiber.RuntimeFiber<A, E> {
    const id = FiberId.unsafeMake()
    const fiber = new this.fiberClass(id, refsOfChild(refs, id, writeTo), flags)
    if (immediate) fiber.start(effect)
    else fiber.resume(effect)
    return fiber
  }
}

/** What a child starts with: mostly what its parent has, which is not copied unless something is written. */
const refsOfChild = (
  refs: FiberRefs.FiberRefs,
  child: FiberId.Runtime,
  writeTo: ((locals: Locals) => void) | undefined
): FiberRefs.FiberRefs => {
  const forked = forkedBy(refs, child)
  if (writeTo === undefined) return forked
  const locals: Locals = forked === refs ? new Map(refs.locals) : forked.locals
  writeTo(locals)
  return FiberRefs.unsafeMake(locals)
}

const forkedBy = (refs: FiberRefs.FiberRefs, child: FiberId.Runtime): FiberRefs.FiberRefs => {
  for (const [ref, [[, value]]] of refs.locals) {
    if (!forksToItself(ref as Forking, value)) return FiberRefs.forkAs(refs, child)
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
      .start(answer, shortcut.refsOf(fiber), undefined, flags, true)
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
