import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as RuntimeFlagsPatch from "effect/RuntimeFlagsPatch"
import type { HedgeEvent } from "../HedgeEvent.js"
import type { HedgePolicyError } from "../HedgePolicy.js"
import type { Observation, Recorder, Script, ScriptedAttempt } from "../HedgeTest.js"
import { Default, makeDefault, unlimited } from "../HedgeThrottle.js"
import * as LatencyEstimator from "../LatencyEstimator.js"
import {
  check,
  checkFields,
  duration,
  refusable,
  refuse,
  type Shape,
  type Shapes,
  trueOrFalse
} from "./check.js"
import { HedgePolicyError as PolicyError } from "./errors.js"
import { layer as listenerLayer } from "./listeners.js"

// --- what may be written -------------------------------------------------------------------------------------------

const endings = ["succeed", "fail", "die", "interrupt", "never"] as const

const anything: Shape = [() => true, "anything"]

const attemptShapes: Shapes = {
  after: duration,
  unwind: duration,
  uninterruptibleFrom: duration,
  succeed: anything,
  fail: anything,
  die: anything,
  interrupt: anything,
  never: anything
}

/** An attempt that has been checked. */
interface Part<A, E> {
  readonly after: Duration.Duration
  readonly unwind: Duration.Duration
  /** `undefined` if it can always be interrupted. */
  readonly uninterruptibleFrom: Duration.Duration | undefined
  readonly succeeds: boolean
  readonly ending: Effect.Effect<A, E>
}

const endingOf = <A, E>(attempt: ScriptedAttempt<A, E>, where: string): Effect.Effect<A, E> => {
  const [ending, second] = endings.filter((name) => Object.hasOwn(attempt, name))
  if (ending === undefined || second !== undefined) {
    return refuse(where, attempt, `an attempt with exactly one of ${endings.join(", ")}`)
  }
  const value = attempt[ending]
  if ((ending === "interrupt" || ending === "never") && value !== true) {
    return refuse(`${where}.${ending}`, value, "true, or to be left out")
  }
  switch (ending) {
    case "succeed":
      return Effect.succeed(value as A)
    case "fail":
      return Effect.fail(value as E)
    case "die":
      return Effect.die(value)
    case "interrupt":
      return Effect.interrupt
    case "never":
      return Effect.never
  }
}

const checkAttempt = <A, E>(attempt: ScriptedAttempt<A, E>, index: number): Part<A, E> => {
  const where = `attempts[${index}]`
  checkFields(where, attempt, attemptShapes, [], `${where}.`)
  const ending = endingOf(attempt, where)
  const never = Object.hasOwn(attempt, "never")
  if (never && attempt.after !== undefined) {
    refuse(`${where}.after`, attempt.after, "nothing, for an attempt that never answers")
  }
  const after = never ? Duration.infinity : Duration.decode(attempt.after ?? 0)
  const uninterruptibleFrom =
    attempt.uninterruptibleFrom === undefined ? undefined : Duration.decode(attempt.uninterruptibleFrom)
  if (uninterruptibleFrom !== undefined && Duration.greaterThan(uninterruptibleFrom, after)) {
    refuse(`${where}.uninterruptibleFrom`, attempt.uninterruptibleFrom, "no later than after")
  }
  return {
    after,
    unwind: Duration.decode(attempt.unwind ?? 0),
    uninterruptibleFrom,
    succeeds: Object.hasOwn(attempt, "succeed"),
    ending
  }
}

const someAttempts: Shape = [
  (u) => Array.isArray(u) && u.length > 0,
  'an array of at least one attempt, such as { after: "20 millis", succeed: 1 }'
]

const optionShapes: Shapes = { repeat: trueOrFalse }

// --- attempts ------------------------------------------------------------------------------------------------------

const nanosecond = 1e-6

/** The least by which a time is earlier: a nanosecond, or what a number as large as a date in milliseconds can express. */
const least = (time: number): number => Math.max(nanosecond, 2 ** (Math.floor(Math.log2(time)) - 51))

const justBefore = (duration: Duration.Duration): Effect.Effect<void> => {
  const millis = Duration.toMillis(duration)
  if (millis === Infinity) return Effect.never
  if (millis === 0) return Effect.void
  return Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.sleep(Duration.millis(Math.max(0, millis - least(now + millis))))
  )
}

const noInterruption = Effect.patchRuntimeFlags(RuntimeFlagsPatch.disable(RuntimeFlags.Interruption))

/** An attempt that is launched by an answer starts a little early, as the answer came. */
const rounded = (millis: number): number => Math.round(millis * 100) / 100

class Log<A> {
  readonly startedAt: Array<number> = []
  readonly discarded: Array<A> = []
  inFlight = 0
  maxInFlight = 0
  interruptions = 0
  finalizers = 0
  successes = 0

  constructor(private readonly madeAt: number) {}

  started(now: number): void {
    this.startedAt.push(rounded(now - this.madeAt))
    this.inFlight += 1
    this.maxInFlight = Math.max(this.maxInFlight, this.inFlight)
  }

  finalized(): void {
    this.inFlight -= 1
    this.finalizers += 1
  }

  get observation(): Observation<A> {
    const { inFlight, maxInFlight, interruptions, finalizers, successes } = this
    const starts = this.startedAt.length
    const lists = { startedAt: [...this.startedAt], discarded: [...this.discarded] }
    return { starts, inFlight, maxInFlight, interruptions, finalizers, successes, ...lists }
  }
}

const pause = (duration: Duration.Duration): Effect.Effect<void> =>
  Duration.toMillis(duration) === 0 ? Effect.void : Effect.sleep(duration)

const perform = <A, E>(part: Part<A, E>, log: Log<A>): Effect.Effect<A, E> => {
  let answered = false
  const answer = Effect.suspend(() => {
    answered = true
    if (part.succeeds) log.successes += 1
    return part.ending
  })
  const finalize = Effect.suspend(() => {
    if (!answered) log.interruptions += 1
    return Effect.zipRight(
      answered ? Effect.void : pause(part.unwind),
      Effect.sync(() => log.finalized())
    )
  })
  if (part.uninterruptibleFrom === undefined) {
    return justBefore(part.after).pipe(
      Effect.zipRight(answer),
      Effect.onExit(() => finalize)
    )
  }
  // nothing encloses the second part: leaving a region in which interruption was off would turn its success into an interruption
  return justBefore(part.uninterruptibleFrom).pipe(
    Effect.onInterrupt(() => finalize),
    Effect.zipRight(noInterruption),
    Effect.zipRight(pause(Duration.subtract(part.after, part.uninterruptibleFrom))),
    Effect.zipRight(Effect.sync(() => log.finalized())),
    Effect.zipRight(answer)
  )
}

export const script = <A, E>(
  attempts: ReadonlyArray<ScriptedAttempt<A, E>>,
  options: { readonly repeat?: boolean } = {}
): Effect.Effect<Script<A, E>, HedgePolicyError> =>
  Effect.gen(function* () {
    const parts = yield* refusable(() => {
      checkFields("options", options, optionShapes)
      return check("attempts", attempts, someAttempts).map(checkAttempt<A, E>)
    })
    const log = new Log<A>(yield* Clock.currentTimeMillis)
    const at = (index: number): Effect.Effect<A, E> => {
      const part = options.repeat === true ? parts[index % parts.length] : parts[index]
      if (part === undefined) {
        const allowed = `at least ${index + 1}, or repeat: true: an execution found none left in the script`
        return Effect.die(new PolicyError({ field: "attempts.length", value: parts.length, allowed }))
      }
      return Effect.flatMap(Clock.currentTimeMillis, (now) => {
        log.started(now)
        return perform(part, log)
      })
    }
    let executions = 0
    return {
      effect: Effect.suspend(() => at(executions++)),
      attempt: ({ index }) => Effect.suspend(() => at(index)),
      onDiscard: (value) =>
        Effect.sync(() => {
          log.discarded.push(value)
        }),
      observed: Effect.sync(() => log.observation)
    }
  })

// --- surroundings --------------------------------------------------------------------------------------------------

type Isolated = Default | LatencyEstimator.Default

const estimators = Layer.sync(LatencyEstimator.Default, LatencyEstimator.makeDefault)

export const layer: Layer.Layer<Isolated> = Layer.merge(
  Layer.sync(Default, () => makeDefault()),
  estimators
)

export const layerUnlimited: Layer.Layer<Isolated> = Layer.merge(
  Layer.succeed(Default, unlimited),
  estimators
)

export const recordEvents: Effect.Effect<Recorder> = Effect.sync(() => {
  const events: Array<HedgeEvent> = []
  return {
    layer: listenerLayer({
      onEvent: (event) => {
        events.push(event)
      }
    }),
    events: Effect.sync(() => [...events]),
    tagged: (tag) => Effect.sync(() => events.filter((event) => event._tag === tag) as never)
  }
})
