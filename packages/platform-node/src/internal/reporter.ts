import { performance } from "node:perf_hooks"
import type { LaneEvent, Listener, Phases, RequestEnded } from "../LaneEvent.js"
import type { ConnectFailures } from "./connectFailures.js"
import type { LaneGroup } from "./group.js"
import type { DrainReason } from "./lane.js"
import type { Member } from "./member.js"
import type { Transfer } from "./transfer.js"

/** Undefined if one of them has not happened. */
const between = (start: number, end: number): number | undefined => {
  const millis = end - start
  return Number.isNaN(millis) ? undefined : millis
}

/** Where the time of a request went, as far as it has come. */
export const phasesOf = (transfer: Transfer): Phases => {
  const { endedAt, firstByteAt, fresh, member, sentAt, startedAt, takenAt } = transfer
  const { dns, tcp, tls } = fresh && member !== undefined ? member.phases : noConnect
  const acquired = between(startedAt, takenAt)
  const waited = acquired ?? between(startedAt, endedAt) ?? 0
  return {
    queued: Math.max(0, waited - (dns ?? 0) - (tcp ?? 0) - (tls ?? 0)),
    dns,
    tcp,
    tls,
    acquired,
    sent: between(takenAt, sentAt),
    firstByte: between(sentAt, firstByteAt),
    body: between(firstByteAt, endedAt)
  }
}

const noConnect = { dns: undefined, tcp: undefined, tls: undefined }

/** Makes events for the listeners of a client. A client without any has no reporter. */
export class Reporter {
  constructor(
    private readonly listeners: ReadonlyArray<Listener>,
    private readonly onDefect: (defect: unknown) => void
  ) {}

  requestEnded(transfer: Transfer, outcome: RequestEnded["outcome"]): void {
    const { activeStreams, attempt, callId, failure, fresh, group, member, method, status } = transfer
    this.tell({
      _tag: "RequestEnded",
      origin: group.upstream.origin,
      long: group.long,
      outcome,
      method,
      status: status === 0 ? undefined : status,
      error: outcome === "Failed" ? failure : undefined,
      lane: member?.info,
      fresh,
      activeStreams,
      phases: phasesOf(transfer),
      callId,
      attempt
    })
  }

  laneOpened({ long, upstream }: LaneGroup, { info, phases }: Member): void {
    this.tell({ _tag: "LaneOpened", origin: upstream.origin, long, lane: info, phases })
  }

  laneDraining({ long, upstream }: LaneGroup, { info }: Member, reason: DrainReason): void {
    this.tell({ _tag: "LaneDraining", origin: upstream.origin, long, lane: info, reason })
  }

  laneClosed(
    { long, upstream }: LaneGroup,
    { info, openedAt, requests }: Member,
    error: Error | undefined
  ): void {
    const age = performance.now() - openedAt
    this.tell({ _tag: "LaneClosed", origin: upstream.origin, long, lane: info, error, age, requests })
  }

  connectFailed({ long, upstream }: LaneGroup, error: Error, { backOff, inRow }: ConnectFailures): void {
    this.tell({ _tag: "ConnectFailed", origin: upstream.origin, long, error, failures: inRow, backOff })
  }

  private tell(event: LaneEvent): void {
    for (const listener of this.listeners) {
      try {
        listener.onEvent(event)
      } catch (defect) {
        this.onDefect(defect)
      }
    }
  }
}
