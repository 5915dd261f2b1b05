/** Whether hedging was worth it, in words. */
import type { Result } from "./experiment.js"
import type { Load, Settings } from "./settings.js"
import { busy } from "./strain.js"
import type { Percentile } from "./summary.js"
import { type Bounded, ratioOf, timeOf } from "./unanswered.js"

/** A change of P99 by less may be chance, and is not worth a request. */
const worthwhile = 0.1

export const verdict = (settings: Settings, result: Result): ReadonlyArray<string> => [
  main(settings, result),
  others(settings, result),
  ...unanswered(result)
]

const main = ({ load, timeoutMs }: Settings, result: Result): string => {
  const { hedged, plain } = result
  const name = load.fanOut === 1 ? "P99" : "P99 of a page"
  if (load.calls / load.fanOut < 100) return `Cannot be told: ${sent(load)} are too few for a P99.`
  const ratio = ratioOf(plain, hedged, "p99", timeoutMs)
  const [from, to] = [plain, hedged].map((side) => timeOf(side, "p99", timeoutMs))
  if (ratio === null || !from || !to) return `Cannot be told: ${name} falls on calls without an answer.`
  const change = `${name} from ${time(from)} to ${time(to)}`
  const price = priceOf(result)
  if (ratio.value >= 1 + worthwhile) {
    const unless = busy(result).length === 0 ? "" : ", unless the machine's lack of time is to blame"
    return `Harmful here${unless}: hedging took ${change}, at ${price}.`
  }
  if (ratio.value > 1 - worthwhile) return `Not worth it here: hedging took ${change}, at ${price}.`
  if (hedged.failures > plain.failures) {
    return `Worth it only if its failures are not its own: hedging took ${change}, at ${price}, but more calls went without an answer.`
  }
  const bound = ratio.bound === undefined ? "" : "at least "
  return `Worth it here: hedging took ${change} (${bound}−${percent(1 - ratio.value)}), at ${price}.`
}

const priceOf = ({ hedged, plain }: Result): string => {
  if (hedged.requestsPerCall === null || !plain.requestsPerCall) return "an unknown number of requests"
  const more = hedged.requestsPerCall / plain.requestsPerCall - 1
  return more < 0 ? `${percent(-more)} fewer requests` : `${percent(more)} more requests`
}

const others = ({ timeoutMs }: Settings, { hedged, plain }: Result): string => {
  const change = (label: string, name: Percentile) => {
    const [from, to] = [plain, hedged].map((side) => timeOf(side, name, timeoutMs))
    return from && to ? [`${label} went from ${time(from)} to ${time(to)}`] : []
  }
  const { hedgeRate, hedgeWinShare } = hedged
  const hedges =
    hedgeRate === null || hedgeRate === 0
      ? "No hedge was sent"
      : `${percent(hedgeRate)} of calls sent a hedge${hedgeWinShare === null ? "" : `, and ${percent(hedgeWinShare)} of hedges won`}`
  return `${[...change("P50", "p50"), ...change("P99.9", "p999"), hedges].join(". ")}.`
}

const unanswered = ({ hedged, plain }: Result): ReadonlyArray<string> =>
  plain.failures + hedged.failures === 0
    ? []
    : [`Calls without an answer: ${count(plain.failures)} plain, ${count(hedged.failures)} hedged.`]

/** With fewer calls beyond it a percentile is an accident. */
const leastBeyond = 10

/** Why one might doubt the figures. */
export const doubts = ({ load }: Settings, result: Result): ReadonlyArray<string> => {
  const beyond = Math.floor(load.calls / load.fanOut / 100)
  const lines = busy(result)
  return [
    ...(beyond >= leastBeyond
      ? []
      : [
          `P99 rests on the ${beyond <= 1 ? "slowest" : `${beyond} slowest`} of ${sent(load)}, so that chance decides it: send more, by --requests.`
        ]),
    ...(lines.length === 0
      ? []
      : [
          `Busy: ${lines.join("; ")}. So the figures tell of this machine's lack of time as well as of hedging.`
        ])
  ]
}

const sent = ({ calls, fanOut }: Load): string =>
  `${count(calls / fanOut)} ${fanOut === 1 ? "calls" : "pages"}`

const time = ({ bound, value }: Bounded): string =>
  `${bound === undefined ? "" : `${bound} `}${value.toFixed(1)} ms`

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`
const count = (n: number): string => n.toLocaleString("en-US")
