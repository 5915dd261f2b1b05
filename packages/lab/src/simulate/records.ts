/** What a page shows of a simulation and a row has no place for. */
import type { Call } from "../html/call.js"
import type { Observer, Side } from "./experiment.js"
import type { Load } from "./settings.js"
import type { Outcomes } from "./simulation.js"

/** One side under one load. */
export class Record {
  outcomes: Outcomes | undefined
  /** When hedges were sent, and which attempt won if it was not the primary; by the number of their call. */
  private readonly hedgesAt = new Map<number, Array<number>>()
  private readonly winners = new Map<number, number>()

  launched(call: number, attempt: number, now: number): void {
    if (attempt === 0) return
    const times = this.hedgesAt.get(call)
    if (times === undefined) this.hedgesAt.set(call, [now])
    else times.push(now)
  }

  answered(call: number, attempt: number): void {
    if (attempt > 0) this.winners.set(call, attempt)
  }

  ended(outcomes: Outcomes): void {
    this.outcomes = outcomes
  }

  /** @param plain what the same calls took without hedges. */
  call(index: number, plain: Float64Array): Call {
    const { elapsed, startedAt } = this.outcomes!
    const dueMs = startedAt[index]!
    const tookMs = elapsed[index]!
    const winner = this.winners.get(index) ?? 0
    const starts = [0, ...(this.hedgesAt.get(index) ?? []).map((at) => at - dueMs)]
    return {
      number: index + 1,
      dueMs,
      tookMs,
      plainMs: plain[index]!,
      attempts: starts.map((startMs, i) => ({
        startMs,
        endMs: tookMs,
        end: i === winner ? "Won" : "CutOff"
      }))
    }
  }
}

export class Records {
  private readonly all = new Map<Load, Map<Side, Record>>()

  readonly observer: Observer = (load, side) => {
    const record = new Record()
    const sides = this.all.get(load) ?? new Map<Side, Record>()
    this.all.set(load, sides.set(side, record))
    return record
  }

  of(load: Load): ReadonlyMap<Side, Record> {
    return this.all.get(load) ?? new Map()
  }
}
