/** Everything that may not happen, watched while it might. */
import { monitorEventLoopDelay } from "node:perf_hooks"
import type { LaneEvent } from "@effect-hedge/platform-node"
import { Cause, Effect, Logger, LogLevel, type Scope } from "effect"
import type { HedgeEvent } from "effect-hedge"
import type { Told } from "./protocol.js"

/** How many violations are kept in words. */
const mostKept = 20

export class Watch {
  violations = 0
  readonly kept: Array<string> = []
  readonly counts = new Map<string, number>()
  /** Milliseconds that a call ended after its deadline, at most. */
  latestEnd = -Infinity
  hedges = 0
  lanesOpen = 0
  lanesOpened = 0
  private readonly loop = monitorEventLoopDelay({ resolution: 1 })
  private readonly arrivals = new Map<string, number>()
  private readonly attempts = new Map<string, number>()

  constructor(private readonly mostAttempts: number) {
    this.loop.enable()
  }

  /** How late this process has been at most, in milliseconds. */
  get latestTurn(): number {
    return this.loop.max / 1e6
  }

  violated(what: string): void {
    this.violations++
    if (this.kept.length < mostKept) this.kept.push(what)
  }

  add(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }

  /** What a server tells. */
  readonly onTold = (told: Told): void => {
    if (told._tag === "WrongUpload") {
      this.violated(
        `call ${told.call} over ${told.protocol}, attempt ${told.attempt}: an upload of ${told.length} bytes passed for the whole`
      )
    }
    if (told._tag !== "Arrived") return
    const { attempt, call, mischief } = told
    if (mischief !== "none") this.add(`mischief: ${mischief}`)
    const copy = `${call}/${attempt}`
    const copies = (this.arrivals.get(copy) ?? 0) + 1
    this.arrivals.set(copy, copies)
    if (copies > 1) this.violated(`call ${call}, attempt ${attempt}: the server saw ${copies} copies of it`)
    if (attempt >= this.mostAttempts) this.violated(`call ${call}: the server saw an attempt ${attempt}`)
  }

  readonly hedgeListener: HedgeEvent.Listener = {
    onEvent: (event) => {
      switch (event._tag) {
        case "CallStarted":
          this.attempts.set(event.callId, 0)
          return
        case "AttemptStarted":
          if (event.attempt > 0) this.hedges++
          this.attempts.set(event.callId, (this.attempts.get(event.callId) ?? 0) + 1)
          return
        case "AttemptEnded":
          this.attempts.set(event.callId, (this.attempts.get(event.callId) ?? 0) - 1)
      }
    }
  }

  readonly laneListener: LaneEvent.Listener = {
    onEvent: (event) => {
      switch (event._tag) {
        case "LaneOpened":
          this.lanesOpen++
          this.lanesOpened++
          return
        case "LaneClosed":
          this.lanesOpen--
          return
        case "RequestEnded":
          this.add(`requests: ${event.outcome}`)
      }
    }
  }

  /** Whatever has started must have ended. */
  checkEnded(): void {
    let left = 0
    for (const attempts of this.attempts.values()) left += attempts
    if (left !== 0) this.violated(`${left} attempts have not ended`)
    if (this.lanesOpen !== 0) this.violated(`${this.lanesOpen} lanes have not closed`)
    this.attempts.clear()
    this.arrivals.clear()
  }

  /** Listens to the process, until the scope closes. */
  readonly process: Effect.Effect<void, never, Scope.Scope> = Effect.acquireRelease(
    Effect.sync(() => {
      const listeners = {
        unhandledRejection: (reason: unknown) => this.violated(`unhandled rejection: ${describe(reason)}`),
        uncaughtException: (error: unknown) => this.violated(`uncaught exception: ${describe(error)}`),
        warning: (warning: Error) => this.violated(`warning: ${describe(warning)}`)
      }
      for (const [event, listener] of Object.entries(listeners)) process.on(event, listener)
      return listeners
    }),
    (listeners) =>
      Effect.sync(() => {
        for (const [event, listener] of Object.entries(listeners)) process.off(event, listener)
        this.loop.disable()
      })
  ).pipe(Effect.asVoid)

  /** Nothing is to be logged as an error. */
  readonly logger = Logger.make<unknown, void>(({ cause, logLevel, message }) => {
    if (LogLevel.lessThan(logLevel, LogLevel.Warning)) return
    this.violated(`logged: ${String(message)} ${Cause.isEmpty(cause) ? "" : Cause.pretty(cause)}`)
  })
}

const describe = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)
