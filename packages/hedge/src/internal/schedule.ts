import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as ScheduleDecision from "effect/ScheduleDecision"
import * as ScheduleInterval from "effect/ScheduleInterval"
import type { HedgeSchedule, HedgeState } from "../HedgeSchedule.js"
import type { AdaptiveCall, Learning } from "./adaptive.js"
import { checkDuration } from "./check.js"

const StaggerId = "~effect-hedge/Stagger"
const LearningId = "~effect-hedge/Learning"
const AskerId = Symbol.for("~effect-hedge/Asker")

/** The call that asks. */
export interface Asker {
  /** What it asks and tells a schedule that learns. */
  readonly learn: (learning: Learning) => AdaptiveCall
}

/** A state that tells who asks with it: a schedule that is combined with others is given nothing else. */
export interface AskingState extends HedgeState {
  readonly [AskerId]?: Asker
}

export const asking = (state: HedgeState, asker: Asker): AskingState => ({ ...state, [AskerId]: asker })

/** A schedule that also answers without an effect: the delay after a launch, in milliseconds. */
interface Stagger extends HedgeSchedule {
  readonly [StaggerId]: (asker: Asker) => number
  /** What it learns by, if it does. */
  readonly [LearningId]?: Learning
}

type AnySchedule = Schedule.Schedule<unknown, never, unknown>

export const staggerOf = (schedule: AnySchedule): ((asker: Asker) => number) | undefined =>
  (schedule as Partial<Stagger>)[StaggerId]

export const learningOf = (schedule: AnySchedule): Learning | undefined =>
  (schedule as Partial<Stagger>)[LearningId]

/**
 * Where a delay without end stands: an interval that began at infinity would be an empty one, after which `Schedule.intersect` looks for ever for
 * one that is not.
 */
const farthest = 2 ** 52

const make = (delay: (asker: Asker | undefined) => number): HedgeSchedule => {
  const schedule = Schedule.makeWithState(
    undefined,
    (now: number, hedgeState: AskingState, state: undefined) => {
      const millis = delay(hedgeState[AskerId])
      return Effect.succeed([
        state,
        Duration.millis(millis),
        ScheduleDecision.continueWith(ScheduleInterval.after(Math.min(now + millis, farthest)))
      ] as const)
    }
  )
  return Object.assign(schedule, { [StaggerId]: delay })
}

export const fixed = (delay: Duration.DurationInput): HedgeSchedule => {
  const millis = Duration.toMillis(checkDuration("delay", delay))
  return make(() => millis)
}

export const parallel: HedgeSchedule = /*#__PURE__*/ fixed(Duration.zero)

export const onFailure: HedgeSchedule = /*#__PURE__*/ fixed(Duration.infinity)

/** A schedule that goes by what its calls have taught it; one that nobody asks on behalf of a call waits for a failure. */
export const learned = (learning: Learning): HedgeSchedule =>
  Object.assign(
    make((asker) => asker?.learn(learning).delay() ?? Infinity),
    { [LearningId]: learning }
  )

/** A schedule with what it needs taken from a context; one that is answered synchronously needs nothing. */
export const provideSchedule = (
  schedule: Schedule.Schedule<unknown, HedgeState, unknown>,
  context: Context.Context<unknown>
): Schedule.Schedule<unknown, HedgeState> =>
  staggerOf(schedule) === undefined
    ? Schedule.mapInputContext(schedule, (own: Context.Context<never>) => Context.merge(context, own))
    : (schedule as Schedule.Schedule<unknown, HedgeState>)
