/**
 * Calls to simulated servers, on a clock that is a number. What a policy does in a call is decided by the policy itself, its schedule, its
 * throttle and what it learns (`HedgePolicy.unsafeBegin`): nothing of that is done here a second time.
 */
import { Utils } from "effect"
import { HedgePolicy } from "effect-hedge"
import { Agenda } from "./agenda.js"
import { Cluster, type Job } from "./cluster.js"
import type { Scenario } from "./settings.js"
import { draw, type Random } from "./workload.js"

/** What became of calls, by their numbers. Times are in milliseconds. */
export interface Outcomes {
  readonly startedAt: Float64Array
  readonly elapsed: Float64Array
  readonly hedges: Uint8Array
  /** 1 if a hedge was due to the call, and it was held out. */
  readonly heldOut: Uint8Array
  /** Calls that a hedge answered. */
  readonly wins: number
  /** Hedges that were not sent, by the reason. */
  readonly suppressed: Readonly<Record<string, number>>
}

/** Who wants to know more than the outcomes. */
export interface Watch {
  readonly launched: (call: number, attempt: number, now: number) => void
  readonly answered: (call: number, attempt: number) => void
}

/** What draws what. A call's first request is the same whatever the policy does, so that policies can be compared. */
export const streams = (seed: number) => {
  const stream = (index: number): Random => {
    // odd, since that is all that the generator takes of it
    const random = new Utils.PCGRandom(index, seed, 2 * index + 1)
    return () => random.number()
  }
  return { arrivals: stream(1), primaries: stream(2), hedges: stream(3), balancer: stream(4) }
}

/**
 * @param policy undefined for calls without hedges.
 * @param watch told of each launch and each answer.
 */
export const run = (
  policy: HedgePolicy.Service | undefined,
  { cluster: settings, traffic, workload }: Scenario,
  watch?: Watch
): Outcomes => {
  const { calls, rate, seed } = traffic
  const random = streams(seed)
  const agenda = new Agenda()
  const cluster = new Cluster(settings, agenda, random.balancer)
  const startedAt = new Float64Array(calls)
  const elapsed = new Float64Array(calls)
  const hedges = new Uint8Array(calls)
  const heldOut = new Uint8Array(calls)
  const suppressed: Record<string, number> = {}
  let wins = 0

  const begin = (call: number) => {
    const jobs: Array<Job> = []
    const decisions = policy === undefined ? undefined : HedgePolicy.unsafeBegin(policy, agenda.now)
    let answered = false

    const launch = (work: number) => {
      const attempt = jobs.length
      watch?.launched(call, attempt, agenda.now)
      const idleOnly = attempt > 0 && policy?.target === "idle"
      jobs.push(cluster.send(work, jobs, idleOnly, () => answer(attempt)))
      ask()
    }
    const ask = () => {
      const delay = decisions === undefined ? Infinity : decisions.delay()
      if (delay === 0) due()
      else if (delay < Infinity) agenda.after(delay, due)
    }
    const due = () => {
      if (answered || decisions === undefined) return
      const reason = decisions.refusal(agenda.now, "Stagger", () => cluster.leastInFlight(jobs))
      if (reason === undefined) {
        decisions.hedged(agenda.now, "Stagger")
        hedges[call]! += 1
        return launch(draw(workload(call), random.hedges))
      }
      suppressed[reason] = (suppressed[reason] ?? 0) + 1
      if (reason === "Holdout") heldOut[call] = 1
      ask()
    }
    const answer = (attempt: number) => {
      answered = true
      elapsed[call] = agenda.now - startedAt[call]!
      watch?.answered(call, attempt)
      if (attempt > 0) wins += 1
      decisions?.ended(agenda.now, attempt, "Win")
      decisions?.settled(agenda.now, attempt)
      for (const job of jobs) cluster.cancel(job)
      for (let hedge = 1; hedge < jobs.length; hedge++) decisions?.hedgeUnwound()
    }

    startedAt[call] = agenda.now
    launch(draw(workload(call), random.primaries))
  }

  const arrive = (call: number) => {
    begin(call)
    if (call + 1 < calls)
      agenda.after((-Math.log(1 - random.arrivals()) * 1000) / rate, () => arrive(call + 1))
  }

  agenda.at(0, () => arrive(0))
  agenda.run()
  return { startedAt, elapsed, hedges, heldOut, wins, suppressed }
}
