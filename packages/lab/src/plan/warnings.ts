/** What a user should know before believing a plan. Each warning begins with what it is about. */
import * as Dependence from "./dependence.js"
import type { Distribution } from "./distribution.js"
import * as Evidence from "./evidence.js"
import * as Plan from "./plan.js"
import { type Goals, names, type Outlook, percentiles } from "./plan.js"
import type { Measured } from "./read.js"
import { type Group, mostKept, otherKeys } from "./samples.js"
import * as Say from "./say.js"

/** About the record as a whole. */
export const ofRecord = (measured: Measured, isKeyed: boolean): ReadonlyArray<string> => [
  ...leftOut(measured),
  ...skipped(measured),
  ...unit(measured),
  ...columns(measured),
  ...series(measured),
  ...statuses(measured),
  ...measured.notes,
  ...(isKeyed ? [] : routes(measured))
]

/** About the latencies of all calls, or of those of one key. */
export const ofGroup = (
  group: Group,
  evidence: Evidence.Evidence,
  together: Dependence.Togetherness,
  outlook: Outlook,
  goals: Goals
): ReadonlyArray<string> => [
  ...samples(group.distribution, together, outlook),
  ...beyond(group.distribution),
  ...burst(group, evidence, together, outlook, goals),
  ...pairs(group, evidence, outlook, goals),
  ...clock(group.distribution),
  ...tail(outlook),
  ...counted(group)
]

const leftOut = (measured: Measured): ReadonlyArray<string> => {
  const reasons = Object.entries(measured.leftOut)
  if (reasons.length === 0) return []
  const total = reasons.reduce((sum, [, n]) => sum + n, 0)
  return [
    `left out: ${Say.plural(total, "call")} without an answer (${Say.tally(reasons)}): how long one waits for those says nothing of a hedge; --all keeps them`
  ]
}

const skipped = (measured: Measured): ReadonlyArray<string> =>
  measured.skipped.map(
    ({ count, line, text, what }) =>
      `skipped: ${Say.plural(count, "line")} without a latency (${what}), the first is line ${line}: ${text}`
  )

const unit = ({ all, column }: Measured): ReadonlyArray<string> =>
  column.isAssumed === true
    ? [
        `unit: nothing gives the unit of ${column.name}; taken as ${column.unit}, which makes the median ${Say.ms(all.distribution.quantile(0.5))}; --unit says otherwise`
      ]
    : []

const columns = ({ column }: Measured): ReadonlyArray<string> =>
  column.others === undefined || column.others.length === 0
    ? []
    : [`columns: ${column.name} was read; ${Say.and(column.others)} could be meant as well, --column chooses`]

const series = ({ format, otherSeries, series: used }: Measured): ReadonlyArray<string> =>
  otherSeries.length === 0 || format === "prometheus"
    ? []
    : [
        `spans: those of kind ${used || "(none)"} were used; there are others, ${otherSeries.map((name) => name || "(none)").join(", ")}, and --where kind=${otherSeries[0]} chooses`
      ]

const statuses = ({ all, statuses: counts }: Measured): ReadonlyArray<string> => {
  const refused = Array.from(counts).filter(([status]) => status >= 400)
  const total = refused.reduce((sum, [, n]) => sum + n, 0)
  if (total === 0 || total < all.distribution.n * 0.05) return []
  const share =
    total === all.distribution.n
      ? "every answer is"
      : `${Say.count(total)} of ${Say.count(all.distribution.n)} answers are`
  return [
    `status: ${share} a 4xx (${Say.tally(refused)}); they are answers, --where "status<400" leaves them out`
  ]
}

/** Routes with fewer calls are not compared. */
const fewestOfARoute = 10
/** Medians as far apart as this are of different work. */
const farApart = 3

/** The kinds of call with the least and the greatest median, if they are far apart. */
export const mixedRoutes = ({ all, byKey }: Measured) => {
  const total = all.distribution.n
  const known = byKey.filter(
    ({ distribution, key }) =>
      key !== "" && key !== otherKeys && distribution.n >= Math.max(fewestOfARoute, total * 0.01)
  )
  if (known.length < 2) return undefined
  const medians = known
    .map(({ distribution, key }) => ({ key, median: distribution.quantile(0.5) }))
    .sort((a, b) => a.median - b.median)
  const least = medians[0]!
  const most = medians[medians.length - 1]!
  return most.median < farApart * least.median ? undefined : { least, most }
}

const routes = (measured: Measured): ReadonlyArray<string> => {
  const mixed = mixedRoutes(measured)
  if (mixed === undefined) return []
  const { least, most } = mixed
  return [
    `routes: ${Say.count(measured.keyCount)} kinds of call are mixed, with medians from ${Say.ms(least.median)} (${least.key}) to ${Say.ms(most.median)} (${most.key}): one delay fits none of them; plan each by --key, or one by --where`
  ]
}

const samples = (
  { n }: Distribution,
  together: Dependence.Togetherness,
  { unhedged }: Outlook
): ReadonlyArray<string> => {
  // what lies beyond the last bucket is another matter
  const unbounded = names.filter((name) => unhedged[name] !== null && unhedged.ci[name][1] === null)
  if (unbounded.length === 0) return []
  const needed = unbounded.map((name) => Say.count(Math.ceil(Math.log(0.025) / Math.log(percentiles[name]))))
  const worth = together.isDependent ? ` (worth ${Say.count(together.effective)} independent ones)` : ""
  return [
    `samples: ${Say.plural(n, "latency is", "latencies are")} too few${worth} for ${Say.and(unbounded.map((name) => Say.labels[name]))}: an upper bound takes ${Say.and(needed)}. What they cannot tell is left open (–)`
  ]
}

const beyond = ({ beyond: n, max }: Distribution): ReadonlyArray<string> =>
  n === 0
    ? []
    : [
        `beyond: ${Say.plural(n, "call")} took longer than the last bucket, ${Say.ms(max)}, and nobody knows how long; calls that are meant to last, watches and streams, are left out by --where`
      ]

/** The slowest calls, and how many of them a stretch has to hold. */
const slowest = 0.05
const most = 0.8

const burst = (
  { ordered }: Group,
  { copies, distribution }: Evidence.Evidence,
  { correlation, effective, isDependent }: Dependence.Togetherness,
  { rows }: Outlook,
  { objective }: Goals
): ReadonlyArray<string> => {
  if (!isDependent || ordered === undefined || correlation === null) return []
  const stretch = Dependence.shortestStretch(ordered.values, distribution.quantile(1 - slowest), most)
  const where =
    stretch < 0.5
      ? `: ${Say.percent(most)} of the slowest ${Say.percent(slowest)} lie within ${Say.percent(stretch)} of the record`
      : ""
  const row = Plan.bestOf(rows, objective)
  const asNext =
    row === undefined
      ? null
      : Dependence.asSlowAsTheNext(ordered.values, row, percentiles[objective], distribution.max)
  const consequence =
    row === undefined || asNext === null || copies.mostAttempts === 2
      ? ""
      : `. Were a hedge as slow as the next call, ${Say.labels[objective]} with ${Say.percent(row.extraLoad)} extra load would be ${Say.ms(asNext)}, not ${Say.ms(row[objective])}`
  return [
    `burst: calls that follow each other are slow together (rank correlation ${correlation.toFixed(2)}${ordered.isTimed ? "" : ", in the order of the record"})${where}. Copies are then not independent, as the predictions take them to be${consequence}. Intervals are as wide as those of ${Say.count(effective)} independent calls`
  ]
}

const pairs = (
  { distribution, ordered }: Group,
  { copies, effective }: Evidence.Evidence,
  { rows }: Outlook,
  { objective }: Goals
): ReadonlyArray<string> => {
  if (copies.mostAttempts > 2 || ordered?.seconds === undefined) return []
  const correlation = Dependence.rankCorrelation(ordered.values, ordered.seconds)
  const row = Plan.bestOf(rows, objective) ?? rows[rows.length - 1]!
  const goals = { objective, extraLoads: [row.extraLoad], fanOuts: [] }
  const promised = Plan.outlook(Evidence.independent(distribution, effective), goals).rows[0]!
  return [
    `pairs: the two copies' latencies have a rank correlation of ${correlation.toFixed(2)}, and predictions count pairs instead of assuming independence, which would promise ${Say.labels[objective]} ${Say.ms(promised[objective])} with ${Say.percent(row.extraLoad)} extra load; the pairs say ${Say.ms(row[objective])}`
  ]
}

/** Too few different values tell nothing of a clock. */
const fewestForAClock = 20

const clock = (distribution: Distribution): ReadonlyArray<string> => {
  if (!distribution.isExact || distribution.n < fewestForAClock) return []
  const step = distribution.step
  if (step < 1) return []
  const median = distribution.quantile(0.5)
  const ofMedian = median === 0 ? "the median is 0" : `${Say.percent(step / median)} of the median`
  return [
    `clock: every latency is a multiple of ${Say.ms(step)} (${ofMedian}), so delays and percentiles are not known more finely`
  ]
}

/** From here on it is not the same work. */
const longTail = 20

const tail = ({ unhedged: { p50, p99 } }: Outlook): ReadonlyArray<string> =>
  p50 === null || p99 === null || p99 < longTail * p50 || p50 === 0
    ? []
    : [
        `tail: P99 is ${Say.count(p99 / p50)} × P50. A hedge cures what is the server's bad luck, a queue or a pause; not what belongs to the request, a heavy query or a long completion`
      ]

const counted = ({ distribution, ordered }: Group): ReadonlyArray<string> =>
  ordered !== undefined && ordered.values.length === mostKept && distribution.n > mostKept
    ? [
        `counted: percentiles are exact to 0.05 %, and what the order of calls says is of the first ${Say.count(mostKept)}`
      ]
    : []
