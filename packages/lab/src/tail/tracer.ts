/** Notes what became of each attempt, for `--html`. */
import { Context, Duration, Effect, FiberRef, type Layer, Option } from "effect"
import { HedgeEvent } from "effect-hedge"
import { now } from "../clock.js"
import { type Attempt, type Call, type CallGroup, evenly, largest } from "../html/call.js"
import { launches, type Stretch, stretches } from "../html/overTime.js"
import { dueTimes } from "./load.js"
import type { Trace } from "./protocol.js"
import type { Load } from "./settings.js"

/** Which call an effect is part of. */
class Place extends Context.Tag("hedge-lab/Place")<
  Place,
  { readonly index: number; readonly dueAt: number }
>() {}

/** Times are in milliseconds since the call was due. */
interface Noted {
  readonly index: number
  readonly startedMs: number
  readonly attempts: Array<{ startMs: number; endMs: number | undefined; end: Attempt["end"] }>
  endedMs: number
  winner: number | undefined
}

/** How many calls are shown for each reason. */
const shown = 12

export class Tracer {
  private readonly byId = new Map<string, Noted>()

  /** Effects to which it is provided are traced. */
  readonly layer: Layer.Layer<HedgeEvent.Listeners> = HedgeEvent.layer({
    onEvent: (event) => this.note(event)
  })

  readonly mark = <A, E, R>(call: Effect.Effect<A, E, R>, index: number, dueAt: number) =>
    Effect.provideService(call, Place, { index, dueAt })

  forget(): void {
    this.byId.clear()
  }

  /** @param latencies by the order in which calls were due; null for a call that failed. */
  trace(load: Load, latencies: ReadonlyArray<number | null>): Trace {
    const due = dueTimes(load)
    return { groups: this.groups(due, latencies), extraLoad: this.extraLoad(load, due) }
  }

  /** Calls one by one: some for being slow, some for their hedges, some by chance. */
  groups(due: ReadonlyArray<number>, latencies: ReadonlyArray<number | null>): ReadonlyArray<CallGroup> {
    const calls: Array<Call> = []
    for (const noted of this.byId.values()) {
      calls[noted.index] = callOf(noted, due[noted.index]!, latencies[noted.index]!)
    }
    return groupsOf(calls.filter((call) => call !== undefined))
  }

  private note(event: HedgeEvent.HedgeEvent): void {
    if (event._tag === "CallStarted") {
      const place = Context.getOption(event.caller.getFiberRef(FiberRef.currentContext), Place)
      if (Option.isNone(place)) return
      const { dueAt, index } = place.value
      const startedMs = now() - dueAt
      this.byId.set(event.callId, { index, startedMs, attempts: [], endedMs: startedMs, winner: undefined })
      return
    }
    const call = this.byId.get(event.callId)
    if (call === undefined) return
    const atMs = call.startedMs + Duration.toMillis(event.elapsed)
    switch (event._tag) {
      case "AttemptStarted":
        call.attempts[event.attempt] = { startMs: atMs, endMs: undefined, end: "CutOff" }
        return
      case "AttemptEnded": {
        const attempt = call.attempts[event.attempt]!
        attempt.endMs = attempt.startMs + Duration.toMillis(event.ran)
        if (event.outcome === "NonFatal" || event.outcome === "Fatal") attempt.end = "Failed"
        return
      }
      case "CallEnded":
        call.endedMs = atMs
        if (event.outcome === "Win") call.winner = event.winner
    }
  }

  private extraLoad(load: Load, due: ReadonlyArray<number>): ReadonlyArray<Stretch> {
    const all = Array.from(this.byId.values())
    if (load.rate === null) {
      return launches(
        load.calls,
        all.flatMap(({ attempts }) => attempts.slice(1).map(({ startMs }) => startMs))
      )
    }
    const hedges = due.map(() => 0)
    for (const { attempts, index } of all) hedges[index] = attempts.length - 1
    return stretches(due, hedges, (load.calls * 1_000) / load.rate)
  }
}

const callOf = (noted: Noted, dueMs: number, tookMs: number | null): Call => ({
  number: noted.index + 1,
  dueMs,
  tookMs,
  attempts: noted.attempts.map(({ end, endMs, startMs }, i) => ({
    startMs,
    endMs: endMs ?? noted.endedMs,
    end: i === noted.winner ? "Won" : end
  }))
})

const groupsOf = (calls: ReadonlyArray<Call>): ReadonlyArray<CallGroup> => {
  const hedged = calls.filter(({ attempts }) => attempts.length > 1)
  const took = calls.map(({ tookMs }) => tookMs ?? Infinity)
  const slowest = largest(shown, took).map((i) => calls[i]!)
  return [
    { title: `The ${slowest.length} slowest of ${count(calls)}`, calls: slowest },
    choose(hedged, "with a hedge"),
    choose(calls, "calls")
  ]
}

const choose = (calls: ReadonlyArray<Call>, what: string): CallGroup => {
  const chosen = evenly(shown, calls)
  return { title: `${chosen.length} of the ${count(calls)} ${what}`, calls: chosen }
}

const count = ({ length }: ReadonlyArray<Call>): string => length.toLocaleString("en-US")
