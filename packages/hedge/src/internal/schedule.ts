import { Context, Duration, Effect, Schedule, ScheduleDecision, ScheduleInterval } from "effect"
import type { HedgeSchedule, HedgeState } from "../HedgeSchedule.js"
import { checkDuration } from "./check.js"

const StaggerId = "~effect-hedge/Stagger"

/** A schedule that also answers without an effect: the delay after a launch, in milliseconds. */
interface Stagger extends HedgeSchedule {
  readonly [StaggerId]: () => number
}

export const staggerOf = (schedule: Schedule.Schedule<unknown, never, unknown>): (() => number) | undefined =>
  (schedule as Partial<Stagger>)[StaggerId]

const make = (delay: () => Duration.Duration): HedgeSchedule => {
  const schedule = Schedule.makeWithState(undefined, (now: number, _: HedgeState, state: undefined) => {
    const duration = delay()
    return Effect.succeed([
      state,
      duration,
      ScheduleDecision.continueWith(ScheduleInterval.after(now + Duration.toMillis(duration)))
    ] as const)
  })
  return Object.assign(schedule, { [StaggerId]: () => Duration.toMillis(delay()) })
}

export const fixed = (delay: Duration.DurationInput): HedgeSchedule => {
  const duration = checkDuration("delay", delay)
  return make(() => duration)
}

export const parallel: HedgeSchedule = fixed(Duration.zero)

export const onFailure: HedgeSchedule = fixed(Duration.infinity)

/** A schedule with what it needs taken from a context; one that is answered synchronously needs nothing. */
export const provideSchedule = (
  schedule: Schedule.Schedule<unknown, HedgeState, unknown>,
  context: Context.Context<unknown>
): Schedule.Schedule<unknown, HedgeState> =>
  staggerOf(schedule) === undefined
    ? Schedule.mapInputContext(schedule, (own: Context.Context<never>) => Context.merge(context, own))
    : (schedule as Schedule.Schedule<unknown, HedgeState>)
