/** What the latencies say of copies, and between which bounds. */
import { Duration } from "effect"
import type { HedgeSchedule } from "effect-hedge"
import * as Copies from "./copies.js"
import type { Distribution } from "./distribution.js"
import * as Interval from "./interval.js"
import type { Group } from "./samples.js"

/**
 * Bounds hold for each P(X > t) by itself; a hedged call misses by a product of two of these, so its interval is wider than 95 %.
 */
export interface Evidence {
  readonly distribution: Distribution
  readonly copies: Copies.Copies
  readonly low: Copies.Copies
  readonly high: Copies.Copies
  /** The same for the solver. */
  readonly known: Parameters<typeof HedgeSchedule.solve>[0]
  /** The calls that the bounds are of: fewer than there are if calls resemble those before them. */
  readonly effective: number
}

/** Pairs are counted anew for every delay that is tried; more than these say little more. */
const mostPairs = 20_000

export const independent = (distribution: Distribution, effective: number): Evidence => {
  const { n, survival } = distribution
  const bounds = Interval.bounds(effective)
  const bound = (side: 0 | 1) =>
    Copies.independent((ms) =>
      ms <= 0 ? 1 : bounds.of(Math.round(survival(ms) * effective * 1e6) / 1e6)[side]
    )
  return {
    distribution,
    copies: Copies.independent(survival),
    low: bound(0),
    high: bound(1),
    known: { samples: n, survival: (elapsed) => survival(Duration.toMillis(elapsed)) },
    effective
  }
}

export const paired = ({ distribution, ordered }: Group, effective: number): Evidence => {
  const firsts = thin(ordered!.values)
  const seconds = thin(ordered!.seconds!)
  const n = Math.min(effective, firsts.length)
  const bounds = Interval.bounds(n)
  const bound = (side: 0 | 1) => Copies.paired(firsts, seconds, (share) => bounds.of(share * n)[side])
  return {
    distribution,
    copies: Copies.paired(firsts, seconds),
    low: bound(0),
    high: bound(1),
    known: { firsts, seconds },
    effective: n
  }
}

/** Every so many, at most as many as are wanted. */
const thin = (values: Float64Array): Float64Array => {
  const step = Math.ceil(values.length / mostPairs)
  return step <= 1 ? values : values.filter((_, i) => i % step === 0)
}
