import { afterEach, describe, expect, it } from "@effect/vitest"
import { Context, Differ, Effect, FastCheck, Fiber, FiberRef, HashMap, Scheduler } from "effect"
import { Hedge, HedgeSchedule, HedgeThrottle } from "effect-hedge"
import { allowShortcut, Shortcut } from "../src/internal/shortcut.js"

/*
 * A call leaves in its caller what a fiber leaves that its caller forks and joins. `Effect.fork` with `Fiber.join` is the model.
 */

const ways = [
  ["the shortcut", true],
  ["the public way", false]
] as const

const policy = { schedule: HedgeSchedule.onFailure }

type Run = <A>(effect: Effect.Effect<A>) => Effect.Effect<A>

const forked: Run = (effect) => Effect.flatMap(Effect.fork(effect), Fiber.join)
const hedged: Run = (effect) => Hedge.hedge(effect, policy)
const wonByTheHedge: Run = (effect) =>
  Hedge.hedgeWith(({ index }) => (index === 0 ? Effect.never : effect), {
    schedule: HedgeSchedule.parallel,
    throttle: HedgeThrottle.unlimited
  })

/** Patches are numbers that are added. */
const sum = Differ.make<number, number>({
  empty: 0,
  combine: (first, second) => first + second,
  diff: (before, after) => after - before,
  patch: (patch, before) => before + patch
})

/** Patches are values that take another's place. */
const replacement = Differ.make<number, number>({
  empty: Number.NaN,
  combine: (_, second) => second,
  diff: (_, after) => after,
  patch: (patch, before) => (Number.isNaN(patch) ? before : patch)
})

type Bag = { readonly _tag: "Empty" } | { readonly _tag: "Put"; readonly value: number }

/** A patch called `Empty` that empties. */
const bag = Differ.make<number, Bag>({
  empty: { _tag: "Put", value: Number.NaN },
  combine: (_, second) => second,
  diff: (_, value) => ({ _tag: "Put", value }),
  patch: (patch, before) => (patch._tag === "Empty" ? 0 : Number.isNaN(patch.value) ? before : patch.value)
})

const kinds: Readonly<Record<string, () => FiberRef.FiberRef<number>>> = {
  plain: () => FiberRef.unsafeMake(0),
  "forked to a successor": () => FiberRef.unsafeMake(0, { fork: (n) => n + 1 }),
  "joined to a sum": () => FiberRef.unsafeMake(1, { join: (parent, child) => parent + child }),
  "forked to its value and joined to a sum": () =>
    FiberRef.unsafeMake(1, { fork: (n) => n, join: (parent, child) => parent + child }),
  "joined to the greater": () => FiberRef.unsafeMake(0, { join: Math.max }),
  "kept by the parent": () => FiberRef.unsafeMake(0, { fork: () => 7, join: (parent) => parent }),
  "with patches that are added": () => FiberRef.unsafeMakePatch(0, { differ: sum, fork: 0 }),
  "forked by a patch that is added": () => FiberRef.unsafeMakePatch(0, { differ: sum, fork: 3 }),
  "forked by a patch 0 that takes the value's place": () =>
    FiberRef.unsafeMakePatch(5, { differ: replacement, fork: 0 }),
  "forked by a patch Empty that empties": () =>
    FiberRef.unsafeMakePatch<number, Bag>(5, { differ: bag, fork: { _tag: "Empty" } })
}

const names = Object.keys(kinds)

/** What a fiber does to the FiberRefs, each named by its kind. */
type Step =
  | { readonly _tag: "Set" | "Add"; readonly ref: string; readonly value: number }
  | { readonly _tag: "Reset" | "Delete"; readonly ref: string }
  | {
      readonly _tag: "Locally"
      readonly ref: string
      readonly value: number
      readonly steps: ReadonlyArray<Step>
    }
  | { readonly _tag: "Child" | "Fork"; readonly steps: ReadonlyArray<Step> }
  | { readonly _tag: "Yield" | "Scheduler" }

const { steps } = FastCheck.letrec<{ step: Step; steps: ReadonlyArray<Step> }>((tie) => {
  const ref = FastCheck.constantFrom(...names)
  const value = FastCheck.integer({ min: -3, max: 9 })
  const inner = tie("steps")
  const of = <const T extends string>(...tags: ReadonlyArray<T>) => FastCheck.constantFrom(...tags)
  return {
    step: FastCheck.oneof(
      { depthSize: "small" },
      FastCheck.record({ _tag: of("Set", "Add"), ref, value }),
      FastCheck.record({ _tag: of("Reset", "Delete"), ref }),
      FastCheck.record({ _tag: of("Yield", "Scheduler") }),
      FastCheck.record({ _tag: of("Locally"), ref, value, steps: inner }),
      FastCheck.record({ _tag: of("Child", "Fork"), steps: inner })
    ),
    steps: FastCheck.array(tie("step"), { maxLength: 6 })
  }
})

const other = new Scheduler.MixedScheduler(2048)

type Refs = Readonly<Record<string, FiberRef.FiberRef<number>>>

const makeRefs = (): Refs => Object.fromEntries(names.map((name) => [name, kinds[name]!()]))

/** The steps as an effect, in which a child is run by `run`, and a child's by `runInner`. */
const program = (refs: Refs, list: ReadonlyArray<Step>, run: Run, runInner: Run): Effect.Effect<void> =>
  Effect.forEach(
    list,
    (step): Effect.Effect<unknown> => {
      switch (step._tag) {
        case "Set":
          return FiberRef.set(refs[step.ref]!, step.value)
        case "Add":
          return FiberRef.update(refs[step.ref]!, (n) => n + step.value)
        case "Reset":
          return FiberRef.reset(refs[step.ref]!)
        case "Delete":
          return FiberRef.delete(refs[step.ref]!)
        case "Yield":
          return Effect.yieldNow()
        case "Scheduler":
          return Effect.withScheduler(Effect.yieldNow(), other)
        case "Locally":
          return Effect.locally(program(refs, step.steps, run, runInner), refs[step.ref]!, step.value)
        case "Child":
          return run(program(refs, step.steps, runInner, runInner))
        case "Fork":
          return forked(program(refs, step.steps, run, runInner))
      }
    },
    { discard: true }
  )

const valuesOf = (refs: Refs) => Effect.all(Object.values(refs).map(FiberRef.get))

const result = (list: ReadonlyArray<Step>, run: Run, runInner = run) => {
  const refs = makeRefs()
  const seen = Effect.zipRight(
    program(refs, list, run, runInner),
    Effect.all({
      own: valuesOf(refs),
      childs: forked(valuesOf(refs)),
      afterwards: valuesOf(refs),
      scheduler: FiberRef.get(FiberRef.currentScheduler)
    })
  )
  return Effect.runPromise(seen)
}

describe.each(ways)("a call whose fibers are started by %s", (_, short) => {
  afterEach(() => allowShortcut(true))

  it("leaves in its caller what a fiber does that is forked and joined, whatever both do to FiberRefs", async () => {
    allowShortcut(short)
    await FastCheck.assert(
      FastCheck.asyncProperty(steps, async (list) => {
        const child = [{ _tag: "Child", steps: list }] as const
        for (const all of [list, [...list, ...child], [...child, ...child]]) {
          const model = await result(all, forked)
          expect(await result(all, hedged)).toStrictEqual(model)
          // calls inside a hedge send no hedge
          expect(await result(all, wonByTheHedge, hedged)).toStrictEqual(model)
        }
      }),
      { numRuns: 300 }
    )
  })

  it("forks each FiberRef once", async () => {
    allowShortcut(short)
    let forks = 0
    const fork = (n: number) => {
      forks += 1
      return n + 1
    }
    const ref = FiberRef.unsafeMake(0, { fork })
    const seen = Effect.zipRight(FiberRef.set(ref, 1), hedged(FiberRef.get(ref)))
    // the process's first call tries the shortcut out
    await Effect.runPromise(hedged(Effect.void))
    expect(await Effect.runPromise(seen)).toBe(2)
    expect(forks).toBe(1)
  })

  it("closes the winner's scope with the caller's, though a FiberRef's join throws", async () => {
    allowShortcut(short)
    const join = (): number => {
      throw new Error("join")
    }
    const ref = FiberRef.unsafeMake(0, { join })
    const closed: Array<string> = []
    const open = Effect.acquireRelease(FiberRef.set(ref, 2), () => Effect.sync(() => closed.push("winner")))
    const call = Effect.scoped(Effect.zipRight(FiberRef.set(ref, 1), Hedge.hedgeScoped(open, policy)))
    expect(await Effect.runPromiseExit(call)).toMatchObject({ _tag: "Failure", cause: { _tag: "Die" } })
    expect(closed).toStrictEqual(["winner"])
  })

  it("leaves its caller no scheduler, not even with a FiberRef that it hands on", async () => {
    allowShortcut(short)
    const ref = FiberRef.unsafeMake(0)
    const attempt = Effect.zipRight(FiberRef.set(ref, 1), Effect.withScheduler(Effect.yieldNow(), other))
    const seen = Effect.zipRight(
      hedged(attempt),
      Effect.all([FiberRef.get(ref), FiberRef.get(FiberRef.currentScheduler)])
    )
    expect(await Effect.runPromise(seen)).toStrictEqual([1, Scheduler.defaultScheduler])
  })

  for (const [name, kind, attemptOf, expected] of [
    ["sets one that the caller has to its initial value", "plain", (ref) => FiberRef.set(ref, 0), 0],
    [
      "deletes one and sets it to what the caller has",
      "with patches that are added",
      (ref) => Effect.zipRight(FiberRef.delete(ref), FiberRef.set(ref, 5)),
      10
    ],
    ["leaves one alone whose join changes it", "joined to a sum", () => Effect.yieldNow(), 5],
    [
      "leaves one alone whose fork is the user's own, and does not change it",
      "forked to its value and joined to a sum",
      () => Effect.yieldNow(),
      5
    ],
    [
      "sets one for a while and back whose join changes it",
      "joined to a sum",
      (ref) => Effect.locally(Effect.yieldNow(), ref, 3),
      10
    ]
  ] as ReadonlyArray<
    readonly [string, string, (ref: FiberRef.FiberRef<number>) => Effect.Effect<void>, number]
  >) {
    for (const [model, run] of [
      ["a fiber that is forked and joined", forked],
      ["an attempt", hedged],
      ["a hedge", wonByTheHedge]
    ] as const) {
      it(`hands on of FiberRefs what ${model} does that ${name}`, async () => {
        allowShortcut(short)
        const ref = kinds[kind]!()
        const seen = Effect.zipRight(
          FiberRef.set(ref, 5),
          Effect.zipRight(run(attemptOf(ref)), FiberRef.get(ref))
        )
        expect(await Effect.runPromise(seen)).toBe(expected)
      })
    }
  }

  it("hands on a scheduler that an attempt has set for good", async () => {
    allowShortcut(short)
    const seen = Effect.zipRight(
      hedged(FiberRef.set(FiberRef.currentScheduler, other)),
      FiberRef.get(FiberRef.currentScheduler)
    )
    expect(await Effect.runPromise(seen)).toBe(other)
  })

  it("leaves a hedge its number in its logs, after a call inside it that hands on FiberRefs", async () => {
    allowShortcut(short)
    const ref = FiberRef.unsafeMake(0)
    const inner = Effect.zipRight(hedged(FiberRef.set(ref, 1)), FiberRef.get(FiberRef.currentLogAnnotations))
    const seen = Effect.all([
      wonByTheHedge(inner),
      FiberRef.get(ref),
      FiberRef.get(FiberRef.currentLogAnnotations)
    ])
    const [inside, handedOn, outside] = await Effect.runPromise(seen)
    expect([...inside]).toStrictEqual([["hedge.attempt", 1]])
    expect(handedOn).toBe(1)
    expect(HashMap.isEmpty(outside)).toBe(true)
  })
})

describe("a call that hands on nothing copies no FiberRefs of its caller", () => {
  class Service extends Context.Tag("Service")<Service, string>() {}
  const inherited = FiberRef.unsafeMake(0)
  const ref = FiberRef.unsafeMake(0)

  /** Those that a fiber has; to ask for them by `Effect.getFiberRefs` copies them. */
  const refs = Effect.withFiberRuntime<unknown>((fiber) =>
    Effect.succeed(Shortcut.prototype.refsOf(fiber as Fiber.RuntimeFiber<unknown, unknown>))
  )

  for (const [name, call] of [
    ["whose attempt does nothing", hedged(Effect.void)],
    ["that a hedge wins", wonByTheHedge(Effect.void)],
    ["whose attempt provides a service", hedged(Effect.provideService(Effect.yieldNow(), Service, ""))],
    ["whose attempt has looked at its own", hedged(Effect.asVoid(Effect.getFiberRefs))],
    ["whose attempt sets one for a while and back", hedged(Effect.locally(Effect.yieldNow(), ref, 3))]
  ] as const) {
    it(name, async () => {
      const caller = Effect.zipRight(FiberRef.set(ref, 1), Effect.all([refs, call, refs]))
      const setBefore = Effect.zipRight(
        Effect.all([FiberRef.set(inherited, 1), FiberRef.set(ref, 2)]),
        Effect.zipRight(FiberRef.set(inherited, 3), forked(caller))
      )
      // the process's first call tries the shortcut out
      await Effect.runPromise(hedged(Effect.void))
      const [before, , after] = await Effect.runPromise(Effect.locally(setBefore, inherited, 4))
      expect(after).toBe(before)
    })
  }
})
