/**
 * A shorter way to a new fiber than `Runtime.runFork`, which copies the FiberRefs twice and forks each of them. It reaches into the class of
 * Effect's fibers, so it is tried out once before it is used; where it does not work, or a supervisor wants to know of every fiber, the public way
 * is taken. It makes an unhedged call about a third cheaper (`npm run bench`, rows "unhedged call").
 *
 * `Fiber.roots` does not list fibers that were started so: to be put into that set and taken out again is what a fiber pays for that nobody
 * waits for, and the set's tables, once they are old, keep what was in them.
 */
import type { Exit, Fiber } from "effect"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import type * as FiberRefs from "effect/FiberRefs"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as Supervisor from "effect/Supervisor"

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

/**
 * An array that V8 does not give an allocation site. Arrays and objects of literals which it sees survive some collections are born old from then on,
 * and keep all that they hold from being collected young (`npm run bench`, rows "unhedged call" and of lanes). So an object that lives as long as an attempt
 * is made by a class.
 */
export const listOf = <A>(...elements: Array<A>): Array<A> => elements

/** A stack with one value more. */
export const written = (stack: Stack | undefined, author: FiberId.Single, value: unknown): Stack => {
  const entry = listOf<unknown>(author, value) as unknown as Stack[0]
  return (stack === undefined ? listOf(entry) : listOf(entry, ...stack)) as unknown as Stack
}

type FiberClass = new (
  id: FiberId.Runtime,
  refs: FiberRefs.FiberRefs,
  flags: RuntimeFlags.RuntimeFlags
) => Internals

/** What FiberRefs have beyond their public type. */
export interface RefInternals {
  readonly initial: unknown
  readonly fork: unknown
  readonly patch: (patch: unknown) => (value: unknown) => unknown
  readonly join: (parent: unknown, child: unknown) => unknown
}

const forkOf = (ref: FiberRef.FiberRef<any>): unknown => (ref as unknown as RefInternals).fork

/** With these a child starts with the very value of its parent; they are not even applied. */
const forksToItself: ReadonlySet<unknown> = new Set(
  [
    FiberRef.currentLogLevel,
    FiberRef.currentContext,
    FiberRef.currentLoggers,
    FiberRef.currentSupervisor
  ].map(forkOf)
)

export class Shortcut {
  constructor(readonly fiberClass: FiberClass) {}

  refsOf(fiber: AnyFiber): FiberRefs.FiberRefs {
    return (fiber as Internals)._fiberRefs
  }

  start<A, E>(
    effect: Effect.Effect<A, E>,
    id: FiberId.Runtime,
    refs: FiberRefs.FiberRefs,
    flags: RuntimeFlags.RuntimeFlags,
    immediate: boolean
  ): Fiber.RuntimeFiber<A, E> {
    const fiber = new this.fiberClass(id, refs, flags)
    if (immediate) fiber.start(effect)
    else fiber.resume(effect)
    return fiber
  }
}

/** `new Map(map)` makes an array of each entry, and throws it away. */
export const copyOf = <K, V>(map: ReadonlyMap<K, V>): Map<K, V> => {
  const copy = new Map<K, V>()
  map.forEach((value, key) => {
    copy.set(key, value)
  })
  return copy
}

/** What a child has of a value of its parent. */
const forked = (stack: Stack, ref: FiberRef.FiberRef<any>, child: FiberId.Runtime): Stack => {
  const fork = forkOf(ref)
  // runtime flags are given to a fiber's constructor
  if (forksToItself.has(fork) || ref === FiberRef.currentRuntimeFlags) return stack
  const value = stack[0][1]
  const own = (ref as unknown as RefInternals).patch(fork)(value)
  return own === value || Equal.equals(own, value) ? stack : written(stack, child, own)
}

/** What a child starts with, to be written to. */
export const localsOfChild = (parents: ReadonlyMap<any, Stack>, child: FiberId.Runtime): Locals => {
  const locals: Locals = new Map()
  parents.forEach((stack, ref) => {
    locals.set(ref, forked(stack, ref, child))
  })
  return locals
}

/** Starts a fiber the short way and sees whether it does what it should. */
const tryOut = (fiber: AnyFiber): Shortcut | undefined => {
  try {
    const shortcut = new Shortcut(fiber.constructor as FiberClass)
    const flags = RuntimeFlags.make(RuntimeFlags.Interruption, RuntimeFlags.CooperativeYielding)
    const answer = Effect.map(Effect.fiberId, () => shortcut)
    const exit: Exit.Exit<unknown> | null = shortcut
      .start(answer, FiberId.unsafeMake(), shortcut.refsOf(fiber), flags, true)
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
