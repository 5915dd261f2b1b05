import { performance } from "node:perf_hooks"
import type { ConnectPhases, LaneInfo } from "../LaneEvent.js"
import type { Connected } from "./connector.js"
import type { LaneGroup } from "./group.js"
import { openHttp1 } from "./http1Lane.js"
import { openHttp2 } from "./http2Lane.js"
import type { DrainReason, Lane, LaneOwner } from "./lane.js"

/** A lane and what its group knows of it. */
export class Member implements LaneOwner {
  readonly lane: Lane
  readonly info: LaneInfo
  readonly phases: ConnectPhases
  readonly openedAt = performance.now()
  /** How many requests it was given. */
  requests = 0
  idleSince = this.openedAt
  /** Whether it is in the group's list of lanes with room. */
  listed = false

  constructor(
    private readonly group: LaneGroup,
    { phases, protocol, socket }: Connected
  ) {
    const open = protocol === "h2" ? openHttp2 : openHttp1
    const lane = open(socket, group.upstream, this)
    this.lane = lane
    this.phases = phases
    this.info = { id: lane.id, protocol, address: lane.address }
  }

  get hasRoom(): boolean {
    const { lane } = this
    return lane.inFlight < lane.capacity && lane.state === "open"
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
