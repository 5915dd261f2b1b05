/**
 * Scripts: everything that a hedged call's surroundings decide, as plain data. The reference model and the real engine are both run on a
 * script, and their traces compared.
 */
import { FastCheck } from "effect"

/** What an attempt's exit means, as the script's `classify` says it. `Throws`: classify itself throws. */
export type Judgement = "Win" | "NonFatal" | "Fatal" | "Throws"

export type Pushback = number | "DoNotRetry" | "Unreadable"

export interface AttemptSpec {
  /** When it answers, in milliseconds after its launch; 0 is in the launch itself. */
  readonly after: number | "Never"
  readonly exit: "Success" | "Failure" | "Defect" | "SelfInterrupt"
  readonly judged: Judgement
  readonly pushback?: Pushback
  /** How long its finalizer takes when it is interrupted; 0 ends at once. */
  readonly unwind: number
  /** It has switched interruption off for good, so it answers although it was interrupted. */
  readonly stubborn: boolean
  /** It runs without a fiber, unless what it does needs one. */
  readonly fiberless: boolean
}

export type ScheduleSpec =
  /** A `HedgeSchedule`: answered without an effect. */
  | { readonly _tag: "Fixed"; readonly delay: number | "Infinite" }
  /** An ordinary schedule that gives these delays, then is done or dies; working out each takes `stepTime`. */
  | {
      readonly _tag: "List"
      readonly delays: ReadonlyArray<number | "Infinite">
      readonly end: "Done" | "Dies"
      readonly stepTime: number
    }
  /** `Schedule.exponential(base)` for so many times. */
  | { readonly _tag: "Exponential"; readonly base: number; readonly times: number }
  /** An ordinary schedule whose delay is worked out of what it is told of the call. */
  | { readonly _tag: "FromState"; readonly perAttempt: number; readonly perInFlight: number }

export type ThrottleSpec =
  | { readonly _tag: "Unlimited" }
  /** `extraLoad` in thousandths. */
  | { readonly _tag: "LoadBudget"; readonly extraLoad: number; readonly burst: number }
  /** `tokenRatio` in thousandths. */
  | { readonly _tag: "TokenBucket"; readonly maxTokens: number; readonly tokenRatio: number }
  | { readonly _tag: "Concurrency"; readonly most: number }
  | { readonly _tag: "All"; readonly of: ReadonlyArray<ThrottleSpec> }

/** Refuses, or throws, when the named part of the state is at least `from` and less than `to`. */
export interface GateSpec {
  readonly on: "attempt" | "elapsed" | "inFlight"
  readonly from: number
  readonly to: number
  readonly throws: boolean
}

/** What `onDiscard` does with a success: nothing at all, or something that takes `millis` and may die. */
export type DiscardSpec = "None" | { readonly millis: number; readonly dies: boolean }

export interface CallSpec {
  readonly startsAt: number
  /** The attempts by index; the last stands for all that follow. */
  readonly attempts: readonly [AttemptSpec, ...ReadonlyArray<AttemptSpec>]
  readonly maxAttempts: number
  readonly schedule: ScheduleSpec
  readonly deadline?: number
  readonly minTimeLeft?: number
  readonly attemptTimeout?: number
  readonly maxPushback?: number
  readonly gates: ReadonlyArray<GateSpec>
  readonly onDiscard: DiscardSpec
  readonly awaitLosers: boolean
  /** When the caller's fiber is interrupted, in milliseconds after the start of the call. */
  readonly interruptedAt?: number
  readonly interruptible: boolean
  /** What turns hedging off for this call, if anything does. */
  readonly off?: "Disabled" | "Nested" | "Ineligible"
}

/** Calls that share one throttle. */
export interface Script {
  readonly throttle: ThrottleSpec
  readonly calls: ReadonlyArray<CallSpec>
}

export const attemptOf = (call: CallSpec, index: number): AttemptSpec =>
  call.attempts[Math.min(index, call.attempts.length - 1)]!

// --- time ----------------------------------------------------------------------------------------------------------

/** Both sides count in whole nanoseconds. */
export const nanos = (millis: number): number => Math.round(millis * 1_000_000)

const kinds = ["Start", "Interruption", "Answer", "Unwind", "Step", "Discard"] as const

/**
 * Nothing that a script does happens on the millisecond: answers come these few nanoseconds before it (C8), all else after it, each by an
 * amount of its own. So a script's sleeps end at different instants, also when one follows from another: `TestClock` wakes sleepers that
 * are due together in the reverse of the order in which they went to sleep, which no rule is about. The timers of one call are set for it
 * by one alarm, and do coincide. What still coincides by accident the model reports, and such a script is not used.
 */
export const slip = (call: number, kind: (typeof kinds)[number], index: number): number =>
  kind === "Start"
    ? (call + 1) * exact
    : 1 + ((((call * kinds.length + kinds.indexOf(kind)) * 64 + index + 1) * 7919) % 99_991)

/** A sixty-fourth of a millisecond: sums of it and of whole milliseconds are exact as milliseconds, too, so what is due together stays so. */
const exact = 15_625

/** How long a script is watched: an endless schedule whose hedges are all refused has no end of its own. */
export const untilOf = ({ calls }: Script): number =>
  nanos(Math.max(...calls.map(({ startsAt }) => startsAt)) + 500)

// --- generators ------------------------------------------------------------------------------------------------------

const fc = FastCheck
type Arb<A> = FastCheck.Arbitrary<A>

/** Coarse, so that timers of one call often end at the same time. */
const grid = (most: number): Arb<number> => fc.integer({ min: 0, max: most }).map((n) => n * 10)
const gridFrom1 = (most: number): Arb<number> => fc.integer({ min: 1, max: most }).map((n) => n * 10)
const inOneOf = <A>(times: number, arb: Arb<A>): Arb<A | undefined> =>
  fc.oneof({ weight: times - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: arb })
const onceIn = (times: number): Arb<boolean> => fc.integer({ min: 1, max: times }).map((n) => n === times)

/** Leaves out the fields that are undefined. */
const fields = <A extends object>(record: { [K in keyof A]: A[K] | undefined }): A =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as A

const pushback: Arb<Pushback> = fc.oneof(
  { weight: 6, arbitrary: grid(6) },
  { weight: 1, arbitrary: fc.constant("DoNotRetry" as const) },
  { weight: 1, arbitrary: fc.constant("Unreadable" as const) }
)

const answer: Arb<Pick<AttemptSpec, "exit" | "judged" | "pushback">> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ exit: "Success", judged: "Win" } as const) },
  { weight: 6, arbitrary: fc.constant({ exit: "Failure", judged: "NonFatal" } as const) },
  { weight: 3, arbitrary: fc.constant({ exit: "Success", judged: "NonFatal" } as const) },
  {
    weight: 5,
    arbitrary: fc.record({
      exit: fc.constantFrom("Failure" as const, "Success" as const),
      judged: fc.constant("NonFatal" as const),
      pushback
    })
  },
  {
    weight: 2,
    arbitrary: fc
      .record({
        exit: fc.constantFrom(
          "Success" as const,
          "Failure" as const,
          "Defect" as const,
          "SelfInterrupt" as const
        ),
        judged: fc.constantFrom("Win" as const, "NonFatal" as const, "Fatal" as const, "Throws" as const),
        pushback: inOneOf(2, pushback)
      })
      .map((any) => (any.judged === "Win" || any.judged === "Throws" ? { ...any, pushback: undefined } : any))
      .map((any) => fields<Pick<AttemptSpec, "exit" | "judged" | "pushback">>(any))
  }
)

const attempt: Arb<AttemptSpec> = fc
  .record({
    after: fc.oneof(
      { weight: 6, arbitrary: gridFrom1(10) },
      { weight: 2, arbitrary: fc.constant(0) },
      { weight: 2, arbitrary: fc.constant("Never" as const) }
    ),
    answer,
    unwind: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: gridFrom1(5) }),
    stubborn: onceIn(6),
    fiberless: fc.boolean()
  })
  .map(({ answer, ...all }) => ({ ...all, ...answer }))

const delay: Arb<number | "Infinite"> = fc.oneof(
  { weight: 6, arbitrary: gridFrom1(5) },
  { weight: 2, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.constant("Infinite" as const) }
)

const schedule: Arb<ScheduleSpec> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ _tag: fc.constant("Fixed" as const), delay }) },
  {
    weight: 4,
    arbitrary: fc.record({
      _tag: fc.constant("List" as const),
      delays: fc.array(delay, { maxLength: 5 }),
      end: onceIn(8).map((dies) => (dies ? ("Dies" as const) : ("Done" as const))),
      stepTime: fc.oneof({ weight: 1, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: gridFrom1(3) })
    })
  },
  {
    weight: 1,
    arbitrary: fc.record({
      _tag: fc.constant("Exponential" as const),
      base: gridFrom1(3),
      times: fc.integer({ min: 0, max: 4 })
    })
  },
  {
    weight: 1,
    arbitrary: fc.record({
      _tag: fc.constant("FromState" as const),
      perAttempt: grid(2),
      perInFlight: grid(2)
    })
  }
)

const oneThrottle: Arb<ThrottleSpec> = fc.oneof(
  fc.constant({ _tag: "Unlimited" as const }),
  fc.record({
    _tag: fc.constant("LoadBudget" as const),
    extraLoad: fc.constantFrom(100, 250, 500, 1000),
    burst: fc.integer({ min: 0, max: 3 })
  }),
  fc.record({
    _tag: fc.constant("TokenBucket" as const),
    maxTokens: fc.integer({ min: 1, max: 5 }),
    tokenRatio: fc.constantFrom(100, 500, 546, 1000)
  }),
  fc.record({ _tag: fc.constant("Concurrency" as const), most: fc.integer({ min: 1, max: 3 }) })
)

const throttle: Arb<ThrottleSpec> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ _tag: "Unlimited" as const }) },
  { weight: 4, arbitrary: oneThrottle },
  {
    weight: 2,
    arbitrary: fc.record({
      _tag: fc.constant("All" as const),
      of: fc.array(oneThrottle, { minLength: 2, maxLength: 2 })
    })
  }
)

const gate: Arb<GateSpec> = fc
  .record({
    on: fc.constantFrom("attempt" as const, "elapsed" as const, "inFlight" as const),
    from: fc.integer({ min: 0, max: 4 }),
    width: fc.integer({ min: 1, max: 3 }),
    throws: onceIn(10)
  })
  .map(({ on, from, width, throws }) => {
    const unit = on === "elapsed" ? 20 : 1
    return { on, from: from * unit, to: (from + width) * unit, throws }
  })

const onDiscard: Arb<DiscardSpec> = fc.oneof(
  { weight: 1, arbitrary: fc.constant("None" as const) },
  {
    weight: 3,
    arbitrary: fc.record({
      millis: fc.oneof(fc.constant(0), gridFrom1(4)),
      dies: onceIn(5)
    })
  }
)

const call: Arb<CallSpec> = fc
  .record({
    startsAt: fc.oneof(
      { weight: 8, arbitrary: grid(20) },
      { weight: 1, arbitrary: fc.integer({ min: 98, max: 103 }).map((n) => n * 100) }
    ),
    attempts: fc
      .array(attempt, { minLength: 1, maxLength: 5 })
      .map(([first, ...rest]): CallSpec["attempts"] => [first!, ...rest]),
    maxAttempts: fc.oneof(
      { weight: 12, arbitrary: fc.integer({ min: 2, max: 5 }) },
      { weight: 1, arbitrary: fc.constant(20) }
    ),
    schedule,
    deadline: inOneOf(3, gridFrom1(16)),
    minTimeLeft: inOneOf(2, grid(4)),
    attemptTimeout: inOneOf(4, gridFrom1(6)),
    maxPushback: inOneOf(3, grid(4)),
    gates: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(gate, { minLength: 1, maxLength: 2 }) }
    ),
    onDiscard,
    awaitLosers: onceIn(3),
    interruptedAt: grid(12),
    interrupted: fc.integer({ min: 1, max: 10 }),
    interruptible: onceIn(5).map((not) => !not),
    off: inOneOf(10, fc.constantFrom("Disabled" as const, "Nested" as const, "Ineligible" as const))
  })
  .map(({ interrupted, ...all }) => ({
    ...all,
    // a caller that waits for losers can be interrupted in one more state
    interruptedAt: interrupted <= (all.awaitLosers ? 5 : 2) ? all.interruptedAt : undefined,
    // a policy refuses a `minTimeLeft` that is not shorter than the deadline
    minTimeLeft:
      all.minTimeLeft !== undefined && all.deadline !== undefined && all.minTimeLeft < all.deadline
        ? all.minTimeLeft
        : undefined
  }))
  .map((all) => fields<CallSpec>(all))

export const script: Arb<Script> = fc.record({
  throttle,
  calls: fc.array(call, { minLength: 1, maxLength: 3 })
})
