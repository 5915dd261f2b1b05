/**
 * Metrics of lanes, for any exporter of Effect's metrics: give {@link listener} to a client.
 *
 * | metric | labels | what it is |
 * |---|---|---|
 * | `lane.request.phase` | `origin`, `phase` | histogram: where the time of requests went, phase by phase (`queued`, `dns`, `tcp`, `tls`, `sent`, `firstByte`, `body`) |
 * | `lane.requests` | `origin`, `outcome`, `lane` | counter: requests that have ended, `Completed`, `Failed` or `Cancelled`, on a lane that was `fresh`, `reused` or on `none` |
 * | `lane.request.active_streams` | `origin` | histogram: other requests on a lane when one was taken |
 * | `lane.opened`, `lane.closed`, `lane.connect.failed` | `origin` | counters: connections |
 * | `lane.drained` | `origin`, `reason` | counter: lanes that took no more requests: `Idle`, `GoAway`, `RationSpent`, `Closing` |
 * | `lane.open` | `origin`, `protocol` | up-down counter: lanes whose connection is open |
 *
 * Durations are seconds. Every metric has its unit as the label `unit` besides, as those of `HedgeMetrics` have. Counters begin at zero with the first event
 * of an origin. A metric lives as long as the process: after 50 origins the rest are counted as `other`.
 *
 * @example
 * import { LaneMetrics, NodeHedgeClient } from "@effect-hedge/platform-node"
 *
 * export const Client = NodeHedgeClient.layer({ listeners: [LaneMetrics.listener] })
 *
 * @module
 */
import * as internal from "./internal/metrics.js"
import type { Listener } from "./LaneEvent.js"

/** Counts what happens, synchronously: up to nine updates a request. */
export const listener: Listener = internal.listener
