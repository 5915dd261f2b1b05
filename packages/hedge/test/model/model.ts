/**
 * The reference model: the rules of a hedged call once more, as a pure function from a script to its trace.
 *
 * A discrete-event simulation. A `World` is immutable; a `Move` takes one to the next and says what was seen on the way. The engine's own
 * structure (fibers, observers, one alarm) has no counterpart here: only the rules do, and the order in which they apply at one instant.
 */
import type { HedgeEvent } from "effect-hedge"
import { type AttemptSpec, attemptOf, type CallSpec, nanos, type Script, slip, untilOf } from "./script.js"
import {
  callStarted,
  hedgeEnded,
  hedgeSent,
  outcomeKnown,
  refuses,
  type Throttle,
  throttleFrom
} from "./throttles.js"
import type { CallTrace } from "./trace.js"
import {
  type Attempt,
  all,
  atOnce,
  both,
  type Call,
  call,
  change,
  changeAttempt,
  type Exit,
  given,
  type Happening,
  inFlight,
  type Line,
  later,
  type Move,
  nothing,
  type Outcome,
  type Stagger,
  see,
  tell,
  throttling,
  type World
} from "./world.js"

// --- the schedule ------------------------------------------------------------------------------------------------------

/** What the schedule says when it is asked now. */
const answerOf = (self: Call): number | "Infinite" | "Done" | "Dies" => {
  const { schedule } = self.spec
  switch (schedule._tag) {
    case "Fixed":
      return schedule.delay
    case "List":
      return schedule.delays[self.answered] ?? schedule.end
    case "Exponential":
      return self.answered < schedule.times ? schedule.base * 2 ** self.answered : "Done"
    case "FromState":
      return schedule.perAttempt * self.attempts.length + schedule.perInFlight * inFlight(self)
  }
}

const ask = (c: number, afterRefusal: boolean): Move =>
  call(c, ({ spec: { schedule }, answered }, now) => {
    const stepTime = schedule._tag === "List" ? schedule.stepTime : 0
    return both(
      change(c, () => ({ stagger: { _tag: "Stepping", since: now, afterRefusal } })),
      stepTime === 0
        ? scheduleAnswers(c)
        : later(nanos(stepTime) + slip(c, "Step", answered), { _tag: "ScheduleAnswers", call: c })
    )
  })

/** The delay counts from the question. After a refusal a zero delay waits for a failure (R3). */
const scheduleAnswers = (c: number): Move =>
  call(c, (self) => {
    const { state, stagger, answered } = self
    if (state !== "Open" || stagger._tag !== "Stepping") return nothing
    const answer = answerOf(self)
    if (answer === "Dies") return fail(c, "schedule")
    const next: Stagger =
      answer === "Done"
        ? { _tag: "Done" }
        : answer === "Infinite" || (answer === 0 && stagger.afterRefusal)
          ? { _tag: "OnFailure" }
          : { _tag: "Until", at: stagger.since + nanos(answer) }
    return change(c, () => ({ stagger: next, answered: answered + 1 }))
  })

const staggerIsOver = ({ stagger }: Call, now: number): boolean =>
  stagger._tag === "Until" && stagger.at <= now

// --- launching ---------------------------------------------------------------------------------------------------------

const attemptsLeft = ({ attempts, spec, stagger }: Call): boolean =>
  attempts.length < spec.maxAttempts && stagger._tag !== "Done"

const launch = (c: number, reason: HedgeEvent.LaunchReason): Move =>
  call(c, ({ spec, attempts }, now) => {
    const i = attempts.length
    const { after } = attemptOf(spec, i)
    return all(
      tell(c, { _tag: "AttemptStarted", attempt: i, reason }),
      see(c, "start", i),
      change(c, ({ launches }) => ({
        launches: launches + 1,
        attempts: [...attempts, { startedAt: now, ended: false }],
        stagger: { _tag: "Unasked", afterRefusal: false }
      })),
      after === 0 ? see(c, "answer", i) : nothing,
      after === 0 || after === "Never"
        ? nothing
        : later(nanos(after) - slip(c, "Answer", i), { _tag: "AttemptAnswers", call: c, attempt: i })
    )
  })

const suppressed = (c: number, reason: string, throttle?: string): Move =>
  call(c, ({ attempts }) => tell(c, { _tag: "HedgeSuppressed", attempt: attempts.length, reason, throttle }))

type Verdict = "Yes" | "Throws" | { readonly refused: string; readonly throttle?: string }

/** The gates in their order, the throttle last. */
const verdictOf = (self: Call, now: number, throttle: Throttle): Verdict => {
  const { spec, startedAt, attempts, doNotRetry } = self
  if (doNotRetry) return { refused: "Pushback" }
  const left = deadlineOf(spec, startedAt) - now
  if (left <= 0 || left < nanos(spec.minTimeLeft ?? 0)) return { refused: "Deadline" }
  const state = {
    attempt: attempts.length,
    elapsed: (now - startedAt) / 1_000_000,
    inFlight: inFlight(self)
  }
  const closed = spec.gates.findIndex(({ on, from, to }) => state[on] >= from && state[on] < to)
  if (closed >= 0) return spec.gates[closed]!.throws ? "Throws" : { refused: `gate ${closed}` }
  const by = refuses(throttle, now)
  return by === undefined ? "Yes" : { refused: "Throttled", throttle: by }
}

/**
 * A hedge is due, for a failure or because the stagger is over; if for both, it is one, and the failure's. It is sent or suppressed. A
 * refusal of the stagger's asks the schedule for its next step, one of a failure's leaves the stagger as it is (R3).
 */
const hedge = (c: number): Move =>
  call(c, (self, now, { throttle }) => {
    const verdict = verdictOf(self, now, throttle)
    if (verdict === "Throws") return fail(c, "gate")
    const paid = change(c, ({ owed }) => ({ owed: Math.max(0, owed - 1) }))
    if (verdict === "Yes") {
      return all(paid, throttling(hedgeSent), launch(c, self.owed > 0 ? "Failure" : "Stagger"))
    }
    const stagger: Stagger = self.doNotRetry
      ? { _tag: "Done" }
      : staggerIsOver(self, now)
        ? { _tag: "Unasked", afterRefusal: true }
        : self.stagger
    return all(
      paid,
      suppressed(c, verdict.refused, verdict.throttle),
      inFlight(self) === 0 ? endNonFatal(c) : change(c, () => ({ stagger }))
    )
  })

/** No call launches more at once; then whatever else is to follow at this instant goes first (R14). */
const launchesPerTurn = 16

const yields = (c: number): Move =>
  both(
    change(c, () => ({ yielding: true })),
    atOnce({ _tag: "CallResumes", call: c })
  )

/** What follows, without any time passing, until only time or an answer can change the call. */
const goOn = (c: number): Move =>
  call(c, (self, now, { atOnce }) => {
    const { spec, state, attempts, stagger, owed, pushedBackUntil, doNotRetry, launches, yielding } = self
    if (state !== "Open") return nothing
    const dying = atOnce.find((what) => what.call === c && what._tag === "DiscardDies")
    if (dying !== undefined) return both(follow(dying), goOn(c))
    const ready = attempts.findIndex(
      ({ judged }, i) => judged === undefined && attemptOf(spec, i).after === 0
    )
    if (ready >= 0) return both(answers(c, ready), goOn(c))
    if (!attemptsLeft(self)) return inFlight(self) === 0 ? endNonFatal(c) : nothing
    if (stagger._tag === "Unasked") return both(ask(c, stagger.afterRefusal), goOn(c))
    const due = owed > 0 || staggerIsOver(self, now)
    const waits = stagger._tag === "Stepping" || now < pushedBackUntil
    if (!due || yielding || (waits && !doNotRetry)) return nothing
    return launches < launchesPerTurn ? both(hedge(c), goOn(c)) : yields(c)
  })

// --- outcomes ------------------------------------------------------------------------------------------------------------

/** As the caller of call `c` would see it. */
const describe = (exit: Exit, c: number): string =>
  "successOf" in exit ? `Success ${c}.${exit.successOf}` : exit.causes.join(", ")

const exitOf = ({ exit }: AttemptSpec, c: number, i: number): Exit => {
  switch (exit) {
    case "Success":
      return { successOf: i }
    case "Failure":
      return { causes: [`Fail ${c}.${i}`] }
    case "Defect":
      return { causes: [`Die ${c}.${i}`] }
    case "SelfInterrupt":
      return { causes: ["Interrupt"] }
  }
}

/** Without an outcome of its own it counts as cancelled, unless it has timed out before: then it was NonFatal. */
const ended = (c: number, i: number, outcome?: Outcome): Move =>
  all(
    changeAttempt(c, i, () => ({ ended: true })),
    i > 0 ? throttling(hedgeEnded) : nothing,
    call(c, ({ attempts }, now) => {
      const { startedAt, interrupted, judged } = attempts[i]!
      const until = interrupted?.at ?? now
      return tell(c, {
        _tag: "AttemptEnded",
        attempt: i,
        outcome: outcome ?? judged?.as ?? "Cancelled",
        interrupted: interrupted?.why,
        ran: until - startedAt,
        unwind: now - until
      })
    })
  )

const attemptAnswers = (c: number, i: number): Move =>
  call(c, ({ spec, attempts }) =>
    attempts[i]!.interrupted !== undefined && !attemptOf(spec, i).stubborn
      ? nothing
      : both(see(c, "answer", i), answers(c, i))
  )

const answers = (c: number, i: number): Move =>
  call(c, ({ spec, state, attempts }) => {
    const { exit, judged, pushback } = attemptOf(spec, i)
    if (state !== "Open" || attempts[i]!.interrupted !== undefined) {
      return both(ended(c, i), exit === "Success" ? discard(c, i, "Late") : nothing)
    }
    // then it is an attempt of a call that has ended
    if (judged === "Throws") {
      return all(
        changeAttempt(c, i, () => ({ ended: true })),
        fail(c, "classify"),
        answers(c, i)
      )
    }
    return both(ended(c, i, judged), judge(c, i, judged, exitOf(attemptOf(spec, i), c, i), pushback))
  })

const doesNotRetry = (pushback: AttemptSpec["pushback"]): boolean =>
  pushback === "DoNotRetry" || pushback === "Unreadable"

const judge = (
  c: number,
  i: number,
  as: Outcome,
  exit: Exit,
  pushback?: AttemptSpec["pushback"],
  timedOut = false
): Move =>
  all(
    changeAttempt(c, i, (now) => ({ judged: { as, at: now, exit, timedOut } })),
    throttling((throttle) => outcomeKnown(throttle, as, doesNotRetry(pushback))),
    as !== "NonFatal"
      ? settle(c, as, exit, i)
      : both(nonFatal(c, pushback), i > 0 && "successOf" in exit ? discard(c, i, "Rejected") : nothing)
  )

/** Each NonFatal earns a launch; while a pushback runs, all of them together earn one. */
const nonFatal = (c: number, pushback: AttemptSpec["pushback"]): Move =>
  change(c, ({ spec, startedAt, pushedBackUntil, owed, doNotRetry }, now) => {
    if (pushback === undefined) return { owed: now < pushedBackUntil ? 1 : owed + 1 }
    const until = typeof pushback === "number" ? now + nanos(pushback) : Infinity
    const tooLong = until > now + nanos(spec.maxPushback ?? 1000) || until >= deadlineOf(spec, startedAt)
    const latest = tooLong ? pushedBackUntil : Math.max(until, pushedBackUntil)
    return {
      owed: now < latest ? 1 : owed + 1,
      pushedBackUntil: latest,
      doNotRetry: doNotRetry || tooLong
    }
  })

const discard = (c: number, i: number, reason: HedgeEvent.DiscardReason): Move =>
  call(c, ({ spec: { onDiscard } }) => {
    const told = tell(c, { _tag: "Discarded", attempt: i, reason })
    if (onDiscard === "None") return told
    const { millis, dies } = onDiscard
    const end: Happening = { _tag: dies ? "DiscardDies" : "DiscardEnds", call: c, attempt: i }
    return all(
      told,
      see(c, "release", i),
      change(c, ({ discarding }) => ({ discarding: discarding + 1 })),
      millis === 0 ? atOnce(end) : later(nanos(millis) + slip(c, "Discard", i), end)
    )
  })

const discardEnds = (c: number): Move => change(c, ({ discarding }) => ({ discarding: discarding - 1 }))

/** Before the call has ended this ends it, afterwards it is logged (R12). */
const discardDies = (c: number, i: number): Move =>
  both(
    discardEnds(c),
    call(c, ({ state }) => (state === "Open" ? fail(c, `onDiscard ${c}.${i}`) : see(c, "log", i)))
  )

// --- the end -------------------------------------------------------------------------------------------------------------

const whyInterrupted: Record<HedgeEvent.CallOutcome, HedgeEvent.InterruptReason> = {
  Win: "Lost",
  NonFatal: "Lost",
  Fatal: "Lost",
  DeadlineExceeded: "DeadlineExceeded",
  Interrupted: "CallerInterrupted",
  Defect: "Defect"
}

const settle = (c: number, outcome: HedgeEvent.CallOutcome, exit: Exit, winner?: number): Move =>
  call(c, ({ attempts }) => {
    const primary = attempts[0]!.judged
    const rejected = attempts.flatMap(({ judged }, i) =>
      judged?.as === "NonFatal" ? [`${i} ${describe(judged.exit, c)}`] : []
    )
    const held = primary?.as === "NonFatal" && "successOf" in primary.exit && winner !== 0
    return all(
      change(c, () => ({ state: "Settled", exit })),
      tell(c, {
        _tag: "CallEnded",
        outcome,
        winner,
        attempts: attempts.length,
        rejected: rejected.join("; ")
      }),
      held ? discard(c, 0, "Rejected") : nothing,
      ...attempts.map((attempt, i) =>
        attempt.ended || attempt.interrupted !== undefined
          ? nothing
          : interrupt(c, i, whyInterrupted[outcome])
      )
    )
  })

const interrupt = (c: number, i: number, why: HedgeEvent.InterruptReason): Move =>
  call(c, ({ spec }) => {
    const { stubborn, unwind } = attemptOf(spec, i)
    const noted = changeAttempt(c, i, (now) => ({ interrupted: { at: now, why } }))
    if (stubborn) return noted
    const unwound: Happening = { _tag: "AttemptHasUnwound", call: c, attempt: i }
    return all(
      noted,
      see(c, "interruption", i),
      unwind === 0 ? atOnce(unwound) : later(nanos(unwind) + slip(c, "Unwind", i), unwound)
    )
  })

const hasUnwound = (c: number, i: number): Move => both(see(c, "unwound", i), ended(c, i))

const fail = (c: number, what: string): Move => settle(c, "Defect", { causes: [`Die ${what}`] })

/** All were NonFatal: the primary's exit; the others' causes beside it if all are nothing but typed failures (R5). */
const endNonFatal = (c: number): Move =>
  call(c, ({ attempts }) => {
    const exits = attempts.map(({ judged }) => judged!.exit)
    const primary = exits[0]!
    const causes = exits.flatMap((exit) => ("causes" in exit ? exit.causes : []))
    const together = "causes" in primary && causes.every((cause) => cause.startsWith("Fail"))
    return settle(c, "NonFatal", together ? { causes } : primary, 0)
  })

const deadlinePasses = (c: number): Move =>
  call(c, ({ attempts }, now) => {
    const reports = attempts.map(({ startedAt, judged }, i) => {
      const status = judged === undefined ? "Running" : judged.timedOut ? "TimedOut" : "NonFatal"
      return `${i} ${status} ${(judged?.at ?? now) - startedAt}`
    })
    return settle(c, "DeadlineExceeded", { causes: [`Fail DeadlineExceeded (${reports.join(", ")})`] })
  })

const callerIsInterrupted = (c: number): Move =>
  call(c, ({ spec, state, callerInterrupted }) => {
    if (!spec.interruptible || callerInterrupted || (state !== "Open" && state !== "Settled")) return nothing
    const noted = change(c, () => ({ callerInterrupted: true }))
    return state === "Settled" ? noted : both(noted, settle(c, "Interrupted", { causes: ["Interrupt"] }))
  })

/**
 * The caller takes the exit of a settled call: at once, or when attempts and discards have ended. One that was interrupted while it waited
 * for that takes nothing: the success that it would have got is discarded, and that is waited for, too.
 */
const take = (c: number): Move =>
  call(c, ({ spec, state, attempts, callerInterrupted, discarding, exit }, now) => {
    if (state !== "Settled" || exit === undefined) return nothing
    const waits = spec.awaitLosers || callerInterrupted
    if (waits && (discarding > 0 || attempts.some(({ ended }) => !ended))) return nothing
    if (callerInterrupted && "successOf" in exit) {
      return all(
        change(c, () => ({ exit: { causes: ["Interrupt"] } })),
        discard(c, exit.successOf, "CallerInterrupted"),
        take(c)
      )
    }
    const taken = callerInterrupted ? "Interrupt" : describe(exit, c)
    return both(
      change(c, () => ({ state: "Taken" })),
      (world) => [world, [{ call: c, taken: { at: now, exit: taken } }]]
    )
  })

// --- timers --------------------------------------------------------------------------------------------------------------

const deadlineOf = ({ deadline }: CallSpec, startedAt: number): number =>
  deadline === undefined ? Infinity : startedAt + nanos(deadline)

const timeoutOf = ({ attemptTimeout }: CallSpec, { judged, startedAt }: Attempt): number =>
  attemptTimeout === undefined || judged !== undefined ? Infinity : startedAt + nanos(attemptTimeout)

/** When something is due in an open call; what is due when a pushback or a stagger ends, `goOn` sees by the time. */
const timersOf = ({ spec, state, startedAt, attempts, pushedBackUntil, stagger }: Call) =>
  state !== "Open"
    ? []
    : [
        deadlineOf(spec, startedAt),
        ...attempts.map((attempt) => timeoutOf(spec, attempt)),
        pushedBackUntil,
        stagger._tag === "Until" ? stagger.at : Infinity
      ]

/** The deadline goes before attempt timeouts, and these before what is launched then. */
const timersGoOff = (c: number): Move =>
  call(c, ({ spec, startedAt, attempts }, now) =>
    deadlineOf(spec, startedAt) <= now
      ? deadlinePasses(c)
      : all(
          change(c, () => ({ launches: 0 })),
          ...attempts.map((attempt, i) => (timeoutOf(spec, attempt) <= now ? timesOut(c, i) : nothing))
        )
  )

const timesOut = (c: number, i: number): Move =>
  call(c, ({ attempts }, now) => {
    const report = `${i} TimedOut ${now - attempts[i]!.startedAt}`
    return both(
      judge(c, i, "NonFatal", { causes: [`Fail AttemptTimeout (${report})`] }, undefined, true),
      interrupt(c, i, "AttemptTimeout")
    )
  })

// --- the run -------------------------------------------------------------------------------------------------------------

const callStarts = (c: number): Move =>
  all(
    change(c, (_, now) => ({ state: "Open", startedAt: now })),
    throttling(callStarted),
    launch(c, "Primary"),
    call(c, ({ spec: { off } }) =>
      off === undefined
        ? nothing
        : both(
            change(c, () => ({ stagger: { _tag: "Done" } })),
            suppressed(c, off)
          )
    )
  )

const happens = (what: Happening): Move =>
  both(
    change(what.call, () => ({ launches: 0 })),
    effectOf(what)
  )

const effectOf = (what: Happening): Move => {
  switch (what._tag) {
    case "CallStarts":
      return callStarts(what.call)
    case "CallerIsInterrupted":
      return callerIsInterrupted(what.call)
    case "ScheduleAnswers":
      return scheduleAnswers(what.call)
    case "CallResumes":
      return change(what.call, () => ({ yielding: false }))
    case "AttemptAnswers":
      return attemptAnswers(what.call, what.attempt)
    case "AttemptHasUnwound":
      return hasUnwound(what.call, what.attempt)
    case "DiscardEnds":
      return discardEnds(what.call)
    case "DiscardDies":
      return discardDies(what.call, what.attempt)
  }
}

/** Something that was to follow at once happens. */
const follow = (what: Happening): Move =>
  both((world) => [{ ...world, atOnce: world.atOnce.filter((other) => other !== what) }, []], happens(what))

const aftermath = (c: number): Move => both(goOn(c), take(c))

const followUps: Move = given(({ atOnce: [first] }) =>
  first === undefined ? nothing : all(follow(first), aftermath(first.call), followUps)
)

const initial = (script: Script): World => ({
  now: 0,
  throttle: throttleFrom(script.throttle),
  calls: script.calls.map((spec) => ({
    spec,
    state: "Ahead",
    startedAt: 0,
    attempts: [],
    stagger: { _tag: "Unasked", afterRefusal: false },
    answered: 0,
    owed: 0,
    pushedBackUntil: 0,
    doNotRetry: false,
    discarding: 0,
    launches: 0,
    yielding: false,
    callerInterrupted: false
  })),
  ahead: script.calls.flatMap((spec, call) => {
    const startsAt = nanos(spec.startsAt) + slip(call, "Start", 0)
    const starts = { at: startsAt, what: { _tag: "CallStarts", call } as const }
    if (spec.interruptedAt === undefined) return [starts]
    const at = startsAt + nanos(spec.interruptedAt) + slip(call, "Interruption", 0)
    return [starts, { at, what: { _tag: "CallerIsInterrupted", call } as const }]
  }),
  atOnce: []
})

/** The next instant at which anything happens, the happenings, and the calls that have a timer then. */
const next = (world: World) => {
  const timers = world.calls.map((call) => Math.min(...timersOf(call).filter((at) => at > world.now)))
  const at = Math.min(...timers, ...world.ahead.map(({ at }) => at))
  return {
    at,
    happenings: world.ahead.filter((one) => one.at === at),
    calls: timers.flatMap((due, c) => (due === at ? [c] : []))
  }
}

export interface Result {
  readonly traces: ReadonlyArray<CallTrace>
  /** Whether two things that are no timers of one call happened at one instant: their order is `TestClock`'s affair. */
  readonly coincidence: boolean
  /** How many instants something happened at. */
  readonly instants: number
}

/** Runs a script until `untilOf(script)`. */
export const runModel = (script: Script): Result => {
  const until = untilOf(script)
  let world = initial(script)
  let coincidence = false
  let instants = 0
  const lines: Array<Line> = []
  for (;;) {
    const { at, happenings, calls } = next(world)
    if (at > until) break
    coincidence ||= happenings.length + calls.length > 1
    instants += 1
    const instant = all(
      ...happenings.map(({ what }) => both(happens(what), aftermath(what.call))),
      ...calls.map((c) => both(timersGoOff(c), aftermath(c))),
      followUps
    )
    const [after, seen] = instant({ ...world, now: at, ahead: world.ahead.filter((one) => one.at !== at) })
    world = after
    lines.push(...seen)
  }
  return {
    coincidence,
    instants,
    traces: script.calls.map((_, c) => {
      const own = lines.filter(({ call }) => call === c)
      return {
        told: own.flatMap((line) => ("told" in line ? [line.told] : [])),
        seen: own.flatMap((line) => ("seen" in line ? [line.seen] : [])),
        taken: own.flatMap((line) => ("taken" in line ? [line.taken] : []))[0]
      }
    })
  }
}
