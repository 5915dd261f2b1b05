import { performance } from "node:perf_hooks"
import type { CallLanes } from "./callLanes.js"
import { type Connected, Connector, type Opening } from "./connector.js"
import { openHttp1 } from "./http1.js"
import type { DrainReason, Lane, LaneOwner, Protocol } from "./lane.js"
import type { Transfer } from "./transfer.js"
import type { ResolvedUpstream } from "./upstream.js"

/** The lanes of an upstream that speaks HTTP/2, or may turn out to. */
const fewLanes = 4

const shortestBackOff = 50
const longestBackOff = 1000

const hasRoom = (lane: Lane): boolean => lane.state === "open" && lane.inFlight < lane.capacity

/** A lane and what its group knows of it. */
class Member implements LaneOwner {
  readonly lane: Lane
  used = false
  idleSince = performance.now()
  /** Whether it is in the group's list of lanes with room. */
  listed = false

  constructor(
    private readonly group: LaneGroup,
    readonly connected: Connected
  ) {
    this.lane = openHttp1(connected.socket, group.upstream, this)
  }

  onFree(lane: Lane): void {
    if (lane.inFlight === 0) this.idleSince = performance.now()
    this.group.onFree(this)
  }

  onDraining(_lane: Lane, reason: DrainReason): void {
    this.group.onDraining(this, reason)
  }

  onClosed(_lane: Lane, error: Error | undefined): void {
    this.group.onClosed(this, error)
  }
}

/** The lanes to one upstream, and the requests that wait for one. */
export class LaneGroup {
  private readonly members = new Set<Member>()
  /** Lanes with room, the one that was used last at the end. Those that have filled up or closed since are dropped when they are come across. */
  private readonly free: Array<Member> = []
  private waiting = new Set<Transfer>()
  private readonly openings = new Set<Opening>()
  private readonly connector: Connector
  /** What the last connection has agreed on. */
  private learned: Protocol | undefined = undefined
  /** Connections that failed one after another, since one did not. */
  private failures = 0
  private lastFailure: Error | undefined = undefined
  private retryAt = 0
  private retryTimer: NodeJS.Timeout | undefined = undefined
  private closed: Error | undefined = undefined

  constructor(readonly upstream: ResolvedUpstream) {
    this.connector = new Connector(upstream)
  }

  /** Sends a request down the lane that promises most, or as soon as there is one. */
  start(transfer: Transfer): void {
    if (this.closed !== undefined) return transfer.onError(this.closed)
    const member = this.pick(transfer.call, transfer.attempt)
    if (member !== undefined) return this.give(member, transfer)
    this.waiting.add(transfer)
    this.open()
    this.failWithout()
  }

  /** It does not wait any more. */
  withdraw(transfer: Transfer): void {
    this.waiting.delete(transfer)
  }

  /** See `HedgeTargets`. A hedge that would have to queue has nowhere to go. */
  leastInFlight(call: CallLanes): number | undefined {
    if (this.waiting.size > 0) return undefined
    const member = this.pick(call, undefined)
    if (member !== undefined) return member.lane.inFlight
    return this.mayOpen() ? 0 : undefined
  }

  // --- lanes ---------------------------------------------------------------------------------------------------------

  /** The lane with room whose round trip and load promise the soonest answer; of equal ones the one that was used last. */
  private pick(call: CallLanes | undefined, attempt: number | undefined): Member | undefined {
    const { free } = this
    let best: Member | undefined
    let least = Infinity
    for (let i = free.length - 1; i >= 0; i--) {
      const member = free[i]!
      const { lane } = member
      if (!hasRoom(lane)) {
        free.splice(i, 1)
        member.listed = false
        continue
      }
      if (call?.excludes(lane, attempt) === true) continue
      const score = (lane.roundTrip + 1) * (lane.inFlight + 1)
      if (score >= least) continue
      best = member
      least = score
      if (score <= 1) break
    }
    return best
  }

  private give(member: Member, transfer: Transfer): void {
    const fresh = !member.used
    member.used = true
    transfer.take(member.lane, fresh)
  }

  onFree(member: Member): void {
    if (!member.listed && hasRoom(member.lane)) {
      member.listed = true
      this.free.push(member)
    }
    for (const transfer of this.waiting) {
      if (!hasRoom(member.lane)) return
      if (transfer.call?.excludes(member.lane, transfer.attempt) === true) continue
      this.waiting.delete(transfer)
      this.give(member, transfer)
    }
  }

  onDraining(_member: Member, _reason: DrainReason): void {
    this.open()
  }

  onClosed(member: Member, _error: Error | undefined): void {
    this.members.delete(member)
    this.open()
    this.failWithout()
  }

  // --- connections ---------------------------------------------------------------------------------------------------

  private get mostLanes(): number {
    return this.upstream.lanes ?? (this.speaksHttp1 ? Infinity : fewLanes)
  }

  private get speaksHttp1(): boolean {
    return (
      (this.learned ?? this.upstream.protocol) === "http/1.1" ||
      (!this.upstream.secure && this.upstream.protocol === "auto")
    )
  }

  private mayOpen(): boolean {
    const { openings } = this
    return (
      this.closed === undefined &&
      openings.size < (this.failures > 0 ? 1 : this.upstream.connecting) &&
      this.members.size + openings.size < this.mostLanes &&
      performance.now() >= this.retryAt
    )
  }

  /** A connection for each request that waits, as far as it is allowed. */
  private open(): void {
    while (this.waiting.size > this.openings.size && this.mayOpen()) this.openOne()
  }

  private openOne(): void {
    const opening = this.connector.open(
      (connected) => {
        this.openings.delete(opening)
        this.onConnected(connected)
      },
      (error) => {
        this.openings.delete(opening)
        this.onFailed(error)
      }
    )
    this.openings.add(opening)
  }

  private onConnected(connected: Connected): void {
    this.learned = connected.protocol
    this.failures = 0
    this.retryAt = 0
    const member = new Member(this, connected)
    this.members.add(member)
    this.onFree(member)
    this.open()
  }

  private onFailed(error: Error): void {
    this.failures += 1
    this.lastFailure = error
    for (const transfer of this.waiting) {
      this.waiting.delete(transfer)
      transfer.onError(error)
      break
    }
    const backOff =
      this.failures < 2 ? 0 : Math.min(longestBackOff, shortestBackOff * 2 ** (this.failures - 2))
    this.retryAt = performance.now() + backOff
    clearTimeout(this.retryTimer)
    this.retryTimer = setTimeout(() => this.open(), backOff)
    this.retryTimer.unref()
    this.open()
    this.failWithout()
  }

  /** Without a lane or a connection to come nobody is to wait. */
  private failWithout(): void {
    if (this.members.size > 0 || this.openings.size > 0 || this.lastFailure === undefined) return
    const { waiting } = this
    this.waiting = new Set()
    for (const transfer of waiting) transfer.onError(this.lastFailure)
  }

  /** Whatever waits or is under way fails with the error. */
  close(error: Error): void {
    this.closed = error
    clearTimeout(this.retryTimer)
    for (const opening of this.openings) opening.abandon()
    this.openings.clear()
    const { waiting } = this
    this.waiting = new Set()
    for (const transfer of waiting) transfer.onError(error)
    for (const member of this.members) member.lane.destroy(error)
  }
}
