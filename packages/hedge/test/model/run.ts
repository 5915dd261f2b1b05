/** The real engine on a script, under Effect's own `TestClock`. */
import {
  Cause,
  Duration,
  Effect,
  Exit,
  Fiber,
  FiberId,
  Logger,
  Runtime,
  RuntimeFlags,
  RuntimeFlagsPatch,
  Schedule,
  ScheduleDecision,
  ScheduleInterval,
  TestClock,
  TestContext
} from "effect"
import {
  Hedge,
  HedgeAttempt,
  HedgeEvent,
  HedgeOutcome,
  HedgePolicy,
  HedgeSchedule,
  HedgeThrottle
} from "effect-hedge"
import {
  type AttemptSpec,
  attemptOf,
  type CallSpec,
  nanos,
  type ScheduleSpec,
  type Script,
  slip,
  type ThrottleSpec,
  untilOf
} from "./script.js"
import type { CallTrace, Seen, Taken, Told } from "./trace.js"

const inNanos = (duration: Duration.Duration): number => nanos(Duration.toMillis(duration))

const sleep = (nanoseconds: number): Effect.Effect<void> => Effect.sleep(Duration.nanos(BigInt(nanoseconds)))

const toDelay = (delay: number | "Infinite"): Duration.Duration =>
  delay === "Infinite" ? Duration.infinity : Duration.millis(delay)

const toThrottle = (spec: ThrottleSpec): HedgeThrottle.HedgeThrottle => {
  switch (spec._tag) {
    case "Unlimited":
      return HedgeThrottle.unlimited
    case "LoadBudget":
      return HedgeThrottle.loadBudget({ extraLoad: spec.extraLoad / 1000, burst: spec.burst })
    case "TokenBucket":
      return HedgeThrottle.tokenBucket({ maxTokens: spec.maxTokens, tokenRatio: spec.tokenRatio / 1000 })
    case "Concurrency":
      return HedgeThrottle.concurrency(spec.most)
    case "All":
      return HedgeThrottle.all(...spec.of.map(toThrottle))
  }
}

const toSchedule = (
  spec: ScheduleSpec,
  call: number
): Schedule.Schedule<unknown, HedgeSchedule.HedgeState> => {
  switch (spec._tag) {
    case "Fixed":
      return HedgeSchedule.fixed(toDelay(spec.delay))
    case "Exponential":
      return Schedule.exponential(Duration.millis(spec.base)).pipe(
        Schedule.intersect(Schedule.recurs(spec.times))
      )
    case "FromState":
      return Schedule.makeWithState(undefined, (now, state: HedgeSchedule.HedgeState) => {
        const delay = spec.perAttempt * state.attempt + spec.perInFlight * state.inFlight
        const next = ScheduleDecision.continueWith(ScheduleInterval.after(now + delay))
        return Effect.succeed([undefined, delay, next])
      })
    case "List":
      return Schedule.makeWithState(0, (now, _: HedgeSchedule.HedgeState, asked) => {
        const delay = spec.delays[asked]
        const decision =
          delay === undefined
            ? ScheduleDecision.done
            : ScheduleDecision.continueWith(ScheduleInterval.after(now + Duration.toMillis(toDelay(delay))))
        const step =
          delay === undefined && spec.end === "Dies"
            ? Effect.die("schedule")
            : Effect.succeed([asked + 1, delay, decision] as const)
        return spec.stepTime === 0
          ? step
          : Effect.zipRight(sleep(nanos(spec.stepTime) + slip(call, "Step", asked)), step)
      })
  }
}

const toPushback = (pushback: AttemptSpec["pushback"]): HedgeOutcome.Pushback | undefined =>
  pushback === "Unreadable" ? -1 : pushback

const toOutcome = ({ judged, pushback }: AttemptSpec): HedgeOutcome.HedgeOutcome => {
  switch (judged) {
    case "Win":
      return HedgeOutcome.win
    case "NonFatal":
      return HedgeOutcome.nonFatal(toPushback(pushback))
    case "Fatal":
      return HedgeOutcome.fatal(toPushback(pushback))
    case "Throws":
      throw "classify"
  }
}

const toExit = ({ exit }: AttemptSpec, id: string): Effect.Effect<string, string> => {
  switch (exit) {
    case "Success":
      return Effect.succeed(id)
    case "Failure":
      return Effect.fail(id)
    case "Defect":
      return Effect.die(id)
    case "SelfInterrupt":
      return Effect.interrupt
  }
}

const describeError = (error: unknown): string => {
  if (!(error instanceof Hedge.HedgeError)) return `Fail ${String(error)}`
  const reports = error.attempts.map(({ index, status, elapsed }) => `${index} ${status} ${inNanos(elapsed)}`)
  return `Fail ${error.reason} (${reports.join(", ")})`
}

/** The parts of a cause from left to right. */
const describeCause = (cause: Cause.Cause<unknown>): string => {
  const join = (left: string, right: string) =>
    left === "" || right === "" ? left + right : `${left}, ${right}`
  return Cause.match(cause, {
    onEmpty: "",
    onFail: describeError,
    onDie: (defect) => `Die ${String(defect)}`,
    onInterrupt: () => "Interrupt",
    onSequential: join,
    onParallel: join
  })
}

const describe = Exit.match({
  onSuccess: (value: unknown) => `Success ${String(value)}`,
  onFailure: (cause) => (Cause.isInterruptedOnly(cause) ? "Interrupt" : describeCause(cause))
})

/** Writes down what a call's caller, server and listener see. */
class Recorder {
  readonly told: Array<Told> = []
  readonly seen: Array<Seen> = []
  taken: Taken | undefined
  private startedAt = 0

  constructor(private readonly now: () => number) {}

  saw(what: Seen["what"], attempt: number): void {
    this.seen.push({ at: this.now(), what, attempt })
  }

  see(what: Seen["what"], attempt: number): Effect.Effect<void> {
    return Effect.sync(() => this.saw(what, attempt))
  }

  take(exit: Exit.Exit<unknown, unknown>): void {
    this.taken = { at: this.now(), exit: describe(exit) }
  }

  tell(event: HedgeEvent.HedgeEvent): void {
    const at = this.startedAt + inNanos(event.elapsed)
    switch (event._tag) {
      case "CallStarted":
        this.startedAt = this.now()
        break
      case "AttemptStarted":
        this.told.push({ _tag: event._tag, at, attempt: event.attempt, reason: event.reason })
        break
      case "AttemptEnded": {
        const { _tag, attempt, outcome, interrupted } = event
        const [ran, unwind] = [inNanos(event.ran), inNanos(event.unwind)]
        this.told.push({ _tag, at, attempt, outcome, interrupted, ran, unwind })
        break
      }
      case "HedgeSuppressed": {
        const { _tag, attempt, reason, throttle } = event
        this.told.push({ _tag, at, attempt, reason, throttle })
        break
      }
      case "Discarded":
        this.told.push({ _tag: event._tag, at, attempt: event.attempt, reason: event.reason })
        break
      case "CallEnded": {
        const { _tag, outcome, winner, attempts } = event
        const rejected = [...event.rejected].map(([index, exit]) => `${index} ${describe(exit)}`).join("; ")
        this.told.push({ _tag, at, outcome, winner, attempts, rejected })
        break
      }
    }
  }
}

const uninterruptibleForGood = Effect.patchRuntimeFlags(RuntimeFlagsPatch.disable(RuntimeFlags.Interruption))

const scripted = (
  spec: AttemptSpec,
  call: number,
  index: number,
  recorder: Recorder
): Effect.Effect<string, string> => {
  const answer = Effect.zipRight(recorder.see("answer", index), toExit(spec, `${call}.${index}`))
  const wait = spec.after === "Never" ? Effect.never : sleep(nanos(spec.after) - slip(call, "Answer", index))
  const unwind = recorder
    .see("interruption", index)
    .pipe(
      Effect.zipRight(
        spec.unwind === 0 ? Effect.void : sleep(nanos(spec.unwind) + slip(call, "Unwind", index))
      ),
      Effect.zipRight(recorder.see("unwound", index))
    )
  const work =
    spec.after === 0
      ? answer
      : Effect.zipRight(
          Effect.onInterrupt(wait, () => unwind),
          answer
        )
  return all(recorder.see("start", index), spec.stubborn ? uninterruptibleForGood : Effect.void, work)
}

const all = <A, E>(first: Effect.Effect<void>, second: Effect.Effect<void>, last: Effect.Effect<A, E>) =>
  Effect.zipRight(Effect.zipRight(first, second), last)

/** An attempt of a script that runs without a fiber; one that is stubborn, or takes time to unwind, wants one. */
class Fiberless extends HedgeAttempt.Fiberless<string, string> {
  constructor(
    private readonly spec: AttemptSpec,
    private readonly call: number,
    private readonly index: number,
    private readonly recorder: Recorder
  ) {
    super()
  }

  override launch(...[, caller, resume]: HedgeAttempt.LaunchArguments<string, string>) {
    const { call, index, recorder, spec } = this
    const { after } = spec
    if (spec.stubborn || spec.unwind > 0) return undefined
    const answer = () => {
      recorder.saw("answer", index)
      resume(Effect.runSyncExit(toExit(spec, `${call}.${index}`)))
    }
    const runtime = Runtime.make({
      context: caller.currentContext,
      runtimeFlags: Runtime.defaultRuntimeFlags,
      fiberRefs: caller.getFiberRefs()
    })
    recorder.saw("start", index)
    if (after === 0) answer()
    const wait =
      after === 0 || after === "Never" ? Effect.never : sleep(nanos(after) - slip(call, "Answer", index))
    const timer = Runtime.runFork(runtime, Effect.zipRight(wait, Effect.sync(answer)))
    return {
      cancel: () => {
        recorder.saw("interruption", index)
        timer.unsafeInterruptAsFork(FiberId.none)
        recorder.saw("unwound", index)
      }
    }
  }

  override commit(): Effect.Effect<string, string> {
    return scripted(this.spec, this.call, this.index, this.recorder)
  }
}

const toPolicy = (
  spec: CallSpec,
  call: number,
  throttle: HedgeThrottle.HedgeThrottle,
  recorder: Recorder
) => {
  const { onDiscard, deadline, minTimeLeft, attemptTimeout, maxPushback } = spec
  const policy = HedgePolicy.make({
    name: `call ${call}`,
    schedule: toSchedule(spec.schedule, call),
    maxAttempts: spec.maxAttempts,
    throttle,
    awaitLosers: spec.awaitLosers,
    classify: (_: Exit.Exit<string, string>, attempt) => toOutcome(attemptOf(spec, attempt.index)),
    gates: spec.gates.map(({ on, from, to, throws }, i) => (state: HedgeSchedule.HedgeState) => {
      const value = on === "elapsed" ? Duration.toMillis(state.elapsed) : state[on]
      if (value < from || value >= to) return undefined
      if (throws) throw "gate"
      return `gate ${i}`
    }),
    ...(deadline === undefined ? {} : { deadline }),
    ...(minTimeLeft === undefined ? {} : { minTimeLeft }),
    ...(attemptTimeout === undefined ? {} : { attemptTimeout }),
    ...(maxPushback === undefined ? {} : { maxPushback }),
    ...(onDiscard === "None"
      ? {}
      : {
          onDiscard: (value: string) => {
            const attempt = Number(value.split(".")[1])
            return all(
              recorder.see("release", attempt),
              onDiscard.millis === 0
                ? Effect.void
                : sleep(nanos(onDiscard.millis) + slip(call, "Discard", attempt)),
              onDiscard.dies ? Effect.die(`onDiscard ${value}`) : Effect.void
            )
          }
        })
  })
  return spec.off === "Ineligible" ? HedgePolicy.ineligible(policy) : policy
}

/** Runs `effect` in the second attempt of another call, where nothing is hedged. */
const nested = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Hedge.hedgeWith(({ index }) => (index === 0 ? Effect.never : effect), {
    schedule: HedgeSchedule.parallel,
    throttle: HedgeThrottle.unlimited,
    name: "around"
  })

const runCall = (spec: CallSpec, call: number, throttle: HedgeThrottle.HedgeThrottle, recorder: Recorder) => {
  const hedge = Hedge.hedgeWith(toPolicy(spec, call, throttle, recorder))
  const hedged = hedge(({ index }) => {
    const attempt = attemptOf(spec, index)
    return attempt.fiberless
      ? new Fiberless(attempt, call, index, recorder)
      : scripted(attempt, call, index, recorder)
  })
  const recorded = Effect.uninterruptibleMask((restore) =>
    Effect.map(Effect.exit(spec.interruptible ? restore(hedged) : hedged), (exit) => recorder.take(exit))
  )
  if (spec.off === "Disabled") return Hedge.withoutHedging(recorded)
  return spec.off === "Nested" ? nested(recorded) : recorded
}

const runScript = (script: Script): Effect.Effect<ReadonlyArray<CallTrace>> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const throttle = toThrottle(script.throttle)
    const recorders = script.calls.map(() => new Recorder(() => nanos(clock.unsafeCurrentTimeMillis())))
    const listener: HedgeEvent.Listener = {
      onEvent: (event) => recorders[Number(event.policy.split(" ")[1])]?.tell(event)
    }
    const logger = Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ cause }) => {
        const [, call, attempt] = /onDiscard (\d+)\.(\d+)/.exec(describeCause(cause)) ?? []
        recorders[Number(call)]?.saw("log", Number(attempt))
      })
    )
    for (const [call, spec] of script.calls.entries()) {
      const caller = yield* sleep(nanos(spec.startsAt) + slip(call, "Start", 0)).pipe(
        Effect.zipRight(runCall(spec, call, throttle, recorders[call]!)),
        Effect.provide(HedgeEvent.layer(listener)),
        Effect.provide(logger),
        Effect.forkDaemon
      )
      const { interruptedAt } = spec
      if (interruptedAt !== undefined) {
        yield* sleep(nanos(spec.startsAt) + slip(call, "Start", 0)).pipe(
          Effect.zipRight(sleep(nanos(interruptedAt) + slip(call, "Interruption", 0))),
          Effect.zipRight(Fiber.interruptFork(caller)),
          Effect.forkDaemon
        )
      }
    }
    yield* TestClock.adjust(Duration.nanos(BigInt(untilOf(script))))
    return recorders as ReadonlyArray<CallTrace>
  })

export const runEngine = (script: Script): Promise<ReadonlyArray<CallTrace>> =>
  Effect.runPromise(Effect.provide(runScript(script), TestContext.TestContext))
