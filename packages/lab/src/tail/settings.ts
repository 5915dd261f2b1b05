/** What one run of the experiment is asked to do. Times are in milliseconds. */

/** From `min` to `max`, uniformly. */
export interface Range {
  readonly min: number
  readonly max: number
}

/** `fast`, or with probability `slowShare` `slow`. */
export interface Uniform {
  readonly _tag: "Uniform"
  readonly fast: Range
  readonly slow: Range
  readonly slowShare: number
}

/** Log-normal with this mean and standard deviation, and with probability `slowShare` `slowFactor` times as long. */
export interface LogNormal {
  readonly _tag: "LogNormal"
  readonly mean: number
  readonly sd: number
  readonly slowShare: number
  readonly slowFactor: number
}

/** How long the server takes over one copy of a request. */
export type Latency = Uniform | LogNormal

/** What the hedged side does. */
export interface Hedging {
  /** Null if the policy is to learn it. */
  readonly delayMs: number | null
  readonly maxAttempts: number
  readonly extraLoad: number
}

/** When calls are due: at a rate, or all at once. `fanOut` of them make a page and are due together. */
export interface Load {
  readonly calls: number
  /** Calls a second; null for all at once. */
  readonly rate: number | null
  readonly fanOut: number
}

export type Side = "plain" | "hedged"

/** What sends the requests of both sides: Effect's client over undici, or the lanes of `@effect-hedge/platform-node`. */
export const transports = ["undici", "lanes"] as const
export type Transport = (typeof transports)[number]

/** A server that the experiment starts. */
export interface OwnTarget {
  readonly _tag: "Own"
  readonly latency: Latency
  /** Of the first round; each round has the next. */
  readonly seed: number
  /** Whether it goes on working for a client that has gone away. */
  readonly keepsWorking: boolean
}

/** A server that is already there. */
export interface UrlTarget {
  readonly _tag: "Url"
  /** Without credentials, so that it can be shown. */
  readonly url: string
  /** The header's value that its credentials make. */
  readonly authorization: string | null
}

export type Target = OwnTarget | UrlTarget

export interface Settings {
  readonly target: Target
  readonly transport: Transport
  readonly load: Load
  readonly hedging: Hedging
  readonly timeoutMs: number | null
  /** Calls that each side sends before it is measured. */
  readonly warmUp: number
  /** How often each side runs; the figures are medians. */
  readonly rounds: number
}
