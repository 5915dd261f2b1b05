/** What one run of the simulation is asked to do. Times are in milliseconds. */
import { mean, type Workload } from "./workload.js"

export type Balancer = "random" | "round-robin" | "p2c"

/** What a server stops when its client goes away: all that it does for it, only what it has not begun, or nothing. */
export type Cancellation = "all" | "queued" | "none"

/** For a while the first `servers` servers take `factor` times as long over what they begin. */
export interface Slowdown {
  readonly factor: number
  readonly servers: number
  readonly from: number
  readonly to: number
}

/** The servers behind the calls, each of which works on one request after another. */
export interface Cluster {
  /** `Infinity` if each request has a server of its own. */
  readonly servers: number
  readonly balancer: Balancer
  readonly cancellation: Cancellation
  readonly slowdown: Slowdown | undefined
}

export interface Traffic {
  readonly calls: number
  /** Calls a second, each of which comes when chance wants it. */
  readonly rate: number
  readonly seed: number
}

export interface Scenario {
  readonly cluster: Cluster
  readonly traffic: Traffic
  /** By the number of the call: what is served may change. */
  readonly workload: (call: number) => Workload
}

/** What the hedged calls do: a delay that is learned, or a fixed one. Either way hedges have a budget. */
export type Hedging =
  | { readonly _tag: "Adaptive"; readonly extraLoad: number; readonly objective: number }
  | { readonly _tag: "Fixed"; readonly extraLoad: number; readonly delayMs: number }

/** Each load is simulated without hedges, with hedges, and, where servers have queues, with hedges that only go to idle ones. */
export interface Settings {
  readonly workload: Workload
  readonly cluster: Cluster
  readonly loads: ReadonlyArray<Load>
  readonly calls: number
  readonly seed: number
  readonly hedging: Hedging
}

export interface Load {
  /** Null if servers are unlimited. */
  readonly utilisation: number | null
  readonly rate: number
}

/** Calls a second that keep servers busy for a share of the time. */
export const rateFor = (utilisation: number, servers: number, workload: Workload): number =>
  (1000 * utilisation * servers) / mean(workload)
