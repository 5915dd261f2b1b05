/** Whether hedging is worth it, in words, and by which row. */

import { asSlowAsTheNext, type Togetherness } from "./dependence.js"
import { bestOf, type Goals, type Outlook, percentiles, type Row } from "./plan.js"
import type { Group } from "./samples.js"
import * as Say from "./say.js"

export interface Verdict {
  readonly words: string
  /** The row to take; of a record that is not worth hedging, the one that does most. */
  readonly row: Row | undefined
}

/** Less is not worth the trouble. */
const worthwhile = 0.1

/** The row to take gains this much of what the best one does. */
const enough = 0.8

/** Timers count milliseconds. */
const leastMs = 2

export const verdict = (
  { unhedged, rows }: Outlook,
  { objective }: Goals,
  together: Togetherness,
  { ordered, distribution }: Group,
  { isMixed, isPaired }: { readonly isMixed: boolean; readonly isPaired: boolean }
): Verdict => {
  const name = Say.labels[objective]
  const plain = unhedged[objective]
  const best = bestOf(rows, objective)
  if (plain === null) return hopeless(`Cannot be told: ${name} lies beyond the last bucket of the record.`)
  const reached = best === undefined ? plain : best[objective]
  if (reached === null || (best === undefined && unhedged.ci[objective][1] === null)) {
    return hopeless(
      `Cannot be told: ${Say.plural(distribution.n, "latency is", "latencies are")} too few to say what a hedge would do for ${name}.`
    )
  }
  if (best === undefined) {
    return hopeless(
      `Not worth it: no hedge within these budgets brings ${name} below ${Say.ms(plain)}; the latencies have no tail to cut.`
    )
  }
  if (plain < leastMs) {
    return {
      words: `Not worth it: ${name} is ${Say.ms(plain)}, and a hedge is sent by a timer that counts milliseconds.`,
      row: best
    }
  }
  const gain = (row: Row) => 1 - (row[objective] ?? plain) / plain
  if (gain(best) < worthwhile) {
    const why = unhedged.p50 === null || unhedged.p50 === 0 ? "" : shortTail(plain / unhedged.p50)
    return {
      words: `Not worth it: even ${Say.percent(best.extraLoad)} extra load takes ${name} only from ${Say.ms(plain)} to ${Say.ms(reached)}${why}.`,
      row: best
    }
  }
  const row =
    rows.find((each) => each.fanOut === 1 && each.delaysMs.length > 0 && gain(each) >= enough * gain(best)) ??
    best
  const promise = `${Say.percent(row.extraLoad)} extra load should take ${name} from ${Say.ms(plain)} to ${Say.ms(row[objective])}`
  const mixed = isMixed ? " Kinds of call are mixed, though: plan each by itself, by --key." : ""
  if (!together.isDependent || ordered === undefined || isPaired) {
    return { words: `Worth it: ${promise} (−${Say.percent(gain(row))}).${mixed}`, row }
  }
  const asNext = asSlowAsTheNext(ordered.values, row, percentiles[objective], distribution.max) ?? plain
  const doubt = `${promise} if copies were independent, but slow calls come together, and a hedge as slow as the next call would make it ${Say.ms(asNext)}. Measure pairs, two copies at once, and use --pair.`
  return {
    words: `${1 - asNext / plain < worthwhile ? "Not worth it on this evidence" : "Perhaps"}: ${doubt}${mixed}`,
    row
  }
}

const hopeless = (words: string): Verdict => ({ words, row: undefined })

const shortTail = (ratio: number): string =>
  `: it is ${Number(ratio.toPrecision(2))} × P50, and a tail as short as that leaves little to cut`
