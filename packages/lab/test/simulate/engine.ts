/** The scenarios of the simulation, run by the engine itself: `Hedge.hedgeWith` on a clock and a scheduler that do not wait. */
import { Clock, Duration, Effect, type Scheduler } from "effect"
import { Hedge, HedgePolicy } from "effect-hedge"
import { Agenda } from "../../src/simulate/agenda.js"
import { Cluster, type Job } from "../../src/simulate/cluster.js"
import type { Scenario } from "../../src/simulate/settings.js"
import { streams } from "../../src/simulate/simulation.js"
import { draw } from "../../src/simulate/workload.js"

/** Runs tasks when it is told to, in their order. */
class Turns implements Scheduler.Scheduler {
  private readonly tasks: Array<() => void> = []

  shouldYield(): false {
    return false
  }

  scheduleTask(task: () => void): void {
    this.tasks.push(task)
  }

  run(): void {
    for (let task = this.tasks.shift(); task !== undefined; task = this.tasks.shift()) task()
  }
}

export const runEngine = (
  policy: HedgePolicy.Service,
  { cluster: settings, traffic, workload }: Scenario
): { readonly elapsed: Float64Array; readonly hedges: Uint8Array } => {
  const { calls, rate, seed } = traffic
  const random = streams(seed)
  const agenda = new Agenda()
  const turns = new Turns()
  const cluster = new Cluster(settings, agenda, random.balancer)
  const elapsed = new Float64Array(calls)
  const hedges = new Uint8Array(calls)

  const at = (time: number, act: () => void) =>
    agenda.at(time, () => {
      act()
      turns.run()
    })
  const clock: Clock.Clock = Object.assign(Clock.make(), {
    unsafeCurrentTimeMillis: () => agenda.now,
    currentTimeMillis: Effect.sync(() => agenda.now),
    sleep: (duration: Duration.Duration) =>
      Effect.async<void>((resume) => {
        let isAwake = false
        at(agenda.now + Duration.toMillis(duration), () => {
          if (!isAwake) resume(Effect.void)
        })
        return Effect.sync(() => {
          isAwake = true
        })
      })
  })

  const begin = (call: number) => {
    const startedAt = agenda.now
    const jobs: Array<Job> = []
    const program = Hedge.hedgeWith(
      ({ index }) =>
        Effect.async<void>((resume) => {
          const work = draw(workload(call), index === 0 ? random.primaries : random.hedges)
          const idleOnly = index > 0 && policy.target === "idle"
          const job = cluster.send(work, jobs, idleOnly, () => {
            resume(Effect.void)
            turns.run()
          })
          jobs.push(job)
          return Effect.sync(() => cluster.cancel(job))
        }),
      policy
    ).pipe(
      Effect.provideService(HedgePolicy.Targets, { leastInFlight: () => cluster.leastInFlight(jobs) }),
      Effect.withClock(clock)
    )
    Effect.runFork(program, { scheduler: turns }).addObserver(() => {
      elapsed[call] = agenda.now - startedAt
      hedges[call] = jobs.length - 1
    })
    turns.run()
  }
  const arrive = (call: number) => {
    begin(call)
    if (call + 1 < calls)
      agenda.after((-Math.log(1 - random.arrivals()) * 1000) / rate, () => arrive(call + 1))
  }

  agenda.at(0, () => arrive(0))
  agenda.run()
  return { elapsed, hedges }
}
