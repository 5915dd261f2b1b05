import { Clock, Context, Effect, Layer, Option, type Scope } from "effect"
import { HedgePolicy } from "effect-hedge"
import { type Latency, percentile, random, sorted } from "./samples.js"

type Service = HedgePolicy.Service

/** The policy of a layer that lives as long as the test's scope. */
export const policyOf = (
  layer: Layer.Layer<HedgePolicy.DefaultPolicy>
): Effect.Effect<Service, never, Scope.Scope> =>
  Effect.map(Layer.build(layer), (context) => Context.get(context, HedgePolicy.DefaultPolicy))

/** What a policy knows at a point of the simulation's time. */
export const inspectedAt = (policy: Service, now: number): HedgePolicy.Inspection =>
  HedgePolicy.inspect(policy).pipe(
    Effect.map(Option.getOrThrow),
    Effect.withClock({ ...Clock.make(), unsafeCurrentTimeMillis: () => now }),
    Effect.runSync
  )

export interface Workload {
  readonly calls: number
  readonly seed: number
  /** The latency of an attempt of a call; `first` is its primary's, if it is a hedge. */
  readonly latency: (call: number, uniform: () => number, first: number | undefined) => number
  /** Calls a second, of which each comes when chance wants it. Default 1,000. */
  readonly rate?: number
  /** Called before each call. */
  readonly onCall?: (call: number, now: number) => void
}

export const always =
  (latency: Latency): Workload["latency"] =>
  (_, u) =>
    latency(u)

/** What became of a call. */
export interface Outcome {
  readonly elapsed: number
  readonly hedges: number
  /** Why hedges were not sent. */
  readonly refused: ReadonlyArray<string>
}

interface Running {
  readonly id: number
  readonly startedAt: number
  readonly first: number
  readonly decisions: HedgePolicy.Decisions
  readonly refused: Array<string>
  launched: number
  answered: boolean
}

/** Things to do at times, the earliest first: a binary heap. */
class Agenda {
  private readonly entries: Array<readonly [number, () => void]> = []

  add(at: number, act: () => void): void {
    const { entries } = this
    let i = entries.push([at, act]) - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (entries[parent]![0] <= at) break
      entries[i] = entries[parent]!
      i = parent
    }
    entries[i] = [at, act]
  }

  take(): readonly [number, () => void] | undefined {
    const { entries } = this
    const first = entries[0]
    const last = entries.pop()
    if (first === undefined || last === undefined || entries.length === 0) return first
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child + 1 < entries.length && entries[child + 1]![0] < entries[child]![0]) child += 1
      if (child >= entries.length || entries[child]![0] >= last[0]) break
      entries[i] = entries[child]!
      i = child
    }
    entries[i] = last
    return first
  }
}

/** Calls of a policy whose copies run on their own, on a clock that is a number. */
export const simulate = (policy: Service, workload: Workload): ReadonlyArray<Outcome> => {
  const { calls, latency, onCall, rate = 1000, seed } = workload
  const u = random(seed)
  const agenda = new Agenda()
  const outcomes: Array<Outcome> = []
  let now = 0

  const launch = (call: Running, millis: number) => {
    const attempt = call.launched++
    agenda.add(now + millis, () => answer(call, attempt))
    ask(call)
  }
  const answer = (call: Running, attempt: number) => {
    if (call.answered) return
    call.answered = true
    call.decisions.ended(now, attempt, "Win")
    call.decisions.settled(now, attempt)
    for (let hedge = 1; hedge < call.launched; hedge++) call.decisions.hedgeUnwound()
    outcomes[call.id] = { elapsed: now - call.startedAt, hedges: call.launched - 1, refused: call.refused }
  }
  const ask = (call: Running) => {
    const delay = call.decisions.delay()
    if (delay === 0) due(call)
    else if (delay < Infinity) agenda.add(now + delay, () => due(call))
  }
  const due = (call: Running) => {
    if (call.answered) return
    const reason = call.decisions.refusal(now, "Stagger")
    if (reason !== undefined) {
      call.refused.push(reason)
      return ask(call)
    }
    call.decisions.hedged(now, "Stagger")
    launch(call, latency(call.id, u, call.first))
  }
  const arrive = (id: number) => {
    onCall?.(id, now)
    const first = latency(id, u, undefined)
    const decisions = HedgePolicy.unsafeBegin(policy, now)
    launch({ id, startedAt: now, first, decisions, refused: [], launched: 0, answered: false }, first)
    if (id + 1 < calls) agenda.add(now - (Math.log(1 - u()) * 1000) / rate, () => arrive(id + 1))
  }

  agenda.add(0, () => arrive(0))
  for (let next = agenda.take(); next !== undefined; next = agenda.take()) {
    now = next[0]
    next[1]()
  }
  return outcomes
}

/** A percentile of what calls took that were not held out. */
export const latencyAt = (outcomes: ReadonlyArray<Outcome>, p: number): number =>
  percentile(
    sorted(outcomes.flatMap(({ elapsed, refused }) => (refused.includes("Holdout") ? [] : [elapsed]))),
    p
  )

export const loadOf = (outcomes: ReadonlyArray<Outcome>): number =>
  outcomes.reduce((sum, { hedges }) => sum + hedges, 0) / outcomes.length

/** How many calls were refused a hedge for this reason. */
export const refusedFor = (outcomes: ReadonlyArray<Outcome>, reason: string): number =>
  outcomes.filter(({ refused }) => refused.includes(reason)).length
