/** The world that a script plays in, and the moves that change it. Nothing here knows a rule of hedging. */
import type { HedgeEvent, HedgeOutcome } from "effect-hedge"
import type { CallSpec } from "./script.js"
import type { Throttle } from "./throttles.js"
import type { Seen, Taken, Told } from "./trace.js"

export type Outcome = HedgeOutcome.HedgeOutcome["_tag"]

/** A success by the attempt that had it, or the parts of a cause. */
export type Exit = { readonly successOf: number } | { readonly causes: ReadonlyArray<string> }

export interface Attempt {
  readonly startedAt: number
  readonly judged?: {
    readonly as: Outcome
    readonly at: number
    readonly exit: Exit
    readonly timedOut: boolean
  }
  readonly interrupted?: { readonly at: number; readonly why: HedgeEvent.InterruptReason }
  /** Nothing of it runs any more. */
  readonly ended: boolean
}

export type Stagger =
  /** The schedule is to be asked. */
  | { readonly _tag: "Unasked"; readonly afterRefusal: boolean }
  | { readonly _tag: "Stepping"; readonly since: number; readonly afterRefusal: boolean }
  | { readonly _tag: "Until"; readonly at: number }
  /** Only a failure launches the next one. */
  | { readonly _tag: "OnFailure" }
  | { readonly _tag: "Done" }

export interface Call {
  readonly spec: CallSpec
  readonly state: "Ahead" | "Open" | "Settled" | "Taken"
  readonly startedAt: number
  readonly attempts: ReadonlyArray<Attempt>
  readonly stagger: Stagger
  /** How often the schedule has answered. */
  readonly answered: number
  /** Launches that failures have earned and that have not been made. */
  readonly owed: number
  /** When the latest pushback ends or has ended. */
  readonly pushedBackUntil: number
  /** A pushback has forbidden all further hedges. */
  readonly doNotRetry: boolean
  /** Discards that have not ended. */
  readonly discarding: number
  /** Launches since the call was last told of something. */
  readonly launches: number
  /** It has let others go first, after many launches, and goes on when they have. */
  readonly yielding: boolean
  readonly exit?: Exit
  readonly callerInterrupted: boolean
}

export type Happening =
  | {
      readonly _tag: "CallStarts" | "CallerIsInterrupted" | "ScheduleAnswers" | "CallResumes"
      readonly call: number
    }
  | {
      readonly _tag: "AttemptAnswers" | "AttemptHasUnwound" | "DiscardEnds" | "DiscardDies"
      readonly call: number
      readonly attempt: number
    }

export interface World {
  readonly now: number
  readonly throttle: Throttle
  readonly calls: ReadonlyArray<Call>
  /** What will happen, each at its own instant. */
  readonly ahead: ReadonlyArray<{ readonly at: number; readonly what: Happening }>
  /** What follows at once from what has just happened. */
  readonly atOnce: ReadonlyArray<Happening>
}

export type Line =
  | { readonly call: number; readonly told: Told }
  | { readonly call: number; readonly seen: Seen }
  | { readonly call: number; readonly taken: Taken }

type Step = readonly [World, ReadonlyArray<Line>]
export type Move = (world: World) => Step

export const nothing: Move = (world) => [world, []]

export const both =
  (first: Move, second: Move): Move =>
  (world) => {
    const [between, before] = first(world)
    const [after, then] = second(between)
    return [after, [...before, ...then]]
  }

export const all = (...moves: ReadonlyArray<Move>): Move => moves.reduce(both, nothing)

export const given =
  (f: (world: World) => Move): Move =>
  (world) =>
    f(world)(world)

export const call = (c: number, f: (call: Call, now: number, world: World) => Move): Move =>
  given((world) => f(world.calls[c]!, world.now, world))

export const change =
  (c: number, f: (call: Call, now: number) => Partial<Call>): Move =>
  (world) => [
    { ...world, calls: world.calls.map((call, i) => (i === c ? { ...call, ...f(call, world.now) } : call)) },
    []
  ]

export const changeAttempt = (c: number, i: number, f: (now: number) => Partial<Attempt>): Move =>
  change(c, ({ attempts }, now) => ({
    attempts: attempts.map((attempt, j) => (j === i ? { ...attempt, ...f(now) } : attempt))
  }))

export const throttling =
  (f: (throttle: Throttle, now: number) => Throttle): Move =>
  (world) => [{ ...world, throttle: f(world.throttle, world.now) }, []]

export const later =
  (delay: number, what: Happening): Move =>
  (world) => [{ ...world, ahead: [...world.ahead, { at: world.now + delay, what }] }, []]

export const atOnce =
  (what: Happening): Move =>
  (world) => [{ ...world, atOnce: [...world.atOnce, what] }, []]

type WithoutTime<T> = T extends Told ? Omit<T, "at"> : never

export const tell =
  (call: number, told: WithoutTime<Told>): Move =>
  (world) => [world, [{ call, told: { ...told, at: world.now } }]]

export const see =
  (call: number, what: Seen["what"], attempt: number): Move =>
  (world) => [world, [{ call, seen: { what, attempt, at: world.now } }]]

export const inFlight = ({ attempts }: Call): number =>
  attempts.filter(({ judged }) => judged === undefined).length
