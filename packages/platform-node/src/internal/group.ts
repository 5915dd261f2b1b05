import { performance } from "node:perf_hooks"
import type { LaneReport, UpstreamReport } from "../NodeHedgeClient.js"
import type { CallLanes } from "./callLanes.js"
import { ConnectFailures } from "./connectFailures.js"
import { type Connected, Connector, type Opening } from "./connector.js"
import type { DrainReason, Protocol } from "./lane.js"
import { Member } from "./member.js"
import type { Reporter } from "./reporter.js"
import type { Transfer } from "./transfer.js"
import type { ResolvedUpstream } from "./upstream.js"

/** The lanes of an upstream that speaks HTTP/2, or may turn out to. */
const fewLanes = 4

/** How often a request that lanes refuse is sent on yet another. */
const mostRefusals = 3

/** The lanes to one upstream, and the requests that wait for one. */
export class LaneGroup {
  private readonly members = new Set<Member>()
  /** Lanes with room, the one that was used last at the end. Those that have filled up since are dropped when they are come across. */
  private readonly free: Array<Member> = []
  /** In the order in which they are served. */
  private waiting = new Set<Transfer>()
  private readonly openings = new Set<Opening>()
  private readonly connector: Connector
  private readonly failures = new ConnectFailures()
  private retry: NodeJS.Timeout | undefined = undefined
  private reaper: NodeJS.Timeout | undefined = undefined
  /** What the last connection has agreed on. */
  private learned: Protocol | undefined = undefined
  private closing: Error | undefined = undefined
  private onEmpty: (() => void) | undefined = undefined

  constructor(
    readonly upstream: ResolvedUpstream,
    readonly long: boolean,
    readonly reporter: Reporter | undefined
  ) {
    this.connector = new Connector(upstream)
  }

  // --- requests ------------------------------------------------------------------------------------------------------

  /** Sends a request down the lane that promises most, or as soon as there is one. */
  start(transfer: Transfer): void {
    if (this.closing !== undefined) return transfer.onError(this.closing)
    const member = this.pick(transfer.call, transfer.attempt)
    if (member !== undefined) return this.give(member, transfer)
    this.waiting.add(transfer)
    this.open()
    if (!this.hasRoomForHedges && transfer.call?.reachesOthers !== true) transfer.setQueued(true)
  }

  /** A lane that could not send it gives it back: it goes on before all others, up to a limit. */
  restart(transfer: Transfer, error: Error): void {
    if (transfer.refusals > mostRefusals || this.closing !== undefined) return transfer.onError(error)
    const { waiting } = this
    this.waiting = new Set([transfer])
    for (const other of waiting) this.waiting.add(other)
    // not while the lane that refuses is in the middle of it
    queueMicrotask(() => this.serve())
  }

  /** It does not wait any more. */
  withdraw(transfer: Transfer): void {
    this.waiting.delete(transfer)
  }

  /** See `HedgeTargets`. A hedge that would have to queue for what others wait for has nowhere to go. */
  leastInFlight(call: CallLanes): number | undefined {
    const member = this.waiting.size === 0 ? this.pick(call, undefined) : undefined
    if (member !== undefined) return member.lane.inFlight
    return this.hasRoomForHedges ? 0 : undefined
  }

  /** Whether there may be a lane for a hedge while other requests wait. */
  private get hasRoomForHedges(): boolean {
    return this.mayOpen() || this.isUnsettled
  }

  /** Before the first connection has settled the protocol nobody knows how many lanes there will be; there will be more than one. */
  private get isUnsettled(): boolean {
    const { closing, learned, openings, upstream, waiting } = this
    return (
      learned === undefined &&
      closing === undefined &&
      openings.size > 0 &&
      upstream.lanes === undefined &&
      waiting.size < upstream.connecting
    )
  }

  /**
   * The lane with room whose round trip and load promise the soonest answer; of equal ones the one that was used last. Where there will be no other,
   * also one that an ended attempt of the call has used.
   */
  private pick(call: CallLanes | undefined, attempt: number | undefined): Member | undefined {
    const best = this.best(call, attempt, false)
    if (best !== undefined || call === undefined || this.free.length === 0 || this.mayOpen()) return best
    return this.best(call, attempt, true)
  }

  private best(call: CallLanes | undefined, attempt: number | undefined, few: boolean): Member | undefined {
    const { free } = this
    let best: Member | undefined
    let least = Infinity
    for (let i = free.length - 1; i >= 0; i--) {
      const member = free[i]!
      if (!member.hasRoom) {
        free.splice(i, 1)
        member.listed = false
        continue
      }
      const { lane } = member
      if (call?.excludes(lane, attempt, few) === true) continue
      const score = (lane.roundTrip + 1) * (lane.inFlight + 1)
      if (score >= least) continue
      best = member
      least = score
      if (score <= 1) break
    }
    return best
  }

  private give(member: Member, transfer: Transfer): void {
    const { lane } = member
    member.requests++
    transfer.take(member)
    // streams share what their connection has: more lanes before more streams on one
    if (lane.inFlight > 1 && this.openings.size === 0 && this.mayOpen()) this.openOne()
  }

  private serve(): void {
    for (const transfer of this.waiting) {
      const member = this.pick(transfer.call, transfer.attempt)
      if (member === undefined) continue
      this.waiting.delete(transfer)
      this.give(member, transfer)
    }
    this.open()
  }

  // --- what lanes tell -------------------------------------------------------------------------------------------------

  onFree(member: Member): void {
    if (!member.listed && member.hasRoom) {
      member.listed = true
      this.free.push(member)
    }
    const few = this.waiting.size > 0 && !this.mayOpen()
    for (const transfer of this.waiting) {
      if (!member.hasRoom) break
      if (transfer.call?.excludes(member.lane, transfer.attempt, few) === true) continue
      this.waiting.delete(transfer)
      this.give(member, transfer)
    }
    if (member.lane.inFlight === 0) this.reapAfter(this.upstream.keepAlive)
  }

  onDraining(member: Member, reason: DrainReason): void {
    this.reporter?.laneDraining(this, member, reason)
    this.open()
  }

  onClosed(member: Member, error: Error | undefined): void {
    this.members.delete(member)
    this.unlist(member)
    this.reporter?.laneClosed(this, member, error)
    this.open()
    this.checkEmpty()
  }

  private unlist(member: Member): void {
    if (!member.listed) return
    member.listed = false
    this.free.splice(this.free.indexOf(member), 1)
  }

  private drain(member: Member, reason: DrainReason): void {
    if (member.lane.state !== "open") return
    this.reporter?.laneDraining(this, member, reason)
    member.lane.drain()
  }

  // --- idle lanes ------------------------------------------------------------------------------------------------------

  private reapAfter(millis: number): void {
    if (this.reaper !== undefined) return
    this.reaper = setTimeout(() => this.reap(), millis)
    this.reaper.unref()
  }

  private reap(): void {
    this.reaper = undefined
    const { keepAlive } = this.upstream
    const now = performance.now()
    let next = Infinity
    for (const member of this.members) {
      if (member.lane.inFlight > 0) continue
      const left = member.idleSince + keepAlive - now
      if (left <= 0) this.drain(member, "Idle")
      else next = Math.min(next, left)
    }
    if (next < Infinity) this.reapAfter(Math.ceil(next))
  }

  // --- connections -----------------------------------------------------------------------------------------------------

  private get mostLanes(): number {
    const { lanes, protocol, secure } = this.upstream
    if (lanes !== undefined) return lanes
    const known = this.learned ?? (protocol === "auto" && !secure ? "http/1.1" : protocol)
    return known === "http/1.1" ? Infinity : fewLanes
  }

  private mayOpen(): boolean {
    const { failures, openings } = this
    return (
      this.closing === undefined &&
      openings.size < (failures.inRow > 0 ? 1 : this.upstream.connecting) &&
      this.isBelow(this.mostLanes) &&
      failures.isOver(performance.now())
    )
  }

  /** Whether there are fewer lanes. One that drains counts over HTTP/1.1, where it is as busy as any other, but not over HTTP/2. */
  private isBelow(most: number): boolean {
    if (most === Infinity) return true
    let lanes = this.openings.size
    for (const { lane } of this.members) {
      if (lane.state === "open" || (lane.state === "draining" && lane.protocol === "http/1.1")) lanes++
    }
    return lanes < most
  }

  /** A connection for each request that waits, as far as it is allowed. */
  private open(): void {
    if (this.waiting.size === 0) return
    while (this.waiting.size > this.openings.size && this.mayOpen()) this.openOne()
    if (this.hasRoomForHedges) for (const transfer of this.waiting) transfer.setQueued(false)
  }

  private openOne(): void {
    const openedAt = performance.now()
    const opening = this.connector.open(
      (connected) => {
        this.openings.delete(opening)
        this.onConnected(connected)
      },
      (error) => {
        this.openings.delete(opening)
        this.onConnectFailed(error, openedAt)
      }
    )
    this.openings.add(opening)
  }

  private onConnected(connected: Connected): void {
    this.learned = connected.protocol
    this.failures.reset()
    const member = new Member(this, connected)
    this.members.add(member)
    this.reporter?.laneOpened(this, member)
    this.onFree(member)
    this.open()
  }

  /**
   * The request that waits longest fails with the error, and all of them if there is no lane that takes requests, nor a connection that is still being
   * opened; but none that came when the connection was being opened already: the next is tried for it.
   */
  private onConnectFailed(error: Error, openedAt: number): void {
    const { failures } = this
    failures.add(openedAt, performance.now())
    this.reporter?.connectFailed(this, error, failures)
    const [first, ...others] = Array.from(this.waiting).filter(({ startedAt }) => startedAt <= openedAt)
    if (first !== undefined) this.fail([first], error)
    clearTimeout(this.retry)
    this.retry = setTimeout(() => {
      failures.endBackOff()
      this.open()
    }, failures.backOff)
    this.open()
    const isThereNone = Array.from(this.members).every(({ lane }) => lane.state !== "open")
    if (isThereNone && this.openings.size === 0) this.fail(others, error)
  }

  /** Those of them that still wait. */
  private fail(transfers: Iterable<Transfer>, error: Error): void {
    for (const transfer of transfers) if (this.waiting.delete(transfer)) transfer.onError(error)
  }

  // --- the end ---------------------------------------------------------------------------------------------------------

  /** What waits fails with the error, what is under way may end; `onEmpty` is called when all lanes have closed. */
  close(error: Error, onEmpty: () => void): void {
    this.closing = error
    this.onEmpty = onEmpty
    clearTimeout(this.retry)
    clearTimeout(this.reaper)
    for (const opening of this.openings) opening.abandon()
    this.openings.clear()
    this.fail(Array.from(this.waiting), error)
    for (const member of this.members) this.drain(member, "Closing")
    this.checkEmpty()
  }

  /** What is under way fails with the error. */
  destroy(error: Error): void {
    for (const { lane } of this.members) lane.destroy(error)
  }

  private checkEmpty(): void {
    if (this.members.size > 0 || this.onEmpty === undefined) return
    const { onEmpty } = this
    this.onEmpty = undefined
    onEmpty()
  }

  get isUnused(): boolean {
    return this.members.size + this.openings.size + this.waiting.size === 0
  }

  report(): UpstreamReport {
    const now = performance.now()
    return {
      origin: this.upstream.origin,
      long: this.long,
      waiting: this.waiting.size,
      connecting: this.openings.size,
      lanes: Array.from(this.members, ({ info, lane, openedAt, requests }): LaneReport => {
        const { capacity, inFlight, roundTrip, state } = lane
        return { ...info, state, inFlight, capacity, roundTrip, age: now - openedAt, requests }
      })
    }
  }
}
